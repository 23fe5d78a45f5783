// Waiter: a place where one coroutine sleeps until somebody on the same shard wakes it.
//
// The building block of OneShot and Mailbox. A wake before the wait is remembered, so none is lost.
// The resumption is posted, never run inside wake(). Owned by one object; destroying it with a
// coroutine inside is a bug of the owner. Thread: home shard only.
#pragma once

#include <memory>

#include "runtime/task.hpp"

namespace mcpx::runtime {

class Waiter {
 public:
  Waiter();
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  Task<void> wait();
  void wake();

 private:
  struct Pending;
  std::unique_ptr<Pending> pending_;
  bool woken_ = false;
};

}  // namespace mcpx::runtime
