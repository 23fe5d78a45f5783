#include "store/database.hpp"

#include <fmt/core.h>
#include <sqlite3.h>

#include <utility>

namespace mcpx::store {
namespace {

// Somebody else's program (a backup, the sqlite3 command) may hold the file for a moment.
constexpr int kBusyMilliseconds = 2'000;

// Whether the file itself is at fault, so that a fresh one would help.
bool damaged(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_ERROR:  // SQL of ours that this schema does not understand
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
      return true;
    default:
      return code == SQLITE_IOERR_CORRUPTFS || code == SQLITE_IOERR_SHORT_READ;
  }
}

Result<std::unique_ptr<Database>> open_with(const std::string& path, int flags) {
  sqlite3* handle = nullptr;
  const int code = ::sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  if (!handle) return Error("store.failed", "out of memory");
  auto database = std::make_unique<Database>(handle);
  if (code != SQLITE_OK) return database->error();
  ::sqlite3_extended_result_codes(handle, 1);
  ::sqlite3_busy_timeout(handle, kBusyMilliseconds);
  // A file from elsewhere must not be able to run functions through its own schema.
  ::sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  ::sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  ::sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return database;
}

}  // namespace

Query::Query(Database& database, sqlite3_stmt* statement)
    : database_(database), statement_(statement) {}

Query::Query(Query&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      bound_(other.bound_) {}

Query::~Query() {
  ::sqlite3_reset(statement_);  // nothing on null
  if (statement_) ::sqlite3_clear_bindings(statement_);
}

Query& Query::bind(std::string_view text) {
  // A null pointer would bind NULL, not the empty text.
  const char* data = text.data() ? text.data() : "";
  ::sqlite3_bind_text64(statement_, ++bound_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Query& Query::bind(std::int64_t number) {
  ::sqlite3_bind_int64(statement_, ++bound_, number);
  return *this;
}

Result<bool> Query::step() {
  if (!statement_) return database_.error();
  switch (::sqlite3_step(statement_)) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      return false;
    default:
      return database_.error();
  }
}

Result<void> Query::run() {
  while (true) {
    const Result<bool> row = step();
    if (!row) return row.error();
    if (!*row) return {};
  }
}

std::string Query::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(::sqlite3_column_text(statement_, column));
  if (!bytes) return {};
  return {bytes, static_cast<std::size_t>(::sqlite3_column_bytes(statement_, column))};
}

std::int64_t Query::integer(int column) const {
  return ::sqlite3_column_int64(statement_, column);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path) {
  return open_with(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW);
}

Result<std::unique_ptr<Database>> Database::open_to_read(const std::string& path) {
  return open_with(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW);
}

Result<std::unique_ptr<Database>> Database::in_memory() {
  return open_with(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                   SQLITE_OPEN_MEMORY);
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_)
    ::sqlite3_finalize(statement);
  ::sqlite3_close(handle_);
}

Query Database::query(const char* sql) {
  const auto known = statements_.find(sql);
  if (known != statements_.end()) return {*this, known->second};
  sqlite3_stmt* statement = nullptr;
  if (::sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) ==
      SQLITE_OK) {
    statements_.emplace(sql, statement);
  }
  return {*this, statement};
}

Result<void> Database::execute(const char* sql) {
  if (::sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error();
  return {};
}

Result<std::int64_t> Database::number(const char* sql) {
  Query one = query(sql);
  const Result<bool> row = one.step();
  if (!row) return row.error();
  return *row ? one.integer(0) : 0;
}

Result<std::string> Database::word(const char* sql) {
  Query one = query(sql);
  const Result<bool> row = one.step();
  if (!row) return row.error();
  return *row ? one.text(0) : std::string();
}

void Database::adopt() {
  ::sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

bool Database::in_transaction() const {
  return ::sqlite3_get_autocommit(handle_) == 0;
}

Error Database::error() const {
  const int code = ::sqlite3_extended_errcode(handle_);
  return Error(damaged(code) ? "store.damaged" : "store.failed",
               fmt::format("{} (SQLite {})", ::sqlite3_errmsg(handle_), code));
}

}  // namespace mcpx::store
