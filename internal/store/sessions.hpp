// Sessions: the legacy sessions of clients, so that an old session id works after a restart.
//
// The key is a digest of the id: who reads the file learns no id that a request could name. What
// is in the texts is the caller's affair. Reached through Store::sessions(). Thread: any shard; the
// answer comes back to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "runtime/task.hpp"

namespace mcpx::store {

class Store;

struct SessionRow {
  static constexpr std::int64_t kNoLevel = -1;

  std::string key;           // SHA-256 of the id, in hexadecimal
  std::string endpoint;      // "" is /mcp
  std::string revision;      // as negotiated
  std::string principal;     // whose it is; empty: the local user
  std::string client_info;   // raw object, or empty
  std::string capabilities;  // of the client: raw object
  bool logs = false;         // the logging capability was advertised to it
  std::int64_t log_level = kNoLevel;
  std::string subscriptions;  // raw array of the URIs it subscribed to, or empty
  std::int64_t used_at = 0;   // Unix milliseconds
};

class Sessions {
 public:
  using Use = std::pair<std::string, std::int64_t>;  // key, used_at

  explicit Sessions(Store& store) : store_(store) {}

  // Those used at `since` or later, the newest first, at most `limit`; the others are removed.
  Task<Result<std::vector<SessionRow>>> load(std::int64_t since, std::size_t limit);
  // A new one, or one that changed. Waits no longer than `at_most`; it may be kept all the same.
  Task<Result<void>> put(SessionRow row, Milliseconds at_most);
  void save(SessionRow row);  // nobody waits
  void used(std::vector<Use> uses);
  void drop(std::string key);

 private:
  Store& store_;
};

}  // namespace mcpx::store
