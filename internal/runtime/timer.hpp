// Timer: sleep that can be cut short; Watchdog: a deadline that moves cheaply.
//
// A Watchdog stores a time point and re-checks when its one alarm rings, so moving the
// deadline on every read costs a store (style.md C5). Thread: home shard only.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::runtime {

class Timer {
 public:
  explicit Timer(Shard& shard);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // True if the time was reached, false if cancel() came first (a cancel before the wait counts).
  Task<bool> sleep_until(TimePoint when);
  Task<bool> sleep_for(Duration time);
  void cancel();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class Watchdog {
 public:
  // `expired` runs on the shard, once per set() that was not moved or cleared in time.
  Watchdog(Shard& shard, std::function<void()> expired);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void set(TimePoint deadline);
  void clear();
  TimePoint deadline() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with the alarm's call, which may outlive us
};

}  // namespace mcpx::runtime
