// Runs one coroutine on a shard of its own until everything it started has ended.
// For tests of rooms that need an event loop.
#pragma once

#include <exception>
#include <functional>

#include "runtime/shard.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::test {

inline Task<void> run_body(std::function<Task<void>(runtime::Shard&)> body, runtime::Shard& shard,
                           std::exception_ptr& failure) {
  try {
    Task<void> task = body(shard);
    co_await std::move(task);
  } catch (...) {
    failure = std::current_exception();  // a failed REQUIRE: thrown again on the test's thread
  }
}

inline void on_shard(std::function<Task<void>(runtime::Shard&)> body) {
  runtime::Shard shard(0);
  std::exception_ptr failure;
  {
    runtime::TaskGroup group(shard);
    group.spawn("test", run_body(std::move(body), shard, failure));
    shard.finish();
    shard.run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mcpx::test
