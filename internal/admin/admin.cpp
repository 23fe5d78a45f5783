#include "admin/admin.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "admin/render.hpp"
#include "mcp/method.hpp"

namespace mcpx::admin {
namespace {

constexpr std::string_view kPrefix = "/v1/";
constexpr std::string_view kToolsPrefix = "tools/";
constexpr std::string_view kCallSuffix = "/call";
constexpr std::string_view kServersPrefix = "servers/";
constexpr std::string_view kRefreshSuffix = "/refresh";

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

// The decoded value of one query parameter; nullopt when absent.
std::optional<std::string> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) == name) {
      return percent_decode(pair.substr(std::min(equals + 1, pair.size())));
    }
  }
  return std::nullopt;
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

struct Admin::Reply {
  unsigned status = 200;
  std::string body;
  std::string allow;  // of a 405

  Reply(unsigned status_, std::string body_) : status(status_), body(std::move(body_)) {}
  static Reply error(unsigned status, const Error& error) {
    json::ObjectBuilder body;
    return {status, body.raw("error", error_object(error, Redactor())).take()};
  }
  static Reply unknown_server(const std::string& name) {
    return error(404, Error("server.unknown", fmt::format("no server '{}'", name),
                            "GET /v1/servers lists them"));
  }
  static Reply wrong_method(std::string allowed) {
    Reply reply = error(405, Error("admin.method", "this route answers " + allowed + " only"));
    reply.allow = std::move(allowed);
    return reply;
  }
};

Admin::Admin(registry::Registry& registry, std::shared_ptr<const Redactor> redactor, Facts facts)
    : registry_(registry),
      redactor_(redactor ? std::move(redactor) : std::make_shared<const Redactor>()),
      facts_(std::move(facts)),
      started_(Clock::now()) {}

Admin::~Admin() = default;

Task<void> Admin::handle(http::Exchange& exchange) {
  const Reply reply = co_await route(exchange, exchange.head().path());
  std::vector<http1::Field> fields;
  fields.emplace_back("Cache-Control", "no-store");
  if (!reply.allow.empty()) fields.emplace_back("Allow", reply.allow);
  const std::array<std::string_view, 1> parts = {reply.body};
  // Failing means that the client is gone: nobody is left to tell.
  co_await exchange.respond(reply.status, "application/json", parts, fields);
}

Task<Admin::Reply> Admin::route(http::Exchange& exchange, std::string_view path) {
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
  if (rest == "reload") {
    if (!post) co_return Reply::wrong_method("POST");
    co_return co_await reload();
  }
  const bool one = starts_with(rest, kServersPrefix) && rest.size() > kServersPrefix.size();
  const bool known =
      one || rest == "health" || rest == "status" || rest == "servers" || rest == "tools";
  if (!known) {
    co_return Reply::error(404, Error("admin.no_route", fmt::format("there is no {}", path),
                                      "GET /v1/health, /v1/status, /v1/servers, /v1/tools; "
                                      "POST /v1/tools/{name}/call, /v1/servers/{name}/refresh, "
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

Admin::Reply Admin::health() const {
  json::ObjectBuilder body;
  return {200, body.string("status", "ok").string("version", MCPX_VERSION).take()};
}

Task<Admin::Reply> Admin::status() {
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
  body.integer("retiring", static_cast<std::int64_t>(ask(facts_.retiring)));
  body.integer("snapshot", static_cast<std::int64_t>(snapshot->version));
  body.raw("collisions", string_array(snapshot->collisions, *held));
  body.raw("warnings", string_array(snapshot->config->warnings, *held));
  if (facts_.store) body.raw("store", store_object(facts_.store(), *held));
  co_return Reply(200, body.take());
}

Task<Admin::Reply> Admin::all_servers() {
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

Task<Admin::Reply> Admin::one_server(std::string name) {
  const auto server = server_named(name);
  if (!server) co_return Reply::unknown_server(name);
  const upstream::Status one = co_await server->status();
  co_return Reply(200, server_object(one, *redactor()));
}

// Lists of a legacy server live until it says that they changed, or somebody asks.
Task<Admin::Reply> Admin::refresh(std::string name) {
  const auto server = server_named(name);
  if (!server) co_return Reply::unknown_server(name);
  const Result<void> read = co_await server->refresh();
  if (!read) {
    json::ObjectBuilder body;
    co_return Reply(502, body.raw("error", error_object(read.error(), *redactor())).take());
  }
  co_return co_await one_server(std::move(name));
}

Task<Admin::Reply> Admin::reload() {
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

Admin::Reply Admin::tools(std::string_view query) const {
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

namespace {

// The `arguments` of a call from its body, {} when it names none.
Result<std::string> arguments_of(const PaddedBuffer& body, std::size_t depth) {
  if (body.view().find_first_not_of(" \t\r\n") == std::string_view::npos) return "{}";
  json::Limits limits;
  limits.depth = depth;
  const auto valid = json::validate(body.view(), limits);
  if (valid.has_error()) {
    return Error("admin.bad_request", "the body is not JSON: " + valid.error().message,
                 "send {\"arguments\":{...}}");
  }
  std::string_view text = body.view();
  text.remove_prefix(text.find_first_not_of(" \t\r\n"));
  const auto arguments = json::find(text, "arguments");
  if (json::is_object(text) && !arguments) return "{}";
  if (!arguments || !json::is_object(*arguments)) {
    return Error("admin.bad_request", "'arguments' is not an object", "send {\"arguments\":{...}}");
  }
  return std::string(*arguments);
}

bool is_json(const http1::Fields& fields) {
  const auto type = fields.find("Content-Type");
  constexpr std::string_view kJson = "application/json";
  return type && http1::equals_ignoring_case(type->substr(0, kJson.size()), kJson);
}

}  // namespace

Task<Admin::Reply> Admin::call_tool(http::Exchange& exchange, std::string name) {
  const PaddedBuffer body = exchange.take_body();
  // A page of another origin can send any other type without being asked first by its browser.
  if (!body.empty() && !is_json(exchange.head().fields)) {
    co_return Reply::error(415, Error("admin.bad_request", "the body is not application/json",
                                      "send Content-Type: application/json"));
  }
  const auto arguments = arguments_of(body, registry_.config().limits.json_depth);
  if (arguments.has_error()) co_return Reply::error(400, arguments.error());
  const auto snapshot = registry_.current();
  const auto endpoint = snapshot->find("");
  auto target = endpoint ? endpoint->tool(name) : std::nullopt;
  if (!target) {
    co_return Reply::error(
        404, Error("tool.unknown", fmt::format("no tool '{}'", name), "GET /v1/tools lists them"));
  }
  json::ObjectBuilder builder;
  const std::string params =
      builder.string("name", target->original).raw("arguments", *arguments).take();
  call::Call call;
  call.method = mcp::Method::tools_call;
  call.method_name = mcp::info(call.method).name;
  call.params = params;
  call.caller.revision = mcp::kLatestModern;  // the one that can say the most
  call.caller.principal = exchange.principal();
  call.caller.client_capabilities = "{}";
  call.caller.cancel = &exchange.gone();
  call.caller.shard = &exchange.shard();
  call.caller.request_id = exchange.request_id();
  const call::Outcome outcome = co_await target->server->call(call);
  if (!outcome.ok()) {
    Failure failure = failure_of(outcome.error, *redactor());
    co_return Reply(failure.status, std::move(failure.body));
  }
  json::ObjectBuilder reply;
  reply.raw("result", redact_json(outcome.result, *redactor()));
  co_return Reply(200, reply.take());
}

}  // namespace mcpx::admin
