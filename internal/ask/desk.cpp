#include "ask/desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "json/splice.hpp"
#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "rpc/message.hpp"
#include "runtime/hop.hpp"

namespace mcpx::ask {
namespace {

Error used_error() {
  return Error("ask.state_used", "the requestState was used already, or its call is over",
               "send back the one of the last answer; or call anew without one");
}

call::Outcome refused(const Error& error) {
  return call::Outcome::of_failure(rpc::kInvalidParams, error);
}

bool asks_for_urls(const call::Outcome& outcome) {
  if (outcome.ok() || mcp::era_of(outcome.from) == mcp::Era::modern) return false;
  const auto code = json::find(outcome.error, "code");
  return code && json::as_integer(*code) == mcp::kUrlElicitationRequired;
}

// -32042 for a client that cannot be asked for urls: 2026-07-28 says which capability it lacks.
call::Outcome lacks_url() {
  json::ObjectBuilder data;
  data.raw("requiredCapabilities", R"({"elicitation":{"url":{}}})");
  return call::Outcome::of_error(
      rpc::error_object(mcp::kMissingClientCapability,
                        "the server needs the user to visit a URL, and the client did not declare "
                        "elicitation in url mode",
                        data.take()),
      mcp::kLatestModern);
}

call::Outcome input_required(std::string_view requests, const std::string& state) {
  json::ObjectBuilder result;
  result.string("resultType", "input_required").raw("inputRequests", requests);
  result.string("requestState", state);
  return call::Outcome::of_result(result.take(), mcp::kLatestModern);
}

bool takes_input(mcp::Method method) {
  return method == mcp::Method::tools_call || method == mcp::Method::prompts_get ||
         method == mcp::Method::resources_read;
}

// An answer that says the user did not go there.
bool all_accepted(json::Raw responses) {
  if (!json::is_object(responses)) return false;
  json::Members members(responses);
  while (const auto member = members.next()) {
    if (json::find_string(member->value, "action") != "accept") return false;
  }
  return true;
}

}  // namespace

// A call of the desk. Without `parked` it is not running: the retry makes it anew.
struct Desk::Held {
  std::uint64_t id = 0;
  std::shared_ptr<Parked> parked;
  std::string binding;
  bool names_server = false;
  std::size_t round = 0;
  bool open = false;  // a retry is awaited
  TimePoint expiry = kNever;
  Milliseconds state_ttl{0};
};

Desk::Desk(runtime::Shard& shard, const States& states)
    : shard_(shard), states_(states), alarm_(shard, [this] { sweep(); }), tasks_(shard, kAtMost) {}

std::uint64_t Desk::begin(std::shared_ptr<const void> holds, upstream::Server& server,
                          const call::Call& call, std::string_view binding, Parked::Bounds bounds,
                          Milliseconds state_ttl) {
  const auto held = std::make_shared<Held>();
  held->id = ++last_;
  held->binding = binding;
  held->names_server = bounds.names_server;
  held->state_ttl = state_ttl;
  held->parked = std::make_shared<Parked>(shard_, std::move(holds), server, call, bounds);
  calls_.emplace(held->id, held);
  tasks_.spawn("parked call", held->parked->run());
  return held->id;
}

Result<void> Desk::reopen(const Ticket& ticket) {
  const auto found = calls_.find(ticket.call);
  if (found == calls_.end()) return used_error();
  Held& held = *found->second;
  if (!held.open || held.round != ticket.round) return used_error();
  held.open = false;
  held.expiry = kNever;
  return {};
}

Task<Desk::Step> Desk::wait(std::uint64_t id, Listener listener, std::string responses) {
  Step step;
  const auto found = calls_.find(id);
  if (found == calls_.end()) {
    step.outcome = refused(used_error());
    co_return step;
  }
  const HeldPtr held = found->second;
  const mcp::Askable askable = listener.askable;
  if (!held->parked) {  // it stopped for urls, and has to be made anew
    calls_.erase(id);
    step.again = all_accepted(responses);
    if (!step.again) {
      const Error error("ask.declined", "the user did not visit the URL that the server needs",
                        "call again when they agree to");
      step.outcome = call::Outcome::of_failure(mcp::kUpstreamFailure, error);
    }
    co_return step;
  }
  const std::shared_ptr<Parked> parked = held->parked;
  parked->attach(std::move(listener));
  parked->take(responses);
  Parked::News news = co_await parked->next();
  parked->detach();
  if (!news.outcome) {
    step.outcome = needs_input(*held, news.requests);
    co_return step;
  }
  if (asks_for_urls(*news.outcome)) {
    step.outcome = url_questions(*held, *news.outcome, askable);
    if (step.outcome) co_return step;
  }
  calls_.erase(id);
  step.outcome = std::move(news.outcome);
  co_return step;
}

std::string Desk::state_for(Held& held) {
  Ticket ticket;
  ticket.shard = shard_.index();
  ticket.call = held.id;
  ticket.round = ++held.round;
  held.open = true;
  held.expiry = Clock::now() + held.state_ttl;
  if (held.expiry < alarm_.deadline()) alarm_.set(held.expiry);
  return states_.write(ticket, held.binding, held.expiry);
}

call::Outcome Desk::needs_input(Held& held, std::string_view requests) {
  const std::string state = state_for(held);
  log::debug("a call needs input: round {}", held.round);
  return input_required(requests, state);
}

// -32042 is an error of 2025-11-25; 2026-07-28 asks for the same with questions, and the retry is
// the call over again (case C56).
std::optional<call::Outcome> Desk::url_questions(Held& held, const call::Outcome& outcome,
                                                 mcp::Askable askable) {
  if (!(askable & mcp::kAskUrl)) {
    calls_.erase(held.id);
    return lacks_url();
  }
  const auto wanted = json::find(outcome.error, "data", "elicitations");
  if (!wanted || !json::is_array(*wanted)) return std::nullopt;
  mcp::QuestionContext context;
  context.to = mcp::kLatestModern;
  json::ObjectBuilder requests;
  std::size_t number = 0;
  json::Elements elements(*wanted);
  while (const auto element = elements.next()) {
    if (!json::is_object(*element) || !json::find(*element, "url")) continue;
    json::ObjectBuilder request;
    request.string("method", "elicitation/create");
    request.raw("params", mcp::question_params_for(mcp::QuestionKind::url, *element, context));
    requests.raw(fmt::format("elicitation-{}", ++number), request.take());
  }
  if (number == 0) return std::nullopt;
  held.parked.reset();
  return needs_input(held, requests.take());
}

void Desk::cancel(std::uint64_t id, const std::string& reason) {
  const auto found = calls_.find(id);
  if (found != calls_.end() && found->second->parked) found->second->parked->cancel(reason);
}

void Desk::sweep() {
  const TimePoint now = Clock::now();
  TimePoint next = kNever;
  for (auto at = calls_.begin(); at != calls_.end();) {
    const HeldPtr held = at->second;
    const bool late = held->open && (held->expiry <= now || closing_);
    if (!late) {
      next = std::min(next, held->expiry);
      ++at;
      continue;
    }
    at = calls_.erase(at);  // its task ends by itself
    if (held->parked) held->parked->cancel("nobody came back with the answers");
  }
  if (next != kNever) alarm_.set(next);
}

void Desk::shut_down() {
  closing_ = true;
  sweep();
}

Task<void> Desk::join() {
  for (const auto& [id, held] : calls_) {
    if (held->parked) held->parked->cancel("mcpx is stopping");
  }
  co_await tasks_.join();
  calls_.clear();
}

// --- One request

namespace {

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
  if (askable == 0 || desk.full()) {
    call::Outcome outcome = co_await request.server.call(request.call);
    co_return outcome;
  }
  Parked::Bounds bounds;
  bounds.timeout = request.timeout;
  bounds.rounds = request.rounds;
  bounds.names_server = request.names_server;
  const std::uint64_t id =
      desk.begin(request.holds, request.server, request.call, binding, bounds, request.state_ttl);
  Desk::Step step = co_await wait_at(request, index, id, std::move(responses));
  co_return std::move(*step.outcome);
}

}  // namespace

