#include "admin/admin.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "admin/calls.hpp"
#include "admin/questions.hpp"
#include "admin/render.hpp"
#include "admin/reply.hpp"

namespace mcpx::admin {
namespace {

constexpr std::string_view kPrefix = "/v1/";
constexpr std::string_view kToolsPrefix = "tools/";
constexpr std::string_view kCallSuffix = "/call";
constexpr std::string_view kServersPrefix = "servers/";
constexpr std::string_view kRefreshSuffix = "/refresh";
constexpr std::string_view kQuestions = "elicitations";
constexpr std::string_view kCalls = "calls/";

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// What stands between both, decoded; nullopt when that is not how `text` is made, or nothing.
std::optional<std::string> between(std::string_view text, std::string_view prefix,
                                   std::string_view suffix) {
  if (text.size() <= prefix.size() + suffix.size()) return std::nullopt;
  if (!starts_with(text, prefix) || !ends_with(text, suffix)) return std::nullopt;
  return percent_decode(text.substr(prefix.size(), text.size() - prefix.size() - suffix.size()));
}

std::size_t ask(const std::function<std::size_t()>& fact) {
  return fact ? fact() : 0;
}

// Every state by how many servers are in it.
std::string count_states(const std::vector<upstream::Status>& all) {
  using upstream::State;
  json::ObjectBuilder counts;
  counts.integer("total", static_cast<std::int64_t>(all.size()));
  for (const State state :
       {State::ready, State::starting, State::failed, State::idle, State::disabled}) {
    const auto count = std::count_if(all.begin(), all.end(),
                                     [&](const auto& status) { return status.state == state; });
    counts.integer(upstream::text(state), count);
  }
  return counts.take();
}

}  // namespace

Admin::Admin(registry::Registry& registry, std::shared_ptr<const Redactor> redactor, Facts facts)
    : registry_(registry),
      redactor_(redactor ? std::move(redactor) : std::make_shared<const Redactor>()),
      facts_(std::move(facts)),
      started_(Clock::now()) {
  if (facts_.broker) calls_ = std::make_unique<Calls>(*facts_.broker);
}

Admin::~Admin() = default;

void Admin::begin_shutdown() {
  closing_ = true;
  if (facts_.broker) facts_.broker->wake_readers();
}

Task<void> Admin::stop() {
  if (calls_) co_await calls_->stop();
}

Task<void> Admin::handle(http::Exchange& exchange) {
  const std::string_view path = exchange.head().path();
  if (path == "/v1/events" && facts_.broker) {
    co_return co_await follow_events(exchange, *facts_.broker, *this);
  }
  const Reply reply = co_await route(exchange, path);
  co_await respond(exchange, reply);
}

Task<Reply> Admin::route(http::Exchange& exchange, std::string_view path) {
  const bool get = exchange.head().method == "GET";
  const bool known_prefix = starts_with(path, kPrefix);
  const std::string_view rest = known_prefix ? path.substr(kPrefix.size()) : std::string_view();
  const bool post = exchange.head().method == "POST";
  if (auto tool = between(rest, kToolsPrefix, kCallSuffix)) {
    if (!post) co_return Reply::wrong_method("POST");
    co_return co_await call_tool(exchange, std::move(*tool));
  }
  if (auto server = between(rest, kServersPrefix, kRefreshSuffix)) {
    if (!post) co_return Reply::wrong_method("POST");
    co_return co_await refresh(std::move(*server));
  }
  if (starts_with(rest, kQuestions) && facts_.broker) {
    co_return co_await serve_question(exchange, *facts_.broker, redactor(), rest);
  }
  if (starts_with(rest, kCalls) && calls_) {
    co_return co_await calls_->serve(exchange, rest.substr(kCalls.size()), redactor());
  }
  if (rest == "reload") {
    if (!post) co_return Reply::wrong_method("POST");
    co_return co_await reload();
  }
  const bool one = starts_with(rest, kServersPrefix) && rest.size() > kServersPrefix.size();
  const bool known =
      one || rest == "health" || rest == "status" || rest == "servers" || rest == "tools";
  if (!known) {
    co_return Reply::error(
        404,
        Error(
            "admin.no_route", fmt::format("there is no {}", path),
            "GET /v1/health, /v1/status, /v1/servers, /v1/tools, "
            "/v1/elicitations, /v1/events; POST /v1/tools/{name}/call, /v1/servers/{name}/refresh, "
            "/v1/reload"));
  }
  if (!get) co_return Reply::wrong_method("GET");
  if (rest == "health") co_return health();
  if (rest == "status") co_return co_await status();
  if (rest == "servers") co_return co_await all_servers();
  if (rest == "tools") co_return tools(exchange.head().query());
  std::string name = percent_decode(rest.substr(kServersPrefix.size()));
  co_return co_await one_server(std::move(name));
}

Reply Admin::health() const {
  json::ObjectBuilder body;
  return {200, body.string("status", "ok").string("version", MCPX_VERSION).take()};
}

Task<Reply> Admin::status() {
  std::vector<upstream::Status> all;
  std::size_t children = 0;
  const auto snapshot = registry_.current();
  for (const auto& server : snapshot->servers) {
    upstream::Status one = co_await server->status();
    children += one.children;
    all.push_back(std::move(one));
  }
  const auto uptime = std::chrono::duration_cast<Milliseconds>(Clock::now() - started_);
  std::vector<std::string> endpoints = {"/mcp"};
  for (const auto& server : snapshot->config->servers) {
    if (server.enabled) endpoints.push_back("/mcp/" + server.name);
  }
  const auto held = redactor();
  json::ObjectBuilder body;
  body.string("version", MCPX_VERSION).integer("uptime_ms", uptime.count());
  body.integer("pid", getpid());
  body.raw(
      "listen",
      string_array(facts_.listening ? facts_.listening() : std::vector<std::string>(), Redactor()));
  body.raw("endpoints", string_array(endpoints, Redactor()));
  body.raw("servers", count_states(all));
  body.integer("sessions", static_cast<std::int64_t>(ask(facts_.sessions)));
  body.integer("connections", static_cast<std::int64_t>(ask(facts_.connections)));
  body.integer("children", static_cast<std::int64_t>(children));
  if (facts_.broker) {
    const auto waiting = co_await facts_.broker->list("pending");
    if (waiting) body.integer("questions", static_cast<std::int64_t>(waiting->size()));
  }
  body.integer("retiring", static_cast<std::int64_t>(ask(facts_.retiring)));
  body.integer("snapshot", static_cast<std::int64_t>(snapshot->version));
  body.raw("collisions", string_array(snapshot->collisions, *held));
  body.raw("warnings", string_array(snapshot->config->warnings, *held));
  if (facts_.store) body.raw("store", store_object(facts_.store(), *held));
  co_return Reply(200, body.take());
}

Task<Reply> Admin::all_servers() {
  const auto snapshot = registry_.current();
  std::string list = "[";
  for (const auto& server : snapshot->servers) {
    const upstream::Status one = co_await server->status();
    if (list.size() > 1) list += ',';
    list += server_object(one, *redactor());
  }
  json::ObjectBuilder body;
  co_return Reply(200, body.raw("servers", list + "]").take());
}

std::shared_ptr<upstream::Server> Admin::server_named(const std::string& name) const {
  const auto snapshot = registry_.current();
  const auto found = std::find_if(snapshot->servers.begin(), snapshot->servers.end(),
                                  [&](const auto& server) { return server->name() == name; });
  return found == snapshot->servers.end() ? nullptr : *found;
}

Task<Reply> Admin::one_server(std::string name) {
  const auto server = server_named(name);
  if (!server) co_return Reply::unknown_server(name);
  const upstream::Status one = co_await server->status();
  co_return Reply(200, server_object(one, *redactor()));
}

// Lists of a legacy server live until it says that they changed, or somebody asks.
Task<Reply> Admin::refresh(std::string name) {
  const auto server = server_named(name);
  if (!server) co_return Reply::unknown_server(name);
  const Result<void> read = co_await server->refresh();
  if (!read) {
    json::ObjectBuilder body;
    co_return Reply(502, body.raw("error", error_object(read.error(), *redactor())).take());
  }
  co_return co_await one_server(std::move(name));
}

Task<Reply> Admin::reload() {
  if (!facts_.reload) {
    co_return Reply::error(501, Error("admin.no_reload", "this mcpxd cannot reload", "restart it"));
  }
  Task<Reloaded> reloading = facts_.reload();
  const Reloaded report = co_await std::move(reloading);
  const auto held = redactor();
  json::ObjectBuilder body;
  if (report.error) {
    body.raw("error", error_object(*report.error, *held));
    body.raw("problems", string_array(report.problems, *held));
    const unsigned status = report.problems.empty() ? 503 : 422;
    co_return Reply(status, body.take());
  }
  body.raw("kept", string_array(report.kept, Redactor()));
  body.raw("relisted", string_array(report.relisted, Redactor()));
  body.raw("changed", string_array(report.changed, Redactor()));
  body.raw("added", string_array(report.added, Redactor()));
  body.raw("removed", string_array(report.removed, Redactor()));
  body.raw("restart_needed", string_array(report.restart_needed, Redactor()));
  body.raw("warnings", string_array(report.warnings, *held));
  co_return Reply(200, body.take());
}

void Admin::set_redactor(std::shared_ptr<const Redactor> redactor) {
  std::atomic_store(&redactor_, std::move(redactor));
}

Reply Admin::tools(std::string_view query) const {
  const auto wanted = parameter(query, "server");
  if (wanted && !server_named(*wanted)) return Reply::unknown_server(*wanted);
  const auto snapshot = registry_.current();
  const auto endpoint = snapshot->find("");
  std::string list = "[";
  if (endpoint) {
    for (const registry::Entry* tool : endpoint->tools()) {
      if (wanted && tool->source->name != *wanted) continue;
      if (list.size() > 1) list += ',';
      list += tool_object(*tool, *redactor());
    }
  }
  json::ObjectBuilder body;
  return {200, body.raw("tools", list + "]").take()};
}

}  // namespace mcpx::admin
