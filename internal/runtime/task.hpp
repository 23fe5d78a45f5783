// Task<T>: the coroutine type of mcpx. It starts when it is awaited and is awaited once.
//
// Rules for writing one (style.md C1-C6, enforced by test/lint/coroutine_shapes.py): one co_await
// per statement, never in a condition, never beside a braced initialiser, a `?:` or a capturing
// lambda: g++ 12 miscompiles those silently. A Task never throws across a room: it answers a
// Result. Ownership: a caller's frame owns the frames it awaits; what a suspended chain waits for
// (a Readiness, an Alarm, a Waiter) owns the chain. Thread: the home shard of the object it belongs
// to.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace mcpx {

template <class T = void>
class Task;

namespace runtime {

// What every promise of ours begins with.
struct Promise {
  std::coroutine_handle<> frame;
  Promise* caller = nullptr;  // who awaits this one; null: the root of its chain
};

// The frame the loop in resume() goes on with. A frame that awaits another, or ends, names it here
// and returns, so chains of any length and loops over tasks that never wait use no stack. g++ does
// the same by symmetric transfer only when it optimises.
constinit inline thread_local std::coroutine_handle<> next_frame;

inline void resume(std::coroutine_handle<> frame) {
  while (frame) {
    frame.resume();
    frame = std::exchange(next_frame, nullptr);
  }
}

// A chain of coroutines whose innermost one waits. Whoever is to resume it owns it: destroyed
// unresumed, when an event loop ends with work left, it takes the whole chain with it.
class Suspended {
 public:
  Suspended() = default;
  explicit Suspended(Promise& innermost) : innermost_(&innermost) {}
  Suspended(Suspended&& other) noexcept : innermost_(std::exchange(other.innermost_, nullptr)) {}
  Suspended& operator=(Suspended&& other) noexcept {
    std::swap(innermost_, other.innermost_);
    return *this;
  }
  ~Suspended() {
    if (innermost_) abandon();
  }

  explicit operator bool() const { return innermost_ != nullptr; }
  // Runs it on the calling thread until it waits again or ends.
  void resume() { runtime::resume(std::exchange(innermost_, nullptr)->frame); }

 private:
  void abandon() {
    Promise* root = innermost_;
    while (root->caller)
      root = root->caller;
    root->frame.destroy();
  }

  Promise* innermost_ = nullptr;
};

struct ResumeCaller {
  bool await_ready() const noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> ended) const noexcept {
    next_frame = ended.promise().caller->frame;
  }
  void await_resume() const noexcept {}
};

template <class T>
struct TaskResult {
  template <class U>
  void return_value(U&& value) {
    result.emplace(std::forward<U>(value));
  }
  T take() { return std::move(*result); }
  std::optional<T> result;
};

template <>
struct TaskResult<void> {
  void return_void() {}
  void take() {}
};

template <class T>
struct TaskPromise : Promise, TaskResult<T> {
  Task<T> get_return_object();
  std::suspend_always initial_suspend() const noexcept { return {}; }
  ResumeCaller final_suspend() const noexcept { return {}; }
  void unhandled_exception() { failure = std::current_exception(); }

  std::exception_ptr failure;
};

}  // namespace runtime

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = runtime::TaskPromise<T>;

  Task() = default;
  explicit Task(promise_type& promise) : promise_(&promise) {}
  Task(Task&& other) noexcept : promise_(std::exchange(other.promise_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(promise_, other.promise_);
    return *this;
  }
  ~Task() { destroy(); }

  bool await_ready() const noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> caller) noexcept {
    promise_->caller = &caller.promise();
    runtime::next_frame = promise_->frame;
  }
  T await_resume() {
    const Task ended = std::move(*this);  // its frame, parameters included, ends with the await
    if (ended.promise_->failure) std::rethrow_exception(ended.promise_->failure);
    return ended.promise_->take();
  }

 private:
  void destroy() {
    if (promise_) promise_->frame.destroy();
  }

  promise_type* promise_ = nullptr;
};

template <class T>
Task<T> runtime::TaskPromise<T>::get_return_object() {
  frame = std::coroutine_handle<TaskPromise>::from_promise(*this);
  return Task<T>(*this);
}

}  // namespace mcpx