void translate_urls(call::Outcome& outcome) {
  if (asks_for_urls(outcome)) outcome = lacks_url();
}

// Neither of a method that takes no input, nor of a client that can give none; unless that one
// means to go on with a call.
bool may_ask(const call::Call& call) {
  if (!takes_input(call.method)) return false;
  return call.caller.askable != 0 || json::may_mention(call.params, "requestState");
}

Task<call::Outcome> call_modern(const Modern& request) {
  const call::Call& call = request.call;
  const auto state = json::find(call.params, "requestState");
  const std::string text = state ? json::decode_string(*state).value_or("") : std::string();
  // A modern server asks in its results and judges the answers and its state itself.
  if (request.server.era() == mcp::Era::modern && !Seal::is_sealed(text)) {
    co_return co_await request.server.call(call);
  }
  const std::string binding =
      binding_of(request.endpoint, call.caller.principal, call.method_name, call.params);
  std::string responses(json::find(call.params, "inputResponses").value_or(json::Raw()));
  if (!responses.empty() && !json::is_object(responses)) {
    const Error error("ask.malformed", "'inputResponses' must be an object",
                      "send an object with one member for each question");
    co_return refused(error);
  }
  if (!state) co_return co_await call_anew(request, binding, std::move(responses));

  Result<Ticket> ticket = request.states->read(text, binding, Clock::now());
  if (!ticket) co_return refused(ticket.error());
  if (ticket->shard >= request.desks.size() || !request.desks[ticket->shard]) {
    co_return refused(used_error());
  }
  Desk* const desk = request.desks[ticket->shard];
  const std::function<Task<Result<void>>()> there = [desk, read = *ticket] {
    return reopen_there(*desk, read);
  };
  Result<void> opened = co_await runtime::run_on<Result<void>>(desk->shard(), there);
  if (!opened) co_return refused(opened.error());
  Desk::Step step = co_await wait_at(request, ticket->shard, ticket->call, std::move(responses));
  if (step.again) co_return co_await call_anew(request, binding, std::string());
  co_return std::move(*step.outcome);
}

}  // namespace mcpx::ask
