// Seals: the keys that requestState is sealed with, and which of those that hold nothing but
// themselves were used already.
//
// Reached through Store::seals(). Thread: any shard; the answer comes back to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "runtime/task.hpp"

namespace mcpx::store {

class Store;

struct SealKeyRow {
  std::string id;         // names it in what it sealed
  std::string secret;     // hexadecimal
  std::int64_t from = 0;  // Unix milliseconds: used for sealing since
};

class Seals {
 public:
  explicit Seals(Store& store) : store_(store) {}

  // Those of the file when another daemon has it: only that one makes new ones.
  Task<Result<std::vector<SealKeyRow>>> keys();
  // True for the daemon that makes them.
  bool makes_keys() const;
  Task<Result<void>> add_key(SealKeyRow row, std::int64_t forget_before);
  // True the first time for that digest. Forgets those that expired before `now`.
  Task<Result<bool>> spend(std::string digest, std::int64_t expiry, std::int64_t now);

 private:
  Store& store_;
};

}  // namespace mcpx::store
