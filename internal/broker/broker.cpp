#include "broker/broker.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "broker/entry.hpp"
#include "broker/policy.hpp"
#include "broker/question_json.hpp"
#include "json/splice.hpp"
#include "log/log.hpp"
#include "runtime/hop.hpp"

namespace mcpx::broker {
namespace {

using mcp::QuestionKind;

constexpr std::size_t kSavesAtMost = 4096;  // of what nobody waits for

// Nobody guesses it, and it can be typed.
std::string new_id(std::string_view prefix) {
  std::uint64_t bits = 0;
  MCPX_CHECK(getrandom(&bits, sizeof(bits), 0) == static_cast<ssize_t>(sizeof(bits)));
  return fmt::format("{}{:016x}", prefix, bits);
}

// What a server changes each time it asks the same does not count.
std::string key_of(const Origin& origin, const call::Question& question) {
  if (origin.call_key.empty()) return {};
  const std::string params =
      json::Splice(question.params).remove("elicitationId").remove("_meta").text();
  std::string all;
  for (const std::string_view part :
       {std::string_view(origin.call_key), std::string_view(question.server),
        std::string_view(question.method), std::string_view(params)}) {
    all.append(part).append(1, '\0');
  }
  return sha256_hex(all);
}

store::QuestionRow row_for(const call::Question& question, const Origin& origin, std::string key) {
  store::QuestionRow row;
  row.id = new_id("q-");
  row.state = "pending";
  row.server = question.server;
  row.target = origin.target;
  row.method = question.method;
  row.kind = text(question.kind);
  row.params = question.params.empty() ? "{}" : question.params;
  row.call_key = std::move(key);
  row.principal = origin.principal;
  row.client = origin.client;
  row.redrive = origin.redrive;
  row.created_at = unix_now();
  return row;
}

call::Response response_of(const store::QuestionRow& row) {
  return row.error.empty() ? call::Response::of_result(row.result)
                           : call::Response::of_error(row.error);
}

call::Response stopping(QuestionKind kind) {
  call::Response response = call::Response::none(kind, "mcpx is stopping");
  response.interrupted = true;
  return response;
}

}  // namespace

std::int64_t unix_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<Milliseconds>(now).count();
}

QuestionKind kind_of(const store::QuestionRow& row) {
  return mcp::question_kind(row.method, row.params).value_or(QuestionKind::sampling);
}

void settle(store::QuestionRow& row, std::string_view state, std::string_view action,
            std::string_view surface, std::string by) {
  row.state = state;
  row.action = action;
  row.surface = surface;
  row.answered_by = std::move(by);
  row.answered_at = unix_now();
  if (row.kind == "sampling") row.params = "{}";
}

Error not_kept(const Error& cause) {
  return Error("broker.not_kept", "the state directory did not take it: " + cause.message,
               "see that there is room on its disk, and try again");
}

Broker::Broker(runtime::Shard& home, store::Store& store, config::Broker config)
    : home_(home),
      store_(store),
      config_(std::move(config)),
      events_(home, new_id("")),
      alarm_(home, [this] { sweep(); }),
      tasks_(home, kSavesAtMost) {}

Broker::~Broker() = default;

void Broker::configure(config::Broker config) {
  config_ = std::move(config);
}

Task<std::vector<Broker::Row>> Broker::load() {
  std::vector<Row> again;
  Result<std::vector<Row>> rows = co_await store_.questions().open();
  if (!rows) co_return again;  // the store has logged why
  std::size_t orphans = 0;
  for (Row& row : *rows) {
    const bool redriven = !row.redrive.empty() && row.expires_at > unix_now();
    const bool known = std::any_of(again.begin(), again.end(), [&row](const Row& other) {
      return other.redrive == row.redrive;
    });
    if (redriven && !known) again.push_back(row);
    if (row.state == "answered") {
      answers_.emplace(row.id, std::move(row));
    } else if (redriven) {
      const auto entry = std::make_shared<Entry>();
      entry->row = std::move(row);
      pending_.emplace(entry->row.id, entry);
    } else {
      ++orphans;
      settle(row, "orphaned", "cancel", "restart", {});
      row.used = true;
      save(std::move(row), {});
    }
  }
  if (orphans > 0) log::info("{} questions of before were closed: their calls are gone", orphans);
  sweep();
  co_return again;
}

// --- Asking

