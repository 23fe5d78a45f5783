// Database and Query: the little of SQLite that the room uses, with errors as values.
//
// A Database is one connection; it keeps its prepared statements. A Query is one use of one:
//
//   Query query = database.query("SELECT era FROM eras WHERE digest = ?1");
//   query.bind(digest);
//   Result<bool> found = query.step();
//
// What is bound must live until the query is stepped. Private to the room. Thread: writer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace mcpx::store {

class Database;

class Query {
 public:
  Query(Database& database, sqlite3_stmt* statement);
  ~Query();
  Query(Query&& other) noexcept;
  Query& operator=(Query&&) = delete;

  Query& bind(std::string_view text);  // the next parameter, from ?1 on
  Query& bind(std::int64_t number);

  Result<bool> step();  // true: there is a row
  Result<void> run();   // to the end; rows are ignored

  std::string text(int column) const;
  std::int64_t integer(int column) const;

 private:
  Database& database_;
  sqlite3_stmt* statement_;  // null: it could not be prepared, or moved from
  int bound_ = 0;
};

class Database {
 public:
  // Error codes of everything here: store.damaged when the file cannot be used as it is,
  // store.failed when the disk or the system is at fault and trying again may help.
  static Result<std::unique_ptr<Database>> open(const std::string& path);
  static Result<std::unique_ptr<Database>> open_to_read(const std::string& path);
  static Result<std::unique_ptr<Database>> in_memory();

  explicit Database(sqlite3* handle) : handle_(handle) {}
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Query query(const char* sql);                  // `sql` is a literal: it is the key of the cache
  Result<void> execute(const char* sql);         // one or more statements without parameters
  Result<std::int64_t> number(const char* sql);  // the first column of the first row
  Result<std::string> word(const char* sql);

  // From now on closing moves the log into the file. Before, a file that is only looked at and then
  // set aside keeps its log as it is.
  void adopt();

  bool in_transaction() const;
  Error error() const;  // of the last call that failed

 private:
  sqlite3* handle_;
  std::map<const char*, sqlite3_stmt*> statements_;
};

}  // namespace mcpx::store
