#include "store/migrations.hpp"

#include <fmt/core.h>

#include <array>
#include <string>

#include "store/database.hpp"

namespace mcpx::store {
namespace {

constexpr std::array kMigrations = {
    Migration{1,
              "CREATE TABLE eras ("
              "  digest TEXT PRIMARY KEY,"
              "  server TEXT NOT NULL,"
              "  era TEXT NOT NULL,"
              "  revision TEXT NOT NULL,"
              "  saved_at INTEGER NOT NULL"
              ") STRICT, WITHOUT ROWID;"
              "CREATE INDEX eras_by_server ON eras (server);"
              "CREATE TABLE catalogues ("
              "  server TEXT PRIMARY KEY,"
              "  digest TEXT NOT NULL,"
              "  facts TEXT NOT NULL,"
              "  lists TEXT NOT NULL,"
              "  saved_at INTEGER NOT NULL"
              ") STRICT;"},
    // Processes that an earlier daemon may have left. `start_ticks` is field 22 of
    // /proc/PID/stat: with the boot it makes a process id unmistakable.
    Migration{2,
              "CREATE TABLE children ("
              "  pid INTEGER NOT NULL,"
              "  start_ticks INTEGER NOT NULL,"
              "  boot_id TEXT NOT NULL,"
              "  server TEXT NOT NULL,"
              "  PRIMARY KEY (pid, start_ticks, boot_id)"
              ") STRICT, WITHOUT ROWID;"},
    // Legacy sessions, by a digest of their id.
    Migration{3,
              "CREATE TABLE sessions ("
              "  key TEXT PRIMARY KEY,"
              "  endpoint TEXT NOT NULL,"
              "  revision TEXT NOT NULL,"
              "  principal TEXT NOT NULL,"
              "  client_info TEXT NOT NULL,"
              "  capabilities TEXT NOT NULL,"
              "  logs INTEGER NOT NULL,"
              "  log_level INTEGER NOT NULL,"
              "  subscriptions TEXT NOT NULL,"
              "  used_at INTEGER NOT NULL"
              ") STRICT, WITHOUT ROWID;"
              "CREATE INDEX sessions_by_use ON sessions (used_at);"},
    // What requestState is sealed with; and those used, by digest, that no call waits for.
    Migration{4,
              "CREATE TABLE seal_keys ("
              "  id TEXT PRIMARY KEY,"
              "  secret TEXT NOT NULL,"
              "  used_from INTEGER NOT NULL"
              ") STRICT, WITHOUT ROWID;"
              "CREATE TABLE spent_states ("
              "  digest TEXT PRIMARY KEY,"
              "  expires_at INTEGER NOT NULL"
              ") STRICT, WITHOUT ROWID;"
              "CREATE INDEX spent_by_expiry ON spent_states (expires_at);"},
    // Questions for whoever can answer them, and who did.
    Migration{5,
              "CREATE TABLE questions ("
              "  id TEXT PRIMARY KEY,"
              "  state TEXT NOT NULL,"
              "  server TEXT NOT NULL,"
              "  target TEXT NOT NULL,"
              "  method TEXT NOT NULL,"
              "  kind TEXT NOT NULL,"
              "  params TEXT NOT NULL,"
              "  call_key TEXT NOT NULL,"
              "  principal TEXT NOT NULL,"
              "  client TEXT NOT NULL,"
              "  redrive TEXT NOT NULL,"
              "  created_at INTEGER NOT NULL,"
              "  expires_at INTEGER NOT NULL,"
              "  action TEXT NOT NULL,"
              "  result TEXT NOT NULL,"
              "  error TEXT NOT NULL,"
              "  answered_at INTEGER NOT NULL,"
              "  surface TEXT NOT NULL,"
              "  answered_by TEXT NOT NULL,"
              "  used INTEGER NOT NULL"
              ") STRICT;"
              "CREATE INDEX questions_by_state ON questions (state, created_at);"},
    // Calls that became tasks, and what came of them.
    Migration{6,
              "CREATE TABLE tasks ("
              "  id TEXT PRIMARY KEY,"
              "  principal TEXT NOT NULL,"
              "  session TEXT NOT NULL,"
              "  endpoint TEXT NOT NULL,"
              "  server TEXT NOT NULL,"
              "  kind TEXT NOT NULL,"
              "  upstream_id TEXT NOT NULL,"
              "  caller TEXT NOT NULL,"
              "  status TEXT NOT NULL,"
              "  message TEXT NOT NULL,"
              "  created_at INTEGER NOT NULL,"
              "  updated_at INTEGER NOT NULL,"
              "  ttl_ms INTEGER NOT NULL,"
              "  poll_ms INTEGER NOT NULL,"
              "  expires_at INTEGER NOT NULL,"
              "  revision TEXT NOT NULL,"
              "  outcome TEXT NOT NULL"
              ") STRICT, WITHOUT ROWID;"
              "CREATE INDEX tasks_by_expiry ON tasks (expires_at);"},
};

Result<void> apply(Database& database, const Migration& migration) {
  const std::string numbers = fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};",
                                          kApplicationId, migration.number);
  for (const char* sql : {"BEGIN IMMEDIATE", migration.sql, numbers.c_str(), "COMMIT"}) {
    Result<void> done = database.execute(sql);
    if (done) continue;
    Error error = done.error();
    if (database.in_transaction()) static_cast<void>(database.execute("ROLLBACK"));
    error.message = fmt::format("schema step {}: {}", migration.number, error.message);
    return error;
  }
  return {};
}

}  // namespace

std::span<const Migration> migrations() {
  return kMigrations;
}

std::int64_t latest_schema() {
  return kMigrations.back().number;
}

Result<void> migrate(Database& database, std::int64_t from) {
  for (const Migration& migration : kMigrations) {
    if (migration.number <= from) continue;
    if (Result<void> applied = apply(database, migration); !applied) return applied;
  }
  return {};
}

}  // namespace mcpx::store
