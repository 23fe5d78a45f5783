// Children: the processes this daemon has started, for a later one to find what was left of them.
//
// A process id alone says nothing after a crash: together with the boot and the time the process
// started it cannot be mistaken. Reached through Store::children(). Thread: any shard; the answer
// comes back to it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "runtime/task.hpp"

namespace mcpx::store {

class Store;

struct ChildRow {
  ChildRow() = default;
  ChildRow(std::string server_, pid_t pid_, std::int64_t start_ticks_, std::string boot_id_);

  std::string server;
  pid_t pid = 0;
  std::int64_t start_ticks = 0;  // field 22 of /proc/PID/stat
  std::string boot_id;           // /proc/sys/kernel/random/boot_id
};

class Children {
 public:
  explicit Children(Store& store) : store_(store) {}

  // Worth waiting for: without it nothing is swept.
  Task<Result<std::vector<ChildRow>>> all();
  Task<Result<void>> put(ChildRow row);
  Task<Result<void>> drop(ChildRow row);
  // Without waiting: a failure is logged by the store. For places that are no coroutine.
  void save(ChildRow row);
  void forget(ChildRow row);

 private:
  Store& store_;
};

}  // namespace mcpx::store
