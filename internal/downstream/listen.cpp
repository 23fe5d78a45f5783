// subscriptions/listen: its filter against what the endpoint offers (2026-07-28
// basic/patterns/subscriptions).
#include <fmt/format.h>

#include <set>
#include <utility>

#include "downstream/post_parts.hpp"
#include "upstream/server.hpp"

namespace mcpx::downstream {
namespace {

std::optional<Refusal> check_filter(const Post& post, json::Raw filter) {
  if (!json::is_object(filter)) {
    return Refusal(400, rpc::kInvalidParams, "Invalid params: 'notifications' must be an object");
  }
  const json::Raw uris = json::find(filter, "resourceSubscriptions").value_or("[]");
  bool strings = json::is_array(uris);
  json::Elements elements(strings ? uris : json::Raw("[]"));
  while (const auto element = elements.next())
    strings = strings && json::is_string(*element);
  if (!strings) {
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

}  // namespace

Task<void> serve_listen(Post& post, const rpc::Message& message) {
  const json::Raw filter = json::find(message.params, "notifications").value_or(json::Raw());
  if (const auto refusal = check_filter(post, filter)) {
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
  ChangeStreams& streams = post.core.local(post.exchange.shard()).streams;
  co_await streams.serve_listen(post.exchange, std::move(listen));
}

}  // namespace mcpx::downstream
