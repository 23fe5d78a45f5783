#include "runtime/timer.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <utility>

#include "runtime/operation.hpp"

namespace mcpx::runtime {
namespace {

using SteadyTimer =
    boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor>;

}  // namespace

struct Timer::Impl {
  explicit Impl(Shard& shard) : timer(shard.executor()) {}
  SteadyTimer timer;
  bool cancelled = false;
};

Timer::Timer(Shard& shard) : impl_(std::make_unique<Impl>(shard)) {}
Timer::~Timer() = default;

Task<bool> Timer::sleep_until(TimePoint when) {
  if (!impl_->cancelled) {
    impl_->timer.expires_at(when);
    auto waiting = operation(impl_->timer.async_wait(boost::asio::deferred));
    auto [failure] = co_await std::move(waiting);
    static_cast<void>(failure);  // only a cancel, which the flag below tells
  }
  co_return !std::exchange(impl_->cancelled, false);
}

Task<bool> Timer::sleep_for(Duration time) {
  return sleep_until(Clock::now() + time);
}

void Timer::cancel() {
  impl_->cancelled = true;
  impl_->timer.cancel();
}

struct Watchdog::Impl : std::enable_shared_from_this<Watchdog::Impl> {
  Impl(Shard& shard, std::function<void()> expired_in)
      : timer(shard.executor()), expired(std::move(expired_in)) {}

  void arm(TimePoint when) {
    armed = when;
    timer.expires_at(when);  // also cancels a wait that is out: its handler finds `armed` moved
    timer.async_wait([self = shared_from_this(), when](boost::system::error_code failure) {
      if (failure || self->armed != when) return;
      self->armed = kNever;
      self->fired();
    });
  }

  void fired() {
    if (deadline == kNever) return;
    if (Clock::now() < deadline) return arm(deadline);
    deadline = kNever;
    if (expired) expired();
  }

  SteadyTimer timer;
  std::function<void()> expired;
  TimePoint deadline = kNever;
  TimePoint armed = kNever;
};

Watchdog::Watchdog(Shard& shard, std::function<void()> expired)
    : impl_(std::make_shared<Impl>(shard, std::move(expired))) {}

Watchdog::~Watchdog() {
  impl_->expired = nullptr;
  impl_->deadline = kNever;
  impl_->armed = kNever;
  impl_->timer.cancel();
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
