// Catalogues: the last good lists of each server, so that a restart can serve them at once.
//
// One row per server: a catalogue read under another configuration is not found. What is in
// `facts` and `lists` is the caller's affair. Reached through Store::catalogues(). Thread: any
// shard; the answer comes back to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "runtime/task.hpp"

namespace mcpx::store {

class Store;

struct CatalogueRow {
  CatalogueRow() = default;
  CatalogueRow(std::string server_, std::string digest_, std::string facts_, std::string lists_,
               std::int64_t saved_at_);

  std::string server;         // its name: the key
  std::string digest;         // of the configuration it was read under
  std::string facts;          // what the handshake told
  std::string lists;          // the four lists
  std::int64_t saved_at = 0;  // Unix seconds
};

class Catalogues {
 public:
  explicit Catalogues(Store& store) : store_(store) {}

  Task<Result<std::optional<CatalogueRow>>> find(std::string server, std::string digest);
  Task<Result<void>> put(CatalogueRow row);
  Task<Result<void>> drop(std::string server);

 private:
  Store& store_;
};

}  // namespace mcpx::store
