// TaskGroup: the only way to start a coroutine that nobody awaits.
//
// It counts its tasks, refuses more than its limit, logs an exception that escapes one, and must be
// joined before it dies (style.md C3). It does not cancel: whoever joins first closes the streams,
// timers and mailboxes its tasks wait on. Thread: home shard only.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::runtime {

class TaskGroup {
 public:
  explicit TaskGroup(Shard& shard, std::size_t limit = static_cast<std::size_t>(-1));
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // False (and the task is dropped unstarted) when the limit is reached. `name` is a literal.
  bool spawn(std::string_view name, Task<void> task);
  Task<void> join();
  std::size_t size() const;
  Shard& shard() const { return shard_; }

 private:
  struct State;
  Shard& shard_;
  std::size_t limit_;
  std::shared_ptr<State> state_;
};

}  // namespace mcpx::runtime
