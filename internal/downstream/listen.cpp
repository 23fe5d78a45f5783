// subscriptions/listen: its filter against what the endpoint offers (2026-07-28
// basic/patterns/subscriptions).
#include <fmt/format.h>

#include <set>
#include <utility>

#include "downstream/post_parts.hpp"
#include "downstream/task_methods.hpp"
#include "mcp/error_codes.hpp"
#include "upstream/server.hpp"

namespace mcpx::downstream {
namespace {

bool are_strings(json::Raw list) {
  if (!json::is_array(list)) return false;
  json::Elements elements(list);
  while (const auto element = elements.next()) {
    if (!json::is_string(*element)) return false;
  }
  return true;
}

// Who wants to be told of tasks takes them (SEP-2663, "Task Status Notifications").
std::optional<Refusal> check_tasks(const rpc::Message& message, json::Raw filter) {
  const auto ids = json::find(filter, "taskIds");
  if (!ids) return std::nullopt;
  if (!are_strings(*ids)) {
    return Refusal(400, rpc::kInvalidParams,
                   "Invalid params: 'notifications.taskIds' must be an array of strings");
  }
  if (takes_tasks(json::find(message.meta, mcp::kMetaClientCapabilities).value_or("{}"))) {
    return std::nullopt;
  }
  return Refusal(400, mcp::kMissingClientCapability, "Missing required client capability",
                 tasks_required());
}

std::optional<Refusal> check_filter(const Post& post, json::Raw filter) {
  if (!json::is_object(filter)) {
    return Refusal(400, rpc::kInvalidParams, "Invalid params: 'notifications' must be an object");
  }
  if (!are_strings(json::find(filter, "resourceSubscriptions").value_or("[]"))) {
    return Refusal(400, rpc::kInvalidParams,
                   "Invalid params: 'notifications.resourceSubscriptions' must be an array of "
                   "strings");
  }
  if (!post.accepted.events) {
    return Refusal(406, rpc::kInvalidRequest,
                   "Not Acceptable: the client must accept text/event-stream");
  }
  return std::nullopt;
}

// Each once, as many as one may have; what leads to no server cannot be honoured.
std::vector<Wish> wishes_of(const Post& post, const registry::Endpoint& endpoint,
                            json::Raw filter) {
  std::vector<Wish> wishes;
  if (json::find(endpoint.capabilities_modern, "resources", "subscribe") != "true") return wishes;
  call::Caller caller;
  caller.revision = mcp::kLatestModern;
  caller.principal = post.exchange.principal();
  std::set<std::string> keys;
  json::Elements elements(json::find(filter, "resourceSubscriptions").value_or("[]"));
  while (const auto element = elements.next()) {
    if (wishes.size() >= post.core.config().limits.subscriptions) break;
    auto uri = json::decode_string(*element);
    const auto target = uri ? endpoint.resource(*uri) : std::nullopt;
    if (!target) continue;
    auto server = server_named(post.core.registry, target->server_name);
    if (!server) continue;
    upstream::Watcher watcher = server->watcher_of(caller);
    Watched watched(endpoint, *target, std::move(server), std::move(watcher), std::move(*uri));
    if (keys.insert(watched.key()).second) wishes.emplace_back(std::move(watched));
  }
  return wishes;
}

// Of the ids it names those of its own tasks, each once, as many as one may have.
Task<void> wish_tasks(const Post& post, json::Raw filter, Listen& listen) {
  std::set<std::string> named;
  json::Elements elements(json::find(filter, "taskIds").value_or("[]"));
  while (const auto element = elements.next()) {
    if (named.size() == post.core.config().limits.subscriptions) break;
    named.insert(json::decode_string(*element).value_or(""));
  }
  if (named.empty()) co_return;
  std::vector<std::string> ids(named.begin(), named.end());
  tasks::Owner owner;
  owner.principal = post.exchange.principal();
  owner.endpoint = post.endpoint;
  listen.finished = [&core = post.core, owner](const std::string& id) {
    return finished_task(core, owner, id);
  };
  listen.tasks = co_await known_tasks(post.core, std::move(owner), std::move(ids));
}

// Counts a stream that is told of tasks.
class TaskStream {
 public:
  explicit TaskStream(Core& core) : core_(core) { ++core_.task_streams; }
  ~TaskStream() { --core_.task_streams; }
  TaskStream(const TaskStream&) = delete;
  TaskStream& operator=(const TaskStream&) = delete;

 private:
  Core& core_;
};

}  // namespace

Task<void> serve_listen(Post& post, const rpc::Message& message) {
  const json::Raw filter = json::find(message.params, "notifications").value_or(json::Raw());
  if (const auto refusal = check_filter(post, filter)) {
    co_return co_await refuse(post, message.id, *refusal);
  }
  if (const auto refusal = check_tasks(message, filter)) {
    co_return co_await refuse(post, message.id, *refusal);
  }
  std::string name(post.endpoint);
  const EndpointPtr endpoint = co_await endpoint_when_ready(post.core, std::move(name));
  Listen listen;
  listen.id = message.id;
  listen.endpoint = post.endpoint;
  listen.wanted = wanted_changes(filter);
  if (endpoint) {
    const ChangeSet announced = announced_changes(endpoint->capabilities_modern);
    listen.wanted = static_cast<ChangeSet>(listen.wanted & announced);
    listen.wishes = wishes_of(post, *endpoint, filter);
  }
  std::optional<TaskStream> counted;
  if (endpoint && endpoint->tasks && post.core.tasks) {
    counted.emplace(post.core);
    co_await wish_tasks(post, filter, listen);
    if (listen.tasks.empty()) counted.reset();
  }
  ChangeStreams& streams = post.core.local(post.exchange.shard()).streams;
  co_await streams.serve_listen(post.exchange, std::move(listen));
}

}  // namespace mcpx::downstream
