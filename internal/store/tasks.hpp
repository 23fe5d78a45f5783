// Tasks: calls that became tasks, so that their handles are good after a restart and no result that
// somebody was told of is lost.
//
// The id is kept as it is: a client may ask which it has. What is in the texts is the caller's
// affair. Reached through Store::tasks(). Thread: any shard; the answer comes back to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "runtime/task.hpp"

namespace mcpx::store {

class Store;

struct TaskRow {
  std::string id;
  std::string principal;    // whose it is; empty: the local user
  std::string session;      // of a legacy caller: a digest of its session's id
  std::string endpoint;     // "" is /mcp
  std::string server;       // its name
  std::string kind;         // who does the work: "modern", "legacy" (a task of the server's), "own"
  std::string upstream_id;  // what the server calls it; empty: own
  std::string caller;       // raw object: on whose behalf the server is asked
  std::string status, message;
  std::int64_t created_at = 0, updated_at = 0;  // Unix milliseconds, as the next but two
  std::int64_t ttl_ms = 0, poll_ms = 0;
  std::int64_t expires_at = 0;
  std::string revision;  // of the outcome
  std::string outcome;   // raw result or error; empty until there is one
};

class Tasks {
 public:
  explicit Tasks(Store& store) : store_(store) {}

  // Those that have not expired, the oldest first, without their outcomes; the others are removed.
  Task<Result<std::vector<TaskRow>>> load(std::int64_t now);
  // A new one, or one that changed.
  Task<Result<void>> put(TaskRow row);
  // The raw outcome; empty when there is none.
  Task<Result<std::string>> outcome(std::string id);
  void drop(std::string id);  // nobody waits

 private:
  Store& store_;
};

}  // namespace mcpx::store
