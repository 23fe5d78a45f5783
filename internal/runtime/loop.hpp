// Loop: the event loop of one shard. What is ready runs; then the kernel is asked what became so.
//
// Descriptors are watched by Readiness and times by Alarm (Timer and Watchdog are made of it). Both
// only queue what they wake, so no code of a user runs while events are looked at, and what runs
// may destroy whatever it likes. Destroyed with coroutines that wait for a descriptor or a time, it
// takes their whole chains along.
// Thread: post() and finish() any, everything else the one that runs it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "runtime/task.hpp"

namespace mcpx::runtime {

class Alarm;
class Readiness;

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs until finish() was called and nothing is left: no Work, no Alarm set, nothing queued.
  void run();
  void finish();

  bool is_current() const;  // whether it is this thread that runs it. Any thread

  // Both in the order of their calls, from the loop and never inside the call.
  void post(std::function<void()> work);
  void ready(Suspended chain) { ready_.emplace_back(std::move(chain)); }

  // Awaited: lets everybody else who is ready go first.
  class Turn {
   public:
    explicit Turn(Loop& loop) : loop_(loop) {}
    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> caller) const {
      loop_.ready(Suspended(caller.promise()));
    }
    void await_resume() const noexcept {}

   private:
    Loop& loop_;
  };
  Turn turn() { return Turn(*this); }

  // One round that does not wait: what the kernel and other threads have, and all that is ready.
  void run_once();

  // Keeps run() from ending while it exists.
  class Work {
   public:
    explicit Work(Loop& loop) : loop_(loop) { ++loop_.work_; }
    ~Work() { --loop_.work_; }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    Loop& loop_;
  };

 private:
  friend class Alarm;
  friend class Readiness;
  struct Item {
    explicit Item(Suspended chain_in) : chain(std::move(chain_in)) {}
    explicit Item(std::function<void()> work_in) : work(std::move(work_in)) {}
    Suspended chain;
    std::function<void()> work;  // when there is no chain
  };
  using Alarms = std::set<std::pair<TimePoint, Alarm*>>;

  bool is_idle();
  void run_ready();
  int patience() const;
  void wait(int milliseconds);
  void take_arrived();
  void ring();

  int epoll_;
  int event_;  // an eventfd: another thread has posted something
  std::vector<Item> ready_;
  std::vector<Item> running_;
  Alarms alarms_;
  std::set<Readiness*> watched_;
  std::size_t work_ = 0;
  std::atomic<bool> finished_ = false;
  std::mutex mutex_;
  std::vector<std::function<void()>> arrived_;  // guarded by mutex_
};

// Alarm: one point in time at which the loop calls back or resumes who sleeps. Owned by one object
// of the loop's thread; destroying it clears it.
class Alarm {
 public:
  explicit Alarm(Loop& loop, std::function<void()> reached = {})
      : loop_(loop), reached_(std::move(reached)) {}
  ~Alarm() { clear(); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  void set(TimePoint when);  // moves it when it is set already
  void clear();

  // Suspends until the time that was set, or wake().
  class Sleep {
   public:
    explicit Sleep(Alarm& alarm) : alarm_(alarm) {}
    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> caller) const {
      alarm_.sleeper_ = Suspended(caller.promise());
    }
    void await_resume() const noexcept {}

   private:
    Alarm& alarm_;
  };
  Sleep sleep() { return Sleep(*this); }
  void wake();

 private:
  friend class Loop;
  void ring();

  Loop& loop_;
  std::function<void()> reached_;
  Suspended sleeper_;
  TimePoint when_ = kNever;
};

}  // namespace mcpx::runtime
