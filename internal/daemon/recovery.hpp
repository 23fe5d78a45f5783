// What a start finds of an earlier daemon that was killed: the processes it has left.
// Thread: startup, on the first shard.
#pragma once

#include "runtime/shard.hpp"
#include "runtime/task.hpp"
#include "store/store.hpp"

namespace mcpx::daemon {

// Ends them and forgets their records. Its first job for the store must be queued before this
// daemon records children of its own.
Task<void> end_left_children(runtime::Shard& shard, store::Store& store);

}  // namespace mcpx::daemon
