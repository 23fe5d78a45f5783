// Eras: which era each server was found to speak, so that a restart need not probe it again.
//
// The key is a digest of the server's configuration, made by whoever asks: an answer holds for a
// configuration, not for a name. At most one row is kept per server. Reached through
// Store::eras(). Thread: any shard; the answer comes back to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "runtime/task.hpp"

namespace mcpx::store {

class Store;

struct EraRow {
  // With constructors, so that a temporary may stand in a co_await statement (style.md C1).
  EraRow() = default;
  EraRow(std::string digest_, std::string server_, std::string era_, std::string revision_,
         std::int64_t saved_at_);

  std::string digest;         // of the configuration: the key
  std::string server;         // its name, by which keep_only() decides
  std::string era;            // as the caller spells it
  std::string revision;       // "2025-11-25"
  std::int64_t saved_at = 0;  // Unix seconds
};

class Eras {
 public:
  explicit Eras(Store& store) : store_(store) {}

  Task<Result<std::optional<EraRow>>> find(std::string digest);
  Task<Result<void>> put(EraRow row);
  Task<Result<void>> drop(std::string digest);  // it was refuted

 private:
  Store& store_;
};

}  // namespace mcpx::store
