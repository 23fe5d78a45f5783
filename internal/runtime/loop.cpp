#include "runtime/loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "base/check.hpp"
#include "runtime/readiness.hpp"

namespace mcpx::runtime {
namespace {

constexpr int kEventsAtOnce = 128;
// What is ready may make more ready; after so many rounds of it the descriptors get their turn.
constexpr int kRounds = 16;

// Whose thread this is, so that its own posts need no lock.
thread_local const Loop* running_loop = nullptr;

}  // namespace

Loop::Loop()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  MCPX_CHECK(epoll_ >= 0 && event_ >= 0);
  epoll_event interest{};
  interest.events = EPOLLIN;
  interest.data.ptr = nullptr;  // a Readiness has an address
  MCPX_CHECK(::epoll_ctl(epoll_, EPOLL_CTL_ADD, event_, &interest) == 0);
}

// Chains own what they wait for, and what they wait for owns them: the circle is cut here. Frames
// that go may queue others, as their destructors wake them.
Loop::~Loop() {
  std::vector<Suspended> left;
  for (Readiness* descriptor : watched_) {
    left.push_back(std::move(descriptor->input_.sleeper));
    left.push_back(std::move(descriptor->output_.sleeper));
  }
  for (const auto& [when, alarm] : alarms_) {
    left.push_back(std::move(alarm->sleeper_));
  }
  left.clear();
  take_arrived();
  while (!ready_.empty()) {
    std::exchange(ready_, {}).clear();
  }
  ::close(event_);
  ::close(epoll_);
}

void Loop::run() {
  running_loop = this;
  while (true) {
    run_ready();
    if (finished_.load() && is_idle()) break;
    wait(patience());
    ring();
  }
  running_loop = nullptr;
}

void Loop::run_once() {
  const Loop* const outer = std::exchange(running_loop, this);
  wait(0);
  ring();
  run_ready();
  running_loop = outer;
}

void Loop::finish() {
  finished_.store(true);
  ::eventfd_write(event_, 1);
}

bool Loop::is_current() const {
  return running_loop == this;
}

void Loop::post(std::function<void()> work) {
  if (is_current()) {
    ready_.emplace_back(std::move(work));
    return;
  }
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = arrived_.empty();
    arrived_.push_back(std::move(work));
  }
  if (first) ::eventfd_write(event_, 1);
}

void Loop::run_ready() {
  for (int round = 0; round < kRounds && !ready_.empty(); ++round) {
    running_.swap(ready_);
    for (Item& item : running_) {
      if (item.chain) {
        item.chain.resume();
      } else {
        std::exchange(item.work, nullptr)();
      }
    }
    running_.clear();
  }
}

bool Loop::is_idle() {
  if (work_ != 0 || !alarms_.empty() || !ready_.empty()) return false;
  const std::lock_guard lock(mutex_);
  return arrived_.empty();
}

// How long to wait, in milliseconds as epoll_wait takes them; rounded up, or an alarm that is due
// in less than one would spin.
int Loop::patience() const {
  if (!ready_.empty()) return 0;
  if (alarms_.empty()) return -1;
  const auto left = std::chrono::ceil<Milliseconds>(alarms_.begin()->first - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void Loop::wait(int milliseconds) {
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = ::epoll_wait(epoll_, events.data(), kEventsAtOnce, milliseconds);
  MCPX_CHECK(count >= 0 || errno == EINTR);
  for (int i = 0; i < count; ++i) {
    if (auto* descriptor = static_cast<Readiness*>(events[static_cast<std::size_t>(i)].data.ptr)) {
      descriptor->happened(events[static_cast<std::size_t>(i)].events);
    } else {
      take_arrived();
    }
  }
}

void Loop::take_arrived() {
  eventfd_t ignored = 0;
  ::eventfd_read(event_, &ignored);  // before the queue: a post after it writes again
  std::vector<std::function<void()>> arrived;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
  }
  for (auto& work : arrived) {
    ready_.emplace_back(std::move(work));
  }
}

// One that is set again for a time already past waits for the next round.
void Loop::ring() {
  if (alarms_.empty()) return;
  const TimePoint now = Clock::now();
  for (std::size_t left = alarms_.size(); left > 0 && !alarms_.empty(); --left) {
    const auto [when, alarm] = *alarms_.begin();
    if (when > now) return;
    alarm->ring();
  }
}

void Alarm::set(TimePoint when) {
  clear();
  if (when == kNever) return;
  when_ = when;
  loop_.alarms_.emplace(when, this);
}

void Alarm::clear() {
  if (when_ == kNever) return;
  loop_.alarms_.erase({std::exchange(when_, kNever), this});
}

void Alarm::wake() {
  clear();
  if (sleeper_) loop_.ready(std::exchange(sleeper_, Suspended()));
}

void Alarm::ring() {
  wake();
  if (reached_) reached_();
}

}  // namespace mcpx::runtime
