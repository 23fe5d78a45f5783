#include "ask/modern.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "ask/urls.hpp"
#include "base/digest.hpp"
#include "json/splice.hpp"
#include "mcp/error_codes.hpp"
#include "runtime/hop.hpp"
#include "store/store.hpp"

namespace mcpx::ask {
namespace {

bool takes_input(mcp::Method method) {
  return method == mcp::Method::tools_call || method == mcp::Method::prompts_get ||
         method == mcp::Method::resources_read;
}

call::Outcome refused(const Error& error) {
  return call::Outcome::of_failure(rpc::kInvalidParams, error);
}

std::string binding_for(const Modern& request) {
  const call::Call& call = request.call;
  return binding_of(request.endpoint, call.caller.principal, call.method_name, call.params);
}

// --- At a modern server

// What it asks, as a client that talks to several servers is asked it.
std::string spelled_requests(json::Raw requests, const mcp::QuestionContext& context) {
  json::Splice all(requests);
  json::Members members(requests);
  while (const auto member = members.next()) {
    const auto method = json::find_string(member->value, "method");
    const auto params = json::find(member->value, "params");
    const auto key = json::decode_string(member->key);
    if (!method || !params || !json::is_object(*params) || !key) continue;
    const auto kind = mcp::question_kind(*method, *params);
    if (!kind) continue;
    const std::string spelled = mcp::question_params_for(*kind, *params, context);
    if (spelled == *params) continue;
    all.set(*key, json::Splice(member->value).set("params", spelled).text());
  }
  return all.text();
}

// Questions that have an answer already are not asked.
std::string without(json::Raw requests, json::Raw answers) {
  json::Splice rest(requests);
  json::Members members(answers);
  while (const auto member = members.next()) {
    if (const auto key = json::decode_string(member->key)) rest.remove(*key);
  }
  return rest.text();
}

std::string requests_for(const Modern& request, json::Raw requests, const std::string& answers) {
  std::string rest = answers.empty() ? std::string(requests) : without(requests, answers);
  if (!request.names_server) return rest;
  mcp::QuestionContext context;
  context.to = request.call.caller.revision;
  context.askable = request.call.caller.askable;
  context.server = request.server.name();
  return spelled_requests(rest, context);
}

// The result of a modern server for its client: when it needs input, its state goes into ours, and
// with it what was answered already.
call::Outcome relayed(const Modern& request, call::Outcome outcome, std::size_t round,
                      std::string answers = {}) {
  if (!needs_input(outcome)) return outcome;
  json::Splice result(outcome.result);
  const auto state = json::find(outcome.result, "requestState");
  const auto requests = json::find(outcome.result, "inputRequests");
  if (requests && json::is_object(*requests)) {
    std::string spelled = requests_for(request, *requests, answers);
    if (spelled != *requests) result.set("inputRequests", std::move(spelled));
  }
  if (state || !answers.empty()) {
    const std::int64_t now = unix_now();
    Ticket ticket;
    ticket.relayed = true;
    ticket.round = round + 1;
    ticket.server_state = state.value_or(json::Raw());
    ticket.answers = std::move(answers);
    ticket.expiry = now + request.limits.state_ttl.count();
    result.set("requestState",
               json::quoted(request.states->write(ticket, binding_for(request), now)));
  }
  return call::Outcome::of_result(result.text(), outcome.from);
}

// The same after what the client cannot be asked was asked of who stands in for it.
Task<call::Outcome> pass_on(const Modern& request, const call::Call& first, call::Outcome outcome,
                            std::size_t round) {
  std::optional<call::Call> again;
  if (request.again) again = request.again(first, outcome);
  if (again) outcome = co_await request.server.call(*again);
  const call::Call& made = again ? *again : first;
  if (!request.otherwise || !needs_input(outcome)) {
    co_return relayed(request, std::move(outcome), round);
  }
  call::Call call = made;
  call.caller.asker = request.otherwise;
  call.caller.askable = request.otherwise_askable;
  const mcp::Askable theirs = request.call.caller.askable;
  BeforeRound before = request.before_otherwise;
  std::string answers = co_await answer_beside(request.server, call, outcome, theirs,
                                               request.limits.rounds, std::move(before));
  co_return relayed(request, std::move(outcome), round, std::move(answers));
}

// The retry as its server expects it: with its own state, and all answers.
std::string retried_params(json::Raw params, const Ticket& ticket) {
  json::Splice again(params);
  if (ticket.server_state.empty()) {
    again.remove("requestState");
  } else {
    again.set("requestState", ticket.server_state);
  }
  if (!ticket.answers.empty()) {
    json::Splice all(json::find(params, "inputResponses").value_or("{}"));
    json::Members members(ticket.answers);
    while (const auto member = members.next()) {
      const auto key = json::decode_string(member->key);
      if (key) all.set(*key, std::string(member->value));
    }
    again.set("inputResponses", all.text());
  }
  return again.text();
}

Task<call::Outcome> go_on(const Modern& request, const Ticket& ticket, const std::string& state) {
  if (request.store) {
    const Result<bool> first =
        co_await request.store->seals().spend(sha256_hex(state), ticket.expiry, unix_now());
    if (!first) co_return call::Outcome::of_failure(mcp::kUpstreamFailure, first.error());
    if (!*first) co_return refused(used_error());
  }
  const std::string params = retried_params(request.call.params, ticket);
  call::Call again = request.call;
  again.params = params;
  again.message = nullptr;  // its spans are of the state that came
  call::Outcome outcome = co_await request.server.call(again);
  co_return co_await pass_on(request, again, std::move(outcome), ticket.round);
}

// --- At a desk

Listener listener_of(const call::Caller& caller) {
  Listener listener;
  listener.sink = caller.sink;
  listener.shard = caller.shard;
  listener.progress_token = caller.progress_token;
  listener.askable = caller.askable;
  return listener;
}

// Waits at the desk where the call is, on whichever shard; a client that goes away cancels it.
Task<Desk::Step> wait_at(const Modern& request, std::size_t index, std::uint64_t id,
                         std::string responses) {
  Desk* const desk = request.desks[index];
  runtime::Shard* const shard = &desk->shard();
  runtime::CancelSource::Subscription gone;
  if (request.call.caller.cancel) {
    gone = request.call.caller.cancel->subscribe([desk, shard, id](const std::string& reason) {
      shard->post([desk, id, reason] { desk->cancel(id, reason); });
    });
  }
  const auto listener = std::make_shared<Listener>(listener_of(request.call.caller));
  const auto answers = std::make_shared<std::string>(std::move(responses));
  const std::function<Task<Desk::Step>()> there = [desk, id, listener, answers] {
    return desk->wait(id, std::move(*listener), std::move(*answers));
  };
  co_return co_await runtime::run_on<Desk::Step>(*shard, there);
}

Task<Result<void>> reopen_there(Desk& desk, Ticket ticket) {
  co_return desk.reopen(ticket);
}

Task<call::Outcome> call_anew(const Modern& request, const std::string& binding,
                              std::string responses) {
  const std::size_t index = runtime::Shard::current().index();
  Desk& desk = *request.desks[index];
  const mcp::Askable askable = request.call.caller.askable;
  if (askable == 0 || !desk.has_room()) {
    call::Outcome outcome = co_await request.server.call(request.call);
    co_return outcome;
  }
  Parked::Bounds bounds;
  bounds.timeout = request.limits.timeout;
  bounds.rounds = request.limits.rounds;
  bounds.per_server = request.limits.per_server;
  bounds.names_server = request.names_server;
  bounds.otherwise = request.otherwise;
  bounds.otherwise_askable = request.otherwise_askable;
  const std::uint64_t id = desk.begin(request.holds, request.server, request.call, binding, bounds,
                                      request.limits.state_ttl);
  Desk::Step step = co_await wait_at(request, index, id, std::move(responses));
  if (step.asks) co_return std::move(*step.outcome);
  // The server may have turned out to be a modern one.
  co_return co_await pass_on(request, request.call, std::move(*step.outcome), 0);
}

Task<call::Outcome> go_on_at_desk(const Modern& request, const Ticket& ticket,
                                  const std::string& binding, std::string responses) {
  if (ticket.shard >= request.desks.size() || !request.desks[ticket.shard]) {
    co_return refused(used_error());
  }
  Desk* const desk = request.desks[ticket.shard];
  const std::function<Task<Result<void>>()> there = [desk, ticket] {
    return reopen_there(*desk, ticket);
  };
  Result<void> opened = co_await runtime::run_on<Result<void>>(desk->shard(), there);
  if (!opened) co_return refused(opened.error());
  Desk::Step step = co_await wait_at(request, ticket.shard, ticket.call, std::move(responses));
  if (step.again) co_return co_await call_anew(request, binding, std::string());
  co_return std::move(*step.outcome);
}

}  // namespace

// Neither of a method that takes no input, nor of a client that can give none; unless that one
// means to go on with a call.
bool may_ask(const call::Call& call) {
  if (!takes_input(call.method)) return false;
  return call.caller.askable != 0 || json::may_mention(call.params, "requestState");
}

call::Outcome with_own_state(const Modern& request, call::Outcome outcome) {
  if (!takes_input(request.call.method)) return outcome;  // its retry passes as it is
  return relayed(request, std::move(outcome), 0);
}

namespace {

Task<call::Outcome> first_or_next(const Modern& request, const std::string& binding) {
  const call::Call& call = request.call;
  const auto state = json::find(call.params, "requestState");
  std::string responses(json::find(call.params, "inputResponses").value_or(json::Raw()));
  if (!responses.empty() && !json::is_object(responses)) {
    const Error error("ask.malformed", "'inputResponses' must be an object",
                      "send an object with one member for each question");
    co_return refused(error);
  }
  if (!state) co_return co_await call_anew(request, binding, std::move(responses));

  const std::string text = json::decode_string(*state).value_or("");
  Result<Ticket> ticket = request.states->read(text, binding, unix_now());
  if (!ticket) co_return refused(ticket.error());
  if (ticket->relayed) co_return co_await go_on(request, *ticket, text);
  co_return co_await go_on_at_desk(request, *ticket, binding, std::move(responses));
}

}  // namespace

Task<call::Outcome> call_modern(const Modern& request) {
  const call::Call& call = request.call;
  const bool fresh = !json::find(call.params, "requestState");
  if (fresh && request.server.era() == mcp::Era::modern) {
    call::Outcome outcome = co_await request.server.call(call);
    const bool over = outcome.ok() || !request.again;
    if (over && !needs_input(outcome)) co_return outcome;
    co_return co_await pass_on(request, call, std::move(outcome), 0);
  }
  const std::string binding = binding_for(request);
  call::Outcome outcome = co_await first_or_next(request, binding);
  // What the client could have been asked itself was, at the desk.
  const bool visits = request.otherwise_askable & mcp::kAskUrl;
  for (std::size_t made = 0; visits && asks_for_urls(outcome); ++made) {
    if (made == request.limits.rounds) break;
    const bool visited =
        co_await urls_visited(request.server, call.caller, request.otherwise, outcome);
    if (!visited) break;
    outcome = co_await call_anew(request, binding, std::string());
  }
  co_return outcome;
}

}  // namespace mcpx::ask
