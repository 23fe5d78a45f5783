#include "store/children.hpp"

#include <utility>

#include "store/database.hpp"
#include "store/store.hpp"

namespace mcpx::store {
namespace {

Result<std::vector<ChildRow>> all_rows(Database& database) {
  Query query = database.query("SELECT server, pid, start_ticks, boot_id FROM children");
  std::vector<ChildRow> rows;
  while (true) {
    const Result<bool> found = query.step();
    if (!found) return found.error();
    if (!*found) return rows;
    rows.emplace_back(query.text(0), static_cast<pid_t>(query.integer(1)), query.integer(2),
                      query.text(3));
  }
}

Result<void> put_row(Database& database, const ChildRow& row) {
  Query query = database.query(
      "INSERT OR REPLACE INTO children (pid, start_ticks, boot_id, server) "
      "VALUES (?1, ?2, ?3, ?4)");
  query.bind(std::int64_t{row.pid}).bind(row.start_ticks).bind(row.boot_id).bind(row.server);
  return query.run();
}

Result<void> drop_row(Database& database, const ChildRow& row) {
  Query query =
      database.query("DELETE FROM children WHERE pid = ?1 AND start_ticks = ?2 AND boot_id = ?3");
  return query.bind(std::int64_t{row.pid}).bind(row.start_ticks).bind(row.boot_id).run();
}

}  // namespace

ChildRow::ChildRow(std::string server_, pid_t pid_, std::int64_t start_ticks_, std::string boot_id_)
    : server(std::move(server_)),
      pid(pid_),
      start_ticks(start_ticks_),
      boot_id(std::move(boot_id_)) {}

Task<Result<std::vector<ChildRow>>> Children::all() {
  return store_.read_patiently<std::vector<ChildRow>>(
      [](Database& database) { return all_rows(database); });
}

Task<Result<void>> Children::put(ChildRow row) {
  return store_.write(
      [row = std::move(row)](Database& database) { return put_row(database, row); });
}

Task<Result<void>> Children::drop(ChildRow row) {
  return store_.write(
      [row = std::move(row)](Database& database) { return drop_row(database, row); });
}

void Children::save(ChildRow row) {
  store_.post([row = std::move(row)](Database& database) { return put_row(database, row); });
}

void Children::forget(ChildRow row) {
  store_.post([row = std::move(row)](Database& database) { return drop_row(database, row); });
}

}  // namespace mcpx::store
