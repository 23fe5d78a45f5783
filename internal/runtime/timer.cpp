#include "runtime/timer.hpp"

#include <atomic>
#include <utility>

#include "runtime/loop.hpp"

namespace mcpx::runtime {

struct Timer::Impl {
  explicit Impl(Shard& shard) : alarm(shard.loop()) {}
  Alarm alarm;
  bool cancelled = false;
};

Timer::Timer(Shard& shard) : impl_(std::make_unique<Impl>(shard)) {}
Timer::~Timer() = default;

Task<bool> Timer::sleep_until(TimePoint when) {
  if (!impl_->cancelled) {
    impl_->alarm.set(when);
    co_await impl_->alarm.sleep();
  }
  co_return !std::exchange(impl_->cancelled, false);
}

Task<bool> Timer::sleep_for(Duration time) {
  return sleep_until(Clock::now() + time);
}

void Timer::cancel() {
  impl_->cancelled = true;
  impl_->alarm.wake();
}

struct Watchdog::Impl : std::enable_shared_from_this<Watchdog::Impl> {
  Impl(Shard& shard, std::function<void()> expired_in)
      : loop(shard.loop()), alarm(loop, [this] { fired(); }), expired(std::move(expired_in)) {}

  void arm(TimePoint when) {
    armed = when;
    alarm.set(when);
  }

  void fired() {
    const auto self = shared_from_this();  // `expired` may destroy its Watchdog
    armed = kNever;
    if (deadline == kNever) return;
    if (Clock::now() < deadline) return arm(deadline);
    deadline = kNever;
    if (expired && !gone.load()) expired();
  }

  void end() {
    deadline = kNever;
    alarm.clear();
  }

  Loop& loop;
  Alarm alarm;
  std::function<void()> expired;
  TimePoint deadline = kNever;
  TimePoint armed = kNever;
  std::atomic<bool> gone = false;  // and with it whoever `expired` is about
};

Watchdog::Watchdog(Shard& shard, std::function<void()> expired)
    : impl_(std::make_shared<Impl>(shard, std::move(expired))) {}

// What belongs to many shards is destroyed by one of them, at the end.
Watchdog::~Watchdog() {
  if (impl_->loop.is_current()) {
    impl_->end();
  } else {
    impl_->gone.store(true);
    impl_->loop.post([impl = impl_] { impl->end(); });
  }
}

void Watchdog::set(TimePoint deadline) {
  impl_->deadline = deadline;
  if (deadline < impl_->armed) impl_->arm(deadline);
}

void Watchdog::clear() {
  impl_->deadline = kNever;
}
TimePoint Watchdog::deadline() const {
  return impl_->deadline;
}

}  // namespace mcpx::runtime