Task<Asked> Broker::ask(const call::Question& question, const Origin& origin,
                        runtime::CancelSource& withdrawn) {
  if (home_.is_current()) {
    Asked here = co_await ask_home(question, origin, withdrawn);
    co_return here;
  }
  const auto there = std::make_shared<runtime::CancelSource>();
  const auto subscription = withdrawn.subscribe([this, there](const std::string& reason) {
    home_.post([there, reason] { there->cancel(reason); });
  });
  const std::function<Task<Asked>()> make = [this, &question, &origin, there] {
    return ask_home(question, origin, *there);
  };
  Asked asked = co_await runtime::run_on<Asked>(home_, make);
  co_return asked;
}

Task<Asked> Broker::ask_home(const call::Question& question, const Origin& origin,
                             runtime::CancelSource& withdrawn) {
  Asked none;
  if (closing_) {
    none.response = stopping(question.kind);
    co_return none;
  }
  std::string key = key_of(origin, question);
  if (auto known = known_answer(key)) co_return std::move(*known);
  EntryPtr entry = waiting_for_nobody(key);
  if (!entry) {
    if (asks_too_often(question.server)) {
      none.response = call::Response::none(question.kind, "too much is asked");
      co_return none;
    }
    if (question.params.size() > config_.question_bytes) {
      const Error error("broker.too_large", "the question is larger than broker.question_size",
                        "raise it");
      log::warning("{} of server {}: {}", question.method, question.server, error.text());
      none.response = call::Response::none(question.kind, error.message);
      co_return none;
    }
    const Attended attended = origin.told ? Attended::yes : Attended::no;
    if (auto decision = decide(config_, question, origin.target, attended)) {
      Row row = row_for(question, origin, std::string());
      row.redrive.clear();
      settle(row, "answered", decision->action, decision->surface, decision->by);
      row.expires_at = row.answered_at;
      row.used = true;
      log::info("{} of server {} was answered by {}: {}", question.method, question.server,
                decision->by, decision->action);
      save(std::move(row), "question.answered");
      none.response = std::move(decision->response);
      co_return none;
    }
    Result<EntryPtr> kept = co_await keep(question, origin, std::move(key));
    if (!kept) {
      log::warning("{} of server {} cannot wait: {}", question.method, question.server,
                   kept.error().message);
      none.response = call::Response::none(question.kind, kept.error().message);
      co_return none;
    }
    entry = *kept;
    if (closing_) {  // it waits in the store for the next daemon
      none.response = stopping(question.kind);
      co_return none;
    }
  }
  entry->asker = true;
  if (origin.told) origin.told(entry->row);
  co_return co_await wait(entry, withdrawn);
}

// What is answered by a rule is a row too, and costs the disk a write.
bool Broker::asks_too_often(const std::string& server) {
  if (rates_[server].take(per_minute_, Clock::now())) return false;
  log::info("server {} asks more often than ask.per_server allows", server);
  return true;
}

// Of a daemon before this one, for the same question of the same call.
std::optional<Asked> Broker::known_answer(const std::string& key) {
  if (key.empty()) return std::nullopt;
  const auto found = std::find_if(answers_.begin(), answers_.end(), [&key](const auto& answer) {
    return answer.second.call_key == key;
  });
  if (found == answers_.end()) return std::nullopt;
  Asked asked;
  asked.response = response_of(found->second);
  asked.id = found->second.id;
  log::info("question {} was answered before a restart", asked.id);
  answers_.erase(found);
  return asked;
}

Broker::EntryPtr Broker::waiting_for_nobody(const std::string& key) const {
  if (key.empty()) return nullptr;
  for (const auto& [id, entry] : pending_) {
    if (!entry->asker && !entry->settling && entry->row.call_key == key) return entry;
  }
  return nullptr;
}

Task<Result<Broker::EntryPtr>> Broker::keep(const call::Question& question, const Origin& origin,
                                            std::string key) {
  const std::string& server = question.server;
  const auto of_server = std::count_if(pending_.begin(), pending_.end(), [&](const auto& one) {
    return one.second->row.server == server;
  });
  if (pending_.size() + saving_ >= config_.questions ||
      static_cast<std::size_t>(of_server) + saving_ >= config_.per_server) {
    co_return Error("broker.full", "too many questions wait for an answer already",
                    "answer some, or raise broker.questions and broker.per_server");
  }
  const auto entry = std::make_shared<Entry>();
  entry->row = row_for(question, origin, std::move(key));
  entry->row.expires_at = entry->row.created_at + config_.timeout.count();
  ++saving_;
  Row row = entry->row;
  const Result<void> kept = co_await store_.questions().put(std::move(row));
  --saving_;
  if (!kept) {
    // A write that came too late may be made all the same; whoever asked has an answer by then.
    settle(entry->row, "withdrawn", "cancel", "", {});
    entry->row.used = true;
    entry->row.redrive.clear();
    save(entry->row, {});
    co_return not_kept(kept.error());
  }
  pending_.emplace(entry->row.id, entry);
  const TimePoint expiry = Clock::now() + config_.timeout;
  if (expiry < alarm_.deadline()) alarm_.set(expiry);
  log::info("question {} of server {} waits for an answer: mcpx elicit show {}", entry->row.id,
            server, entry->row.id);
  told("question.created", entry->row);
  co_return entry;
}

