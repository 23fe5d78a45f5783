#include "ask/desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ask/urls.hpp"
#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "rpc/message.hpp"

namespace mcpx::ask {
namespace {

// Those whose calls were given up end a little later.
constexpr std::size_t kTasks = 2 * Desk::kAtMost;

call::Outcome refused(const Error& error) {
  return call::Outcome::of_failure(rpc::kInvalidParams, error);
}

call::Outcome input_required(std::string_view requests, const std::string& state) {
  json::ObjectBuilder result;
  result.string("resultType", "input_required").raw("inputRequests", requests);
  result.string("requestState", state);
  return call::Outcome::of_result(result.take(), mcp::kLatestModern);
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
    : shard_(shard), states_(states), alarm_(shard, [this] { sweep(); }), tasks_(shard, kTasks) {}

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
      step.outcome = not_visited();
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
    step.asks = true;
    co_return step;
  }
  if (asks_for_urls(*news.outcome)) {
    step.outcome = url_questions(*held, *news.outcome, askable);
    step.asks = step.outcome.has_value();
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
  const std::int64_t now = unix_now();
  ticket.expiry = now + held.state_ttl.count();
  held.open = true;
  held.expiry = Clock::now() + held.state_ttl;
  if (held.expiry < alarm_.deadline()) alarm_.set(held.expiry);
  return states_.write(ticket, held.binding, now);
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
  if (!(askable & mcp::kAskUrl)) return std::nullopt;
  mcp::QuestionContext context;
  context.to = mcp::kLatestModern;
  json::ObjectBuilder requests;
  std::size_t number = 0;
  for (const json::Raw wanted : wanted_urls(outcome)) {
    json::ObjectBuilder request;
    request.string("method", "elicitation/create");
    request.raw("params", mcp::question_params_for(mcp::QuestionKind::url, wanted, context));
    requests.raw(fmt::format("elicitation-{}", ++number), request.take());
  }
  if (number == 0) return std::nullopt;
  held.parked.reset();
  return needs_input(held, requests.take());
}

bool Desk::has_room() {
  if (calls_.size() < kAtMost) return tasks_.size() < kTasks;
  const auto sooner = [](const auto& a, const auto& b) {
    return a.second->expiry < b.second->expiry;  // kNever: its client is there
  };
  const auto first = std::min_element(calls_.begin(), calls_.end(), sooner);
  if (!first->second->open) return false;
  const HeldPtr held = first->second;
  calls_.erase(first);
  if (held->parked) held->parked->cancel("too many calls wait for answers");
  return tasks_.size() < kTasks;
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

}  // namespace mcpx::ask
