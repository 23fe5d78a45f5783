#include "admin/calls.hpp"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>
#include <vector>

#include "admin/render.hpp"
#include "ask/rounds.hpp"
#include "ask/urls.hpp"
#include "base/check.hpp"
#include "broker/question_json.hpp"
#include "broker/stand_in.hpp"
#include "mcp/method.hpp"
#include "runtime/hop.hpp"
#include "upstream/server.hpp"

namespace mcpx::admin {
namespace {

constexpr Milliseconds kKept{600'000};         // an outcome nobody fetches
constexpr Milliseconds kFirstWait{3'600'000};  // the call has a deadline of its own
constexpr std::int64_t kLongestWait = 3600;    // seconds

std::string new_call_id() {
  std::uint64_t bits[2] = {};
  MCPX_CHECK(getrandom(bits, sizeof(bits), 0) == static_cast<ssize_t>(sizeof(bits)));
  return fmt::format("c-{:016x}{:016x}", bits[0], bits[1]);
}

Reply unknown_call(const std::string& id) {
  return Reply::error(404, Error("call.unknown", fmt::format("no call '{}'", id),
                                 "call the tool again: outcomes are kept for ten minutes"));
}

Milliseconds wait_in(std::string_view query) {
  const std::string text = parameter(query, "wait").value_or("0");
  std::int64_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return Milliseconds(1000 * std::clamp<std::int64_t>(seconds, 0, kLongestWait));
}

}  // namespace

struct Calls::Held {
  explicit Held(CallStart start_in) : start(std::move(start_in)) {}
  std::string id;
  CallStart start;
  std::vector<std::pair<std::string, std::string>> asked;  // id, summary
  runtime::CancelSource cancel;
  std::optional<call::Outcome> outcome;
  TimePoint done_at = kNever;
  std::vector<std::shared_ptr<runtime::OneShot<bool>>> waiting;