Task<Asked> Broker::wait(EntryPtr entry, runtime::CancelSource& withdrawn) {
  const auto subscription = withdrawn.subscribe([this, &entry](const std::string& reason) {
    entry->asker = false;
    if (closing_) return;  // it has its answer, and the question stays for the next daemon
    // An answer that is on its way stays, for whoever asks the same again.
    if (!entry->settling) return end(entry, "withdrawn", reason);
    entry->answer.set(call::Response::none(kind_of(entry->row), reason));
  });
  Asked asked;
  asked.response = co_await entry->answer.wait();
  if (entry->delivered) asked.id = entry->row.id;
  co_return asked;
}

void Broker::release(std::vector<std::string> ids) {
  if (ids.empty()) return;
  home_.post([this, ids = std::move(ids)] {
    for (const std::string& id : ids)
      forget_used(id);
  });
}

void Broker::forget_used(const std::string& id) {
  answers_.erase(id);
  store_.questions().used(id);
  store_.questions().prune(config_.history);
}

// --- Ends

// Without an answer of anybody's. An asker gets what stands for none.
void Broker::end(const EntryPtr& entry, std::string_view state, std::string_view why) {
  if (pending_.erase(entry->row.id) == 0) return;
  call::Response none = call::Response::none(kind_of(entry->row), why);
  settle(entry->row, state, "cancel", state == "expired" ? "expiry" : "", {});
  entry->row.used = true;
  entry->row.redrive.clear();
  save(entry->row, fmt::format("question.{}", state));
  entry->answer.set(std::move(none));
}

void Broker::save(Row row, std::string event) {
  const std::string id = row.id;
  if (!tasks_.spawn("keep a question", save_task(std::move(row), std::move(event)))) {
    log::warning("what became of question {} is not kept", id);
  }
}

// Who is told of it finds it.
Task<void> Broker::save_task(Row row, std::string event) {
  Row copy = row;
  const Result<void> kept = co_await store_.questions().put(std::move(copy));
  static_cast<void>(kept);  // the store has logged it
  if (!event.empty()) told(event, row);
  store_.questions().prune(config_.history);
}

void Broker::told(std::string_view type, const Row& row) {
  events_.add(event_json(type, row));
}

void Broker::sweep() {
  const std::int64_t now = unix_now();
  std::int64_t next = 0;
  std::vector<EntryPtr> late;
  for (const auto& [id, entry] : pending_) {
    if (entry->settling) continue;  // it comes back here if that fails
    if (entry->row.expires_at <= now) {
      late.push_back(entry);
    } else if (next == 0 || entry->row.expires_at < next) {
      next = entry->row.expires_at;
    }
  }
  for (const EntryPtr& entry : late)
    end(entry, "expired", "nobody answered in time");
  std::vector<std::string> unwanted;
  for (const auto& [id, row] : answers_) {
    if (row.expires_at <= now) unwanted.push_back(id);
  }
  for (const std::string& id : unwanted)
    forget_used(id);
  if (next == 0 && answers_.empty() && pending_.empty()) return;
  constexpr std::int64_t kSoonest = 10, kLatest = 60'000;
  const std::int64_t wait = next == 0 ? kLatest : std::clamp(next - now, kSoonest, kLatest);
  alarm_.set(Clock::now() + Milliseconds(wait));
}

void Broker::shut_down() {
  closing_ = true;
  alarm_.clear();
  for (const auto& [id, entry] : pending_) {
    if (!entry->asker) continue;
    entry->asker = false;
    entry->answer.set(stopping(kind_of(entry->row)));
  }
  events_.wake();
}

Task<void> Broker::join() {
  co_await tasks_.join();
}

}  // namespace mcpx::broker
