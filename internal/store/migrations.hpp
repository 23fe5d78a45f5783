// The schema as numbered steps, each from one version to the next. A step that was ever released is
// never edited: a change of the schema is a new step. Private to the room. Thread: any.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace mcpx::store {

class Database;

// In the header of every file of ours ("mcpx" in ASCII): PRAGMA application_id.
inline constexpr std::int64_t kApplicationId = 0x6d637078;

struct Migration {
  std::int64_t number;  // PRAGMA user_version once it is done
  const char* sql;
};

std::span<const Migration> migrations();
std::int64_t latest_schema();

// Takes a database from schema `from` to the latest, each step in a transaction of its own.
Result<void> migrate(Database& database, std::int64_t from);

}  // namespace mcpx::store
