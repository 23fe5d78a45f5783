// Guarded<T>: a value that is only reached with its mutex held, and a wake-up for one that waits
// for it to change. For the seam between the shards and the store's thread, nowhere else: protocol
// code has no mutex. Thread: any.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

namespace mcpx::store {

template <class T>
class Guarded {
 public:
  template <class Function>
  auto with(Function&& function) {
    const std::lock_guard lock(mutex_);
    return std::forward<Function>(function)(value_);
  }
  // Runs `function` once `ready` holds; change() may make it so.
  template <class Ready, class Function>
  auto when(Ready&& ready, Function&& function) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready(value_); });
    return std::forward<Function>(function)(value_);
  }
  template <class Function>
  auto change(Function&& function) {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();  // who is woken still has to wait for the lock
    return std::forward<Function>(function)(value_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  T value_;
};

}  // namespace mcpx::store
