// Waiter: a place where one coroutine sleeps until somebody on the same shard wakes it.
//
// The building block of OneShot and Mailbox. A wake before the wait is remembered, so none is lost.
// The resumption is posted, never run inside wake(). Owned by one object; destroying it with a
// coroutine inside is a bug of the owner. Thread: home shard only.
#pragma once

#include <utility>

#include "base/check.hpp"
#include "runtime/task.hpp"

namespace mcpx::runtime {

class Waiter {
 public:
  // What wait() answers; only to be awaited.
  class Sleep {
   public:
    explicit Sleep(Waiter& waiter) : waiter_(waiter) {}
    bool await_ready() const noexcept { return std::exchange(waiter_.woken_, false); }
    template <class P>
    void await_suspend(std::coroutine_handle<P> caller) const {
      MCPX_CHECK(!waiter_.sleeper_);
      waiter_.sleeper_ = Suspended(caller.promise());
    }
    void await_resume() const noexcept {}

   private:
    Waiter& waiter_;
  };

  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  Sleep wait() { return Sleep(*this); }
  void wake();

 private:
  Suspended sleeper_;
  bool woken_ = false;
};

}  // namespace mcpx::runtime
