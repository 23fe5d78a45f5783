// start: a Task that nobody awaits. For TaskGroup and run_on; everybody else uses those.
// Thread: the shard it is to run on, or start-up.
#pragma once

#include <exception>
#include <functional>

#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::runtime {

// Runs `task` on `shard`, at once if that is the current one, and keeps the shard from running dry
// until it ended; then `ended` hears what it threw, if anything.
void start(Shard& shard, Task<void> task, std::function<void(std::exception_ptr)> ended);
// The same for a task that does not throw.
void start(Shard& shard, Task<void> task);

}  // namespace mcpx::runtime
