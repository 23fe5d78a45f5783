// Schema steps: from every earlier version with its rows, and no step back.
//
// The files of earlier versions are written here from SQL that is never edited, so that a step
// which was changed after its release shows.
#include "store/migrations.hpp"

#include "store/database.hpp"
#include "unit/store/harness.hpp"

namespace mcpx::store {
namespace {

using namespace test;

struct Earlier {
  std::int64_t version;
  const char* sql;
};

const Earlier kEarlier[] = {
    {1,
     "CREATE TABLE eras (digest TEXT PRIMARY KEY, server TEXT NOT NULL, era TEXT NOT NULL,"
     " revision TEXT NOT NULL, saved_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
     "CREATE INDEX eras_by_server ON eras (server);"
     "CREATE TABLE catalogues (server TEXT PRIMARY KEY, digest TEXT NOT NULL, facts TEXT NOT NULL,"
     " lists TEXT NOT NULL, saved_at INTEGER NOT NULL) STRICT;"
     "INSERT INTO eras VALUES ('d1', 'github', 'legacy', '2025-06-18', 17);"
     "INSERT INTO catalogues VALUES ('github', 'd1', '{\"a\":1}', '[]', 18);"
     "PRAGMA application_id = 1835233400; PRAGMA user_version = 1;"},
    {2,
     "CREATE TABLE eras (digest TEXT PRIMARY KEY, server TEXT NOT NULL, era TEXT NOT NULL,"
     " revision TEXT NOT NULL, saved_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
     "CREATE INDEX eras_by_server ON eras (server);"
     "CREATE TABLE catalogues (server TEXT PRIMARY KEY, digest TEXT NOT NULL, facts TEXT NOT NULL,"
     " lists TEXT NOT NULL, saved_at INTEGER NOT NULL) STRICT;"
     "CREATE TABLE children (pid INTEGER NOT NULL, start_ticks INTEGER NOT NULL,"
     " boot_id TEXT NOT NULL, server TEXT NOT NULL, PRIMARY KEY (pid, start_ticks, boot_id))"
     " STRICT, WITHOUT ROWID;"
     "INSERT INTO eras VALUES ('d1', 'github', 'legacy', '2025-06-18', 17);"
     "INSERT INTO catalogues VALUES ('github', 'd1', '{\"a\":1}', '[]', 18);"
     "INSERT INTO children VALUES (9, 8, 'boot', 'github');"
     "PRAGMA application_id = 1835233400; PRAGMA user_version = 2;"},
    {3,
     "CREATE TABLE eras (digest TEXT PRIMARY KEY, server TEXT NOT NULL, era TEXT NOT NULL,"
     " revision TEXT NOT NULL, saved_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
     "CREATE INDEX eras_by_server ON eras (server);"
     "CREATE TABLE catalogues (server TEXT PRIMARY KEY, digest TEXT NOT NULL, facts TEXT NOT NULL,"
     " lists TEXT NOT NULL, saved_at INTEGER NOT NULL) STRICT;"
     "CREATE TABLE children (pid INTEGER NOT NULL, start_ticks INTEGER NOT NULL,"
     " boot_id TEXT NOT NULL, server TEXT NOT NULL, PRIMARY KEY (pid, start_ticks, boot_id))"
     " STRICT, WITHOUT ROWID;"
     "CREATE TABLE sessions (key TEXT PRIMARY KEY, endpoint TEXT NOT NULL, revision TEXT NOT NULL,"
     " principal TEXT NOT NULL, client_info TEXT NOT NULL, capabilities TEXT NOT NULL,"
     " logs INTEGER NOT NULL, log_level INTEGER NOT NULL, subscriptions TEXT NOT NULL,"
     " used_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
     "CREATE INDEX sessions_by_use ON sessions (used_at);"
     "INSERT INTO eras VALUES ('d1', 'github', 'legacy', '2025-06-18', 17);"
     "INSERT INTO catalogues VALUES ('github', 'd1', '{\"a\":1}', '[]', 18);"
     "PRAGMA application_id = 1835233400; PRAGMA user_version = 3;"},
    {4,
     "CREATE TABLE eras (digest TEXT PRIMARY KEY, server TEXT NOT NULL, era TEXT NOT NULL,"
     " revision TEXT NOT NULL, saved_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
     "CREATE INDEX eras_by_server ON eras (server);"
     "CREATE TABLE catalogues (server TEXT PRIMARY KEY, digest TEXT NOT NULL, facts TEXT NOT NULL,"
     " lists TEXT NOT NULL, saved_at INTEGER NOT NULL) STRICT;"
     "CREATE TABLE children (pid INTEGER NOT NULL, start_ticks INTEGER NOT NULL,"
     " boot_id TEXT NOT NULL, server TEXT NOT NULL, PRIMARY KEY (pid, start_ticks, boot_id))"
     " STRICT, WITHOUT ROWID;"
     "CREATE TABLE sessions (key TEXT PRIMARY KEY, endpoint TEXT NOT NULL, revision TEXT NOT NULL,"
     " principal TEXT NOT NULL, client_info TEXT NOT NULL, capabilities TEXT NOT NULL,"
     " logs INTEGER NOT NULL, log_level INTEGER NOT NULL, subscriptions TEXT NOT NULL,"
     " used_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
     "CREATE INDEX sessions_by_use ON sessions (used_at);"
     "CREATE TABLE seal_keys (id TEXT PRIMARY KEY, secret TEXT NOT NULL,"
     " used_from INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
     "CREATE TABLE spent_states (digest TEXT PRIMARY KEY, expires_at INTEGER NOT NULL)"
     " STRICT, WITHOUT ROWID;"
     "CREATE INDEX spent_by_expiry ON spent_states (expires_at);"
     "INSERT INTO eras VALUES ('d1', 'github', 'legacy', '2025-06-18', 17);"
     "INSERT INTO catalogues VALUES ('github', 'd1', '{\"a\":1}', '[]', 18);"
     "PRAGMA application_id = 1835233400; PRAGMA user_version = 4;"},
    {5,
     "CREATE TABLE eras (digest TEXT PRIMARY KEY, server TEXT NOT NULL, era TEXT NOT NULL,"
     " revision TEXT NOT NULL, saved_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
     "CREATE INDEX eras_by_server ON eras (server);"
     "CREATE TABLE catalogues (server TEXT PRIMARY KEY, digest TEXT NOT NULL, facts TEXT NOT NULL,"
     " lists TEXT NOT NULL, saved_at INTEGER NOT NULL) STRICT;"
     "CREATE TABLE children (pid INTEGER NOT NULL, start_ticks INTEGER NOT NULL,"
     " boot_id TEXT NOT NULL, server TEXT NOT NULL, PRIMARY KEY (pid, start_ticks, boot_id))"
     " STRICT, WITHOUT ROWID;"
     "CREATE TABLE sessions (key TEXT PRIMARY KEY, endpoint TEXT NOT NULL, revision TEXT NOT NULL,"
     " principal TEXT NOT NULL, client_info TEXT NOT NULL, capabilities TEXT NOT NULL,"
     " logs INTEGER NOT NULL, log_level INTEGER NOT NULL, subscriptions TEXT NOT NULL,"
     " used_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
     "CREATE INDEX sessions_by_use ON sessions (used_at);"
     "CREATE TABLE seal_keys (id TEXT PRIMARY KEY, secret TEXT NOT NULL,"
     " used_from INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
     "CREATE TABLE spent_states (digest TEXT PRIMARY KEY, expires_at INTEGER NOT NULL)"
     " STRICT, WITHOUT ROWID;"
     "CREATE INDEX spent_by_expiry ON spent_states (expires_at);"
     "CREATE TABLE questions (id TEXT PRIMARY KEY, state TEXT NOT NULL, server TEXT NOT NULL,"
     " target TEXT NOT NULL, method TEXT NOT NULL, kind TEXT NOT NULL, params TEXT NOT NULL,"
     " call_key TEXT NOT NULL, principal TEXT NOT NULL, client TEXT NOT NULL,"
     " redrive TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,"
     " action TEXT NOT NULL, result TEXT NOT NULL, error TEXT NOT NULL,"
     " answered_at INTEGER NOT NULL, surface TEXT NOT NULL, answered_by TEXT NOT NULL,"
     " used INTEGER NOT NULL) STRICT;"
     "CREATE INDEX questions_by_state ON questions (state, created_at);"
     "INSERT INTO eras VALUES ('d1', 'github', 'legacy', '2025-06-18', 17);"
     "INSERT INTO catalogues VALUES ('github', 'd1', '{\"a\":1}', '[]', 18);"
     "PRAGMA application_id = 1835233400; PRAGMA user_version = 5;"},
};

std::string schema_of(const std::string& file) {
  const auto database = Database::open(file);
  REQUIRE(database.has_value());
  const auto schema = (*database)->word(
      "SELECT group_concat(replace(replace(sql, ' ', ''), char(10), ''), ';') FROM "
      "(SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name)");
  REQUIRE(schema.has_value());
  return *schema;
}

Task<void> rows_kept_body(Store& store) {
  const auto era = co_await store.eras().find("d1");
  REQUIRE((era.has_value() && era->has_value()));
  CHECK((*era)->revision == "2025-06-18");
  const auto lists = co_await store.catalogues().find("github", "d1");
  REQUIRE((lists.has_value() && lists->has_value()));
  CHECK((*lists)->facts == "{\"a\":1}");
  const Result<void> child = co_await store.children().put(ChildRow("github", 5, 6, "boot"));
  CHECK(child.has_value());
  const auto sessions = co_await store.sessions().load(0, 10);
  REQUIRE(sessions.has_value());
  CHECK(sessions->empty());
}

TEST_CASE("store: every earlier schema becomes the latest, with its rows and a copy of it") {
  Directory fresh;
  REQUIRE(open_and_close(fresh.path()).state == State::disk);
  const std::string latest = schema_of(fresh.file());
  for (const Earlier& earlier : kEarlier) {
    DYNAMIC_SECTION("from schema " << earlier.version) {
      Directory directory;
      run_sql(directory.file(), earlier.sql);
      const std::string before = schema_of(directory.file());
      with_store(options(directory.path()), rows_kept_body);
      CHECK(schema_of(directory.file()) == latest);
      const auto copies =
          directory.names("mcpx.db.schema-" + std::to_string(earlier.version) + "-");
      REQUIRE(copies.size() == 1);
      CHECK(mode_of(directory.file(copies.front())) == 0600);
      CHECK(schema_of(directory.file(copies.front())) == before);
    }
  }
}

TEST_CASE("store: every version before the latest has its test") {
  REQUIRE(std::size(kEarlier) == static_cast<std::size_t>(latest_schema() - 1));
  std::int64_t expected = 1;
  for (const Migration& migration : migrations())
    CHECK(migration.number == expected++);
}

TEST_CASE("store: a file of a newer mcpx is left alone, and memory used") {
  Directory directory;
  put_era(directory.path(), "d1");
  run_sql(directory.file(), "PRAGMA user_version = 999");
  const std::string bytes = read_file(directory.file());
  const Status status = open_and_close(directory.path());
  CHECK(status.state == State::memory);
  CHECK(status.message.find("newer mcpx") != std::string::npos);
  CHECK(status.message.find("schema 999") != std::string::npos);
  CHECK(read_file(directory.file()) == bytes);
  CHECK(directory.names("mcpx.db.corrupt-").empty());
}

TEST_CASE("store: a step that fails leaves the schema as it was") {
  auto database = Database::in_memory();
  REQUIRE(database.has_value());
  REQUIRE((*database)->execute("CREATE TABLE children (mine)").has_value());
  const Result<void> migrated = migrate(**database, 0);
  REQUIRE_FALSE(migrated.has_value());
  CHECK(migrated.error().message.find("schema step 2") != std::string::npos);
  const auto version = (*database)->number("PRAGMA user_version");
  REQUIRE(version.has_value());
  CHECK(*version == 1);
  CHECK_FALSE((*database)->in_transaction());
}

TEST_CASE("store: its tables are STRICT and carry our application id") {
  Directory directory;
  REQUIRE(open_and_close(directory.path()).state == State::disk);
  const auto database = Database::open(directory.file());
  REQUIRE(database.has_value());
  const auto loose = (*database)->number(
      "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND "
      "name NOT LIKE 'sqlite_%' AND strict = 0");
  REQUIRE(loose.has_value());
  CHECK(*loose == 0);
  const auto id = (*database)->number("PRAGMA application_id");
  REQUIRE(id.has_value());
  CHECK(*id == kApplicationId);
  const auto mode = (*database)->word("PRAGMA journal_mode");
  REQUIRE(mode.has_value());
  CHECK(*mode == "wal");
}

}  // namespace
}  // namespace mcpx::store
