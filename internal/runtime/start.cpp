#include "runtime/start.hpp"

#include <memory>
#include <utility>

#include "base/check.hpp"
#include "runtime/loop.hpp"

namespace mcpx::runtime {
namespace {

// The root of a chain: nobody awaits it, its frame ends with it.
struct Root {
  struct promise_type : Promise {
    Root get_return_object() {
      frame = std::coroutine_handle<promise_type>::from_promise(*this);
      return Root{*this};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const {}
    void unhandled_exception() const { std::terminate(); }
  };
  promise_type& promise;
};

Root root_of(Task<void> task, std::function<void(std::exception_ptr)> ended, Loop& loop) {
  const Loop::Work work(loop);
  std::exception_ptr failure;
  try {
    co_await std::move(task);
  } catch (...) {
    failure = std::current_exception();
  }
  ended(failure);
}

}  // namespace

void start(Shard& shard, Task<void> task, std::function<void(std::exception_ptr)> ended) {
  const Root root = root_of(std::move(task), std::move(ended), shard.loop());
  if (shard.is_current()) return Suspended(root.promise).resume();
  const auto chain = std::make_shared<Suspended>(root.promise);  // std::function copies
  shard.post([chain] { chain->resume(); });
}

void start(Shard& shard, Task<void> task) {
  start(shard, std::move(task), [](std::exception_ptr failure) { MCPX_CHECK(!failure); });
}

}  // namespace mcpx::runtime
