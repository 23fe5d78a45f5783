#include "store/sessions.hpp"

#include "store/database.hpp"
#include "store/store.hpp"

namespace mcpx::store {
namespace {

Result<void> prune(Database& database, std::int64_t since, std::size_t limit) {
  Result<void> done = database.query("DELETE FROM sessions WHERE used_at < ?1").bind(since).run();
  if (!done) return done;
  return database
      .query(
          "DELETE FROM sessions WHERE key NOT IN "
          "(SELECT key FROM sessions ORDER BY used_at DESC, key LIMIT ?1)")
      .bind(static_cast<std::int64_t>(limit))
      .run();
}

Result<std::vector<SessionRow>> all(Database& database) {
  Query query = database.query(
      "SELECT key, endpoint, revision, principal, client_info, capabilities, logs, log_level,"
      " subscriptions, used_at FROM sessions ORDER BY used_at DESC, key");
  std::vector<SessionRow> rows;
  while (true) {
    const Result<bool> found = query.step();
    if (!found) return found.error();
    if (!*found) return rows;
    SessionRow row;
    row.key = query.text(0);
    row.endpoint = query.text(1);
    row.revision = query.text(2);
    row.principal = query.text(3);
    row.client_info = query.text(4);
    row.capabilities = query.text(5);
    row.logs = query.integer(6) != 0;
    row.log_level = query.integer(7);
    row.subscriptions = query.text(8);
    row.used_at = query.integer(9);
    rows.push_back(std::move(row));
  }
}

Result<void> put_row(Database& database, const SessionRow& row) {
  Query query = database.query(
      "INSERT OR REPLACE INTO sessions (key, endpoint, revision, principal, client_info,"
      " capabilities, logs, log_level, subscriptions, used_at)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
  query.bind(row.key).bind(row.endpoint).bind(row.revision).bind(row.principal);
  query.bind(row.client_info).bind(row.capabilities).bind(std::int64_t{row.logs ? 1 : 0});
  query.bind(row.log_level).bind(row.subscriptions).bind(row.used_at);
  return query.run();
}

std::size_t size_of(const SessionRow& row) {
  return row.client_info.size() + row.capabilities.size() + row.subscriptions.size();
}

}  // namespace

Task<Result<std::vector<SessionRow>>> Sessions::load(std::int64_t since, std::size_t limit) {
  std::function<Result<void>(Database&)> pruning = [since, limit](Database& database) {
    return prune(database, since, limit);
  };
  const Result<void> pruned = co_await store_.write(std::move(pruning));
  if (!pruned) co_return pruned.error();
  std::function<Result<std::vector<SessionRow>>(Database&)> work = all;
  co_return co_await store_.read<std::vector<SessionRow>>(std::move(work));
}

Task<Result<void>> Sessions::put(SessionRow row, Milliseconds at_most) {
  const std::size_t bytes = size_of(row);
  return store_.write_within(
      at_most, [row = std::move(row)](Database& database) { return put_row(database, row); },
      bytes);
}

void Sessions::save(SessionRow row) {
  store_.post([row = std::move(row)](Database& database) { return put_row(database, row); });
}

void Sessions::used(std::vector<Use> uses) {
  store_.post([uses = std::move(uses)](Database& database) -> Result<void> {
    for (const auto& [key, used_at] : uses) {
      Query query = database.query("UPDATE sessions SET used_at = ?1 WHERE key = ?2");
      if (Result<void> done = query.bind(used_at).bind(key).run(); !done) return done;
    }
    return {};
  });
}

void Sessions::drop(std::string key) {
  store_.post([key = std::move(key)](Database& database) {
    return database.query("DELETE FROM sessions WHERE key = ?1").bind(key).run();
  });
}

}  // namespace mcpx::store