  void wake() {
    for (const auto& one : std::exchange(waiting, {}))
      one->set(true);
  }
};

struct Calls::Wish {
  std::string id, principal, known;
  Milliseconds patience{0};
  bool gone = false;  // whoever waits is not there any more: the outcome is for the next
};

Calls::Calls(broker::Broker& broker) : broker_(broker), tasks_(broker.home(), kAtMost) {}
Calls::~Calls() = default;

Task<Reply> Calls::begin(http::Exchange& exchange, CallStart start, RedactorPtr redactor) {
  const auto wish = std::make_shared<Wish>();
  wish->id = new_call_id();
  wish->patience = kFirstWait;
  const auto gone = exchange.gone().subscribe([this, wish](const std::string&) {
    broker_.home().post([this, wish] {
      leave(*wish);
      abandon(wish->id);
    });
  });
  const auto shared = std::make_shared<CallStart>(std::move(start));
  const std::function<Task<Reply>()> there = [this, wish, shared, redactor] {
    return begin_home(wish, std::move(*shared), redactor);
  };
  Reply reply = co_await runtime::run_on<Reply>(broker_.home(), there);
  co_return reply;
}

void Calls::abandon(const std::string& id) {
  const auto found = calls_.find(id);
  if (found == calls_.end() || !found->second->asked.empty()) return;
  found->second->cancel.cancel("the client went away");
}

void Calls::leave(Wish& wish) {
  wish.gone = true;
  const auto found = calls_.find(wish.id);
  if (found != calls_.end()) found->second->wake();
}

Task<Reply> Calls::begin_home(std::shared_ptr<Wish> wish, CallStart start, RedactorPtr redactor) {
  sweep();
  if (closing_ || calls_.size() >= kAtMost) {
    co_return Reply::error(503, Error("call.too_many", "too many calls wait for answers",
                                      "answer their questions: 'mcpx elicit list'"));
  }
  const auto held = std::make_shared<Held>(std::move(start));
  held->id = wish->id;
  calls_.emplace(held->id, held);
  tasks_.spawn("held call", run(held));
  co_return co_await wait(held, std::move(wish), redactor);
}

Task<void> Calls::run(HeldPtr held) {
  call::Call call;
  call.method = mcp::Method::tools_call;
  call.method_name = mcp::info(call.method).name;
  call.params = held->start.params;
  call.caller.revision = mcp::kLatestModern;
  call.caller.principal = held->start.principal;
  call.caller.askable = held->start.askable;
  const std::string capabilities = mcp::client_capabilities(call.caller.askable);
  call.caller.client_capabilities = capabilities;
  call.caller.cancel = &held->cancel;
  call.caller.shard = &broker_.home();
  call.caller.request_id = held->id;
  upstream::Server& server = *held->start.server;
  broker::Origin origin = broker::origin_of(call, server.name());
  origin.client = "mcpx call";
  origin.told = [weak = std::weak_ptr<Held>(held)](const store::QuestionRow& row) {
    const HeldPtr alive = weak.lock();
    if (!alive) return;
    alive->asked.emplace_back(row.id, broker::summary_json(row));
    alive->wake();
  };
  call.caller.asker = std::make_shared<broker::StandIn>(broker_, nullptr, mcp::Askable{0},
                                                        held->start.askable, std::move(origin));
  const std::size_t rounds = held->start.rounds;
  call::Outcome outcome = co_await server.call(call);
  if ((call.caller.askable & mcp::kAskUrl) && ask::asks_for_urls(outcome)) {
    co_await ask::call_after_visits(server, call, outcome, rounds);
  }
  if (ask::needs_input(outcome)) co_await ask::answer_in_rounds(server, call, outcome, rounds);
  held->outcome.emplace(std::move(outcome));
  held->done_at = Clock::now();
  held->start.holds.reset();
  held->wake();
}

// Those that still wait for an answer and were asked after the one that is known of.
std::string Calls::open_questions(const Held& held, std::string_view known) const {
  auto at = std::find_if(held.asked.begin(), held.asked.end(),
                         [known](const auto& one) { return one.first == known; });
  at = at == held.asked.end() ? held.asked.begin() : std::next(at);
  std::string list = "[";
  for (; at != held.asked.end(); ++at) {
    const auto& [id, summary] = *at;
    if (!broker_.waits(id)) continue;
    if (list.size() > 1) list += ',';
    list += summary;
  }
  return list + "]";
}

Task<Reply> Calls::wait(HeldPtr held, std::shared_ptr<Wish> wish, RedactorPtr redactor) {
  const TimePoint deadline = Clock::now() + wish->patience;
  while (true) {
    if (held->outcome && !wish->gone) {
      calls_.erase(held->id);
      co_return Reply::of(*held->outcome, *redactor);
    }
    const std::string questions = open_questions(*held, wish->known);
    if (questions != "[]" || Clock::now() >= deadline || closing_ || wish->gone) {
      json::ObjectBuilder body;
      body.string("call", held->id).raw("questions", redact_json(questions, *redactor));
      co_return Reply(202, body.take());
    }
    const auto news = std::make_shared<runtime::OneShot<bool>>();
    held->waiting.push_back(news);
    runtime::Watchdog late(broker_.home(), [news] { news->set(false); });
    late.set(deadline);
    const bool woken = co_await news->wait();
    if (!woken) std::erase(held->waiting, news);
  }
}

Task<Reply> Calls::serve(http::Exchange& exchange, std::string_view rest, RedactorPtr redactor) {
  if (exchange.head().method != "GET") co_return Reply::wrong_method("GET");
  const auto wish = std::make_shared<Wish>();
  wish->id = percent_decode(rest);
  wish->principal = exchange.principal();
  wish->known = parameter(exchange.head().query(), "after").value_or("");
  wish->patience = wait_in(exchange.head().query());
  const auto gone = exchange.gone().subscribe(
      [this, wish](const std::string&) { broker_.home().post([this, wish] { leave(*wish); }); });
  const std::function<Task<Reply>()> there = [this, wish, redactor] {
    return wait_home(wish, redactor);
  };
  Reply reply = co_await runtime::run_on<Reply>(broker_.home(), there);
  co_return reply;
}

// Only who made a call gets to know what came of it.
Task<Reply> Calls::wait_home(std::shared_ptr<Wish> wish, RedactorPtr redactor) {
  sweep();
  const auto found = calls_.find(wish->id);
  if (found == calls_.end() || found->second->start.principal != wish->principal) {
    co_return unknown_call(wish->id);
  }
  const HeldPtr held = found->second;
  co_return co_await wait(held, std::move(wish), redactor);
}

void Calls::sweep() {
  const TimePoint now = Clock::now();
  std::erase_if(calls_, [now](const auto& one) {
    return one.second->outcome && one.second->done_at + kKept <= now;
  });
}

Task<void> Calls::stop() {
  closing_ = true;
  std::vector<HeldPtr> all;  // what wakes may leave calls_
  for (const auto& [id, held] : calls_)
    all.push_back(held);
  for (const HeldPtr& held : all) {
    held->cancel.cancel("mcpx is stopping");
    held->wake();
  }
  co_await tasks_.join();
  calls_.clear();
}

}  // namespace mcpx::admin
