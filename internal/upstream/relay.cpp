#include "upstream/relay.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "upstream/hop.hpp"
#include "upstream/link.hpp"

namespace mcpx::upstream {
namespace {

// Least severe first (RFC 5424, as the specification's LoggingLevel lists them).
constexpr std::array<std::string_view, 8> kLogLevels = {"debug", "info",     "notice", "warning",
                                                        "error", "critical", "alert",  "emergency"};

// A number of more characters is no measure of progress; comparing it would cost what it weighs.
constexpr std::size_t kNumberLength = 64;

}  // namespace

std::size_t severity(std::string_view level) {
  const auto at = std::find(kLogLevels.begin(), kLogLevels.end(), level);
  return static_cast<std::size_t>(at - kLogLevels.begin());
}

bool AskedLevel::lower_to(std::string_view level) {
  const std::size_t wanted = severity(level);
  std::size_t lowest = lowest_.load(std::memory_order_relaxed);
  while (wanted < lowest) {
    if (lowest_.compare_exchange_weak(lowest, wanted, std::memory_order_relaxed)) return true;
  }
  return false;
}

Relay::Relay(const Forward& forward)
    : call_(forward.call),
      deadline_(forward.deadline),
      timeout_(forward.timeout),
      latest_(forward.latest),
      told_(forward.told) {}

// A call that is made a second time begins its progress anew, but to its caller it is one call.
bool Relay::is_news(json::Raw number) {
  if (!told_) return true;
  if (!told_->empty()) {
    const auto more = json::compare_numbers(number, *told_);
    if (!more || *more <= 0) return false;
  }
  *told_ = number;
  return true;
}

bool Relay::progress(json::Raw params, TimePoint now) {
  if (!open_) return false;
  const json::Raw number = json::find(params, "progress").value_or(json::Raw());
  if (number.size() > kNumberLength) return false;
  const auto more = json::compare_numbers(number, last_.empty() ? number : json::Raw(last_));
  if (!more || (!last_.empty() && *more <= 0)) return false;
  last_ = number;
  // What is far off may not be added to (kNever, a timeout of a week).
  if (latest_ > now) {
    deadline_ = std::max(deadline_, latest_ - now > timeout_ ? now + timeout_ : latest_);
  }

  if (!call_.caller.sink || call_.caller.progress_token.empty()) return true;
  if (!is_news(number)) return true;
  std::string json = progress_for(call_.caller, params);
  full_at_ = std::max(full_at_, now);
  if (full_at_ - now > (kBurst - 1) * kInterval) {
    held_ = std::move(json);
    return true;
  }
  full_at_ += kInterval;
  held_.clear();
  deliver(std::move(json));
  return true;
}

void Relay::go_on(TimePoint now) {
  if (!held_since_) return;
  const Clock::duration asked = now - *held_since_;
  held_since_.reset();
  if (deadline_ != kNever) deadline_ += asked;
  if (latest_ != kNever) latest_ += asked;
}

void Relay::log(json::Raw params) {
  if (open_ && wants_log(call_.caller, params)) deliver(log_message_for(call_.caller, params));
}

bool Relay::pass(const std::string& json) {
  if (!open_ || !call_.caller.passes_through || !call_.caller.sink) return false;
  deliver(json);
  return true;
}

void Relay::finish() {
  if (open_ && !held_.empty()) deliver(std::move(held_));
  close();
}

void Relay::close() {
  open_ = false;
  held_.clear();
}

void Relay::deliver(std::string json) const {
  const call::Caller& caller = call_.caller;
  if (!caller.shard || caller.shard->is_current()) return caller.sink->notify(std::move(json));
  caller.shard->post(
      [sink = caller.sink, text = std::move(json)]() mutable { sink->notify(std::move(text)); });
}

}  // namespace mcpx::upstream
