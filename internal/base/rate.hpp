// Rate: how often something happened lately, told by one number (a token bucket, the "generic cell
// rate algorithm"). It bounds, and orders nothing. Thread: any.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "base/clock.hpp"

namespace mcpx {

class Rate {
 public:
  // True, and counted, unless it happened `per_minute` times within the last minute; 0: always.
  bool take(std::size_t per_minute, TimePoint now) {
    if (per_minute == 0) return true;
    const Clock::rep minute = std::chrono::duration_cast<Duration>(std::chrono::minutes(1)).count();
    const Clock::rep interval = minute / static_cast<Clock::rep>(per_minute);
    const Clock::rep at = now.time_since_epoch().count();
    Clock::rep full = full_at_.load(std::memory_order_relaxed);
    while (true) {
      const Clock::rep next = std::max(full, at) + interval;
      if (next - at > minute) return false;
      if (full_at_.compare_exchange_weak(full, next, std::memory_order_relaxed)) return true;
    }
  }

 private:
  std::atomic<Clock::rep> full_at_{0};  // when nothing of it counts any more
};

}  // namespace mcpx
