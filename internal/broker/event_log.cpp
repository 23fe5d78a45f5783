#include "broker/event_log.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "runtime/timer.hpp"

namespace mcpx::broker {
namespace {

std::optional<std::uint64_t> number_of(std::string_view id, std::string_view run) {
  if (id.size() < run.size() + 2 || id.substr(0, run.size()) != run || id[run.size()] != '-') {
    return std::nullopt;
  }
  id.remove_prefix(run.size() + 1);
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (failure != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return number;
}

}  // namespace

void EventLog::add(std::string json) {
  events_.emplace_back(++last_, std::move(json));
  if (events_.size() > kKept) events_.pop_front();
  wake();
}

void EventLog::wake() {
  for (const auto& reader : std::exchange(waiting_, {}))
    reader->set(true);
}

Batch EventLog::batch_after(std::uint64_t number) const {
  Batch batch;
  const std::uint64_t first = events_.empty() ? last_ + 1 : events_.front().first;
  batch.missed = number + 1 < first;
  for (const auto& [at, json] : events_) {
    if (at > number) batch.events.emplace_back(fmt::format("{}-{}", run_, at), json);
  }
  batch.full = waiting_.size() >= kReaders;
  batch.last = fmt::format("{}-{}", run_, last_);
  return batch;
}

Task<Batch> EventLog::after(std::string last, Milliseconds patience) {
  const auto number = last.empty() ? std::optional(last_) : number_of(last, run_);
  if (!number || *number > last_) {
    Batch anew = batch_after(last_);
    anew.missed = true;
    co_return anew;
  }
  if (*number < last_ || patience.count() == 0) co_return batch_after(*number);
  if (waiting_.size() >= kReaders) {  // bounded by who begins; it will be back at once
    Batch full = batch_after(*number);
    co_return full;
  }
  const auto news = std::make_shared<runtime::OneShot<bool>>();
  waiting_.push_back(news);
  runtime::Watchdog late(shard_, [news] { news->set(false); });
  late.set(Clock::now() + patience);
  const bool woken = co_await news->wait();
  if (!woken) std::erase(waiting_, news);
  co_return batch_after(*number);
}

}  // namespace mcpx::broker
