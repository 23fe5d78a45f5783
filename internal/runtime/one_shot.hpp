// OneShot<T>: one value, set once, awaited by one coroutine. Later sets are ignored, so a reply, a
// deadline and a shutdown may race for it. Thread: home shard only.
#pragma once

#include <optional>
#include <utility>

#include "runtime/waiter.hpp"

namespace mcpx::runtime {

template <class T>
class OneShot {
 public:
  // True if this call decided the value.
  bool set(T value) {
    if (value_ || taken_) return false;
    value_.emplace(std::move(value));
    waiter_.wake();
    return true;
  }
  bool is_set() const { return value_.has_value() || taken_; }

  Task<T> wait() {
    while (!value_) {
      co_await waiter_.wait();
    }
    taken_ = true;
    T value = std::move(*value_);
    value_.reset();
    co_return value;
  }

 private:
  std::optional<T> value_;
  bool taken_ = false;
  Waiter waiter_;
};

// Latch: any number of coroutines wait until it opens; it stays open. Thread: home shard only.
class Latch {
 public:
  Latch();
  ~Latch();
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  void open();
  bool is_open() const { return open_; }
  Task<void> wait();

 private:
  struct Sleepers;
  std::unique_ptr<Sleepers> sleepers_;
  bool open_ = false;
};

}  // namespace mcpx::runtime
