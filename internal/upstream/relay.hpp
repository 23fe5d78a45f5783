// Relay: what a server says while it works on one call, on its way to the caller.
//
// One per forwarded call, made on the link's side and living as long as the call is in flight.
// Progress is passed on when it increases, at most so fast; what came too fast is replaced by
// newer, and the last of it goes out just before the answer, so that the caller sees where the work
// ended. Whether the caller asked for progress or not, progress is a sign of life that moves the
// deadline on. Thread: the shard on which the call is forwarded; what is passed on is posted to the
// caller's.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "call/call.hpp"
#include "json/json.hpp"

namespace mcpx::upstream {

struct Forward;

class Relay {
 public:
  // So many notifications at once, then one each interval: 16 a second.
  static constexpr int kBurst = 32;
  static constexpr Clock::duration kInterval = std::chrono::microseconds(62'500);

  explicit Relay(const Forward& forward);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // The params of a notifications/progress for this call. True when it counts as progress: it is
  // more than the last one, and the call is still open. Then deadline() may have moved.
  bool progress(json::Raw params, TimePoint now);
  // The params of a notifications/message for this call.
  void log(json::Raw params);

  // A whole notification of an extension. True if it goes to the caller.
  bool pass(const std::string& json);

  // While its caller is asked something the call's time stands still.
  void hold(TimePoint now) { held_since_ = now; }
  void go_on(TimePoint now);

  TimePoint deadline() const { return held_since_ ? kNever : deadline_; }
  const call::Call& call() const { return call_; }

  void finish();  // the answer is there: what was held back first, then nothing more
  void close();   // the caller gave up: nothing more

 private:
  bool is_news(json::Raw number);
  void deliver(std::string json) const;

  const call::Call& call_;
  TimePoint deadline_;
  Milliseconds timeout_;
  TimePoint latest_;
  std::optional<TimePoint> held_since_;
  TimePoint full_at_{};  // when the allowance for a burst is whole again
  std::string last_;     // the number of the last progress; empty: none yet
  std::string* told_;    // of an earlier attempt at the call too; may be null
  std::string held_;     // a notification that came too fast; empty: none
  bool open_ = true;
};

// How severe a level of logging is, "debug" least; an unknown one is more severe than any.
std::size_t severity(std::string_view level);

// The level of logging that was asked of one legacy server (2025-11-25 server/utilities/logging):
// the least that any caller wants, because a session has one level for all. Thread: any.
class AskedLevel {
 public:
  // True when `level` is lower than any before, so that the server has to be told. An empty or
  // unknown one never is.
  bool lower_to(std::string_view level);

 private:
  std::atomic<std::size_t> lowest_{severity({})};
};

}  // namespace mcpx::upstream
