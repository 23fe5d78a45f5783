// Mailbox<T>: a bounded queue from many producers to one consumer, all on one shard. From another
// shard, post a push. After close() the consumer drains what is left, then gets nullopt.
// Thread: home shard only.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "runtime/waiter.hpp"

namespace mcpx::runtime {

template <class T>
class Mailbox {
 public:
  explicit Mailbox(std::size_t limit) : limit_(limit) {}

  // False when full or closed: the producer decides what that means (drop, end the stream, 503).
  bool push(T value) {
    if (closed_ || queue_.size() >= limit_) return false;
    queue_.push_back(std::move(value));
    waiter_.wake();
    return true;
  }

  Task<std::optional<T>> pop() {
    while (queue_.empty() && !closed_) {
      co_await waiter_.wait();
    }
    std::optional<T> value;
    if (!queue_.empty()) {
      value.emplace(std::move(queue_.front()));
      queue_.pop_front();
    }
    co_return value;
  }

  void close() {
    closed_ = true;
    waiter_.wake();
  }
  bool closed() const { return closed_; }
  std::size_t size() const { return queue_.size(); }

 private:
  std::deque<T> queue_;
  std::size_t limit_;
  bool closed_ = false;
  Waiter waiter_;
};

}  // namespace mcpx::runtime
