// POST /v1/tools/{name}/call: a tool by hand. With {"questions":"return"} the call does not wait
// for answers: see Calls.
#include <fmt/core.h>

#include <utility>

#include "admin/admin.hpp"
#include "admin/calls.hpp"
#include "admin/render.hpp"
#include "admin/reply.hpp"
#include "ask/rounds.hpp"
#include "ask/urls.hpp"
#include "broker/policy.hpp"
#include "broker/stand_in.hpp"
#include "mcp/method.hpp"

namespace mcpx::admin {
namespace {

constexpr std::string_view kExample = R"({"arguments":{...}})";

// An object, {} when there is none; nullopt for anything else.
std::optional<std::string> arguments_in(json::Raw body) {
  const auto arguments = json::find(body, "arguments");
  if (!arguments) return "{}";
  if (!json::is_object(*arguments)) return std::nullopt;
  return std::string(*arguments);
}

}  // namespace

Task<Reply> Admin::call_tool(http::Exchange& exchange, std::string name) {
  Body body = body_of(exchange, registry_.config().limits.json_depth, kExample);
  if (body.refusal) co_return std::move(*body.refusal);
  const auto arguments = arguments_in(body.object);
  if (!arguments) {
    co_return Reply::error(400, Error("admin.bad_request", "'arguments' is not an object",
                                      "send " + std::string(kExample)));
  }
  const auto snapshot = registry_.current();
  const auto endpoint = snapshot->find("");
  auto target = endpoint ? endpoint->tool(name) : std::nullopt;
  if (!target) {
    co_return Reply::error(
        404, Error("tool.unknown", fmt::format("no tool '{}'", name), "GET /v1/tools lists them"));
  }
  json::ObjectBuilder builder;
  std::string params = builder.string("name", target->original).raw("arguments", *arguments).take();
  const mcp::Askable stands = broker::stands_in_for(registry_.config().broker, false);
  if (calls_ && json::find_string(body.object, "questions") == "return") {
    CallStart start(endpoint, *target->server, std::move(params));
    start.principal = exchange.principal();
    start.rounds = registry_.config().ask.rounds;
    start.askable = static_cast<mcp::Askable>(stands | mcp::kAskForm | mcp::kAskUrl);
    co_return co_await calls_->begin(exchange, std::move(start), redactor());
  }
  call::Call call;
  call.method = mcp::Method::tools_call;
  call.method_name = mcp::info(call.method).name;
  call.params = params;
  call.caller.revision = mcp::kLatestModern;  // the one that can say the most
  call.caller.principal = exchange.principal();
  call.caller.askable = facts_.broker ? stands : mcp::Askable{0};
  const std::string capabilities = mcp::client_capabilities(call.caller.askable);
  call.caller.client_capabilities = capabilities;
  call.caller.cancel = &exchange.gone();
  call.caller.shard = &exchange.shard();
  call.caller.request_id = exchange.request_id();
  upstream::Server& server = *target->server;
  if (call.caller.askable != 0) {
    call.caller.asker = std::make_shared<broker::StandIn>(
        *facts_.broker, nullptr, mcp::Askable{0}, stands, broker::origin_of(call, server.name()));
  }
  call::Outcome outcome = co_await server.call(call);
  const std::size_t rounds = registry_.config().ask.rounds;
  if ((call.caller.askable & mcp::kAskUrl) && ask::asks_for_urls(outcome)) {
    co_await ask::call_after_visits(server, call, outcome, rounds);
  }
  if (call.caller.asker && ask::needs_input(outcome)) {
    co_await ask::answer_in_rounds(server, call, outcome, rounds);
  }
  co_return Reply::of(outcome, *redactor());
}

}  // namespace mcpx::admin
