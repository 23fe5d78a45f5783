#include "downstream/substitute.hpp"

#include <algorithm>
#include <utility>

#include "broker/policy.hpp"
#include "json/splice.hpp"
#include "log/log.hpp"

namespace mcpx::downstream {
namespace {

// A call that says more than that is not made again: the store is no place to fill a disk by.
constexpr std::size_t kLargestRedrive = 256 * 1024;
constexpr Milliseconds kServerWait{60'000};  // for a server to come up after a restart
constexpr Milliseconds kLook{500};           // whether the daemon is about to stop

std::string redrive_of(std::string_view server, const call::Call& call, mcp::Askable askable,
                       const call::Outcome& outcome) {
  json::ObjectBuilder out;
  out.string("server", server).string("method", call.method_name);
  out.string("member", call.target_member).raw("value", call.target_value);
  out.string("revision", mcp::text(call.caller.revision));
  out.string("principal", call.caller.principal);
  out.raw("clientInfo", call.caller.client_info);
  out.integer("askable", askable);
  out.raw("capabilities", call.caller.client_capabilities);
  out.raw("params", call.params).raw("result", outcome.result);
  return out.take();
}

mcp::Askable stands_for(const Request& request) {
  const config::Broker& config = request.core.config().broker;
  if (config.declare == 0 || !request.core.broker) return 0;
  return broker::stands_in_for(config, !request.endpoint.empty());
}

}  // namespace

bool Substitute::stands_in(const Request& request) {
  return stands_for(request) != 0;
}

Substitute::Substitute(const Request& request, const call::Call& call, std::string_view server) {
  const mcp::Askable stands = stands_for(request);
  if (stands == 0) return;
  askable_ = static_cast<mcp::Askable>(stands & ~call.caller.askable);
  asker_ = std::make_shared<broker::StandIn>(*request.core.broker, call.caller.asker,
                                             call.caller.askable, stands,
                                             broker::origin_of(call, server));
}

void Substitute::declare(call::Caller& caller) {
  if (askable_ == 0 || mcp::era_of(caller.revision) != mcp::Era::modern) return;
  const json::Raw own =
      caller.client_capabilities.empty() ? json::Raw("{}") : caller.client_capabilities;
  capabilities_ = mcp::widened_capabilities(own, caller.askable, askable_);
  caller.client_capabilities = capabilities_;
}

void Substitute::stand_in(call::Caller& caller) {
  if (!asker_) return;
  declare(caller);
  caller.askable = static_cast<mcp::Askable>(caller.askable | askable_);
  caller.asker = asker_;
}

ask::BeforeRound Substitute::remembering(std::string_view server, const call::Call& call) {
  if (!asker_ || call.params.size() > kLargestRedrive) return nullptr;
  // The params of the call are those of the round before by the next one.
  auto first = std::make_shared<std::string>(
      json::Splice(call.params).remove("inputResponses").remove("requestState").text());
  const auto askable = static_cast<mcp::Askable>(call.caller.askable | askable_);
  return [asker = asker_, server, &call, first, askable](const call::Outcome& outcome) {
    call::Call original = call;
    original.params = *first;
    std::string redrive = redrive_of(server, original, askable, outcome);
    asker->redriven(redrive.size() <= kLargestRedrive ? std::move(redrive) : std::string());
  };
}

// --- After a restart

namespace {

std::shared_ptr<upstream::Server> server_named(const Core& core, std::string_view name) {
  const auto snapshot = core.registry.current();
  for (const auto& server : snapshot->servers) {
    if (server->name() == name) return server;
  }
  return nullptr;
}

// What was kept of a call, and what refers to it.
struct Redriven {
  explicit Redriven(std::string text_in) : text(std::move(text_in)) {}

  bool read() {
    const auto method_name = json::find_string(text, "method");
    const auto result = json::find(text, "result");
    const auto params = json::find(text, "params");
    if (!method_name || !result || !params) return false;
    name = *method_name;
    principal = json::find_string(text, "principal").value_or("");
    call.method = mcp::parse_method(name).value_or(mcp::Method::foreign);
    call.method_name = name;
    call.params = *params;
    const std::string member = json::find_string(text, "member").value_or("");
    for (const std::string_view known : {"name", "uri", "ref"}) {
      if (member == known) call.target_member = known;
    }
    call.target_value = json::find(text, "value").value_or(json::Raw());
    call.caller.revision = mcp::parse_revision(json::find_string(text, "revision").value_or(""))
                               .value_or(mcp::kLatestModern);
    call.caller.principal = principal;
    call.caller.client_info = json::find(text, "clientInfo").value_or(json::Raw());
    call.caller.client_capabilities = json::find(text, "capabilities").value_or("{}");
    const auto askable = json::find(text, "askable");
    call.caller.askable =
        static_cast<mcp::Askable>(askable ? json::as_integer(*askable).value_or(0) : 0);
    outcome = call::Outcome::of_result(*result, mcp::kLatestModern);
    return true;
  }

  std::string text, name, principal;
  call::Call call;
  call::Outcome outcome;
};

Task<void> wait_for_server(Core& core, std::string name, const runtime::CancelSource& over) {
  const TimePoint latest = Clock::now() + kServerWait;
  while (!over.cancelled() && Clock::now() < latest) {
    const EndpointPtr endpoint = endpoint_now(core, name);
    if (endpoint && endpoint->ready) break;
    const TimePoint soon = std::min(latest, Clock::now() + kLook);
    std::string copy = name;
    co_await core.registry.wait_ready(std::move(copy), soon);
  }
}

// Its caller went with the last daemon: what comes of it is for the server, and for the log.
Task<void> redrive_one(Core& core, store::QuestionRow row) {
  Redriven again(row.redrive);
  std::string server_name = row.server;
  if (!again.read()) co_return;
  runtime::CancelSource& over = core.local(runtime::Shard::current()).over;
  co_await wait_for_server(core, server_name, over);
  if (over.cancelled()) co_return;  // the next daemon does it
  const std::shared_ptr<upstream::Server> server = server_named(core, server_name);
  if (!server) co_return log::warning("question {}: its server {} is gone", row.id, server_name);
  call::Call& call = again.call;
  const auto asker =
      std::make_shared<broker::StandIn>(*core.broker, nullptr, mcp::Askable{0}, call.caller.askable,
                                        broker::origin_of(call, server_name));
  call.caller.asker = asker;
  call.caller.cancel = &over;
  call.caller.shard = &runtime::Shard::current();
  asker->redriven(row.redrive);
  auto first = std::make_shared<bool>(true);
  ask::BeforeRound next = [asker, first](const call::Outcome&) {
    if (!std::exchange(*first, false)) asker->redriven(std::string());
  };
  const std::size_t rounds = core.config().ask.rounds;
  co_await ask::answer_in_rounds(*server, call, again.outcome, rounds, std::move(next));
  log::info("the call of {} that waited for answers since before the restart {}", server_name,
            again.outcome.ok() ? "is done" : "failed");
}

}  // namespace

void redrive(Core& core, std::vector<store::QuestionRow> rows) {
  runtime::Shard& home = *core.shards.front();
  for (store::QuestionRow& row : rows)
    core.local(home).tasks.spawn("redrive", redrive_one(core, std::move(row)));
}

}  // namespace mcpx::downstream
