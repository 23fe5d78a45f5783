#include "store/tasks.hpp"

#include <functional>
#include <utility>

#include "store/database.hpp"
#include "store/store.hpp"

namespace mcpx::store {
namespace {

Result<std::vector<TaskRow>> all(Database& database) {
  Query query = database.query(
      "SELECT id, principal, session, endpoint, server, kind, upstream_id, caller, status, message,"
      " created_at, updated_at, ttl_ms, poll_ms, expires_at, revision FROM tasks"
      " ORDER BY created_at, id");
  std::vector<TaskRow> rows;
  while (true) {
    const Result<bool> found = query.step();
    if (!found) return found.error();
    if (!*found) return rows;
    TaskRow row;
    int column = 0;
    for (std::string* text : {&row.id, &row.principal, &row.session, &row.endpoint, &row.server,
                              &row.kind, &row.upstream_id, &row.caller, &row.status, &row.message})
      *text = query.text(column++);
    for (std::int64_t* number :
         {&row.created_at, &row.updated_at, &row.ttl_ms, &row.poll_ms, &row.expires_at})
      *number = query.integer(column++);
    row.revision = query.text(column);
    rows.push_back(std::move(row));
  }
}

Result<void> put_row(Database& database, const TaskRow& row) {
  Query query = database.query(
      "INSERT OR REPLACE INTO tasks (id, principal, session, endpoint, server, kind, upstream_id,"
      " caller, status, message, created_at, updated_at, ttl_ms, poll_ms, expires_at, revision,"
      " outcome) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"
      " ?17)");
  query.bind(row.id).bind(row.principal).bind(row.session).bind(row.endpoint).bind(row.server);
  query.bind(row.kind).bind(row.upstream_id).bind(row.caller).bind(row.status).bind(row.message);
  query.bind(row.created_at).bind(row.updated_at).bind(row.ttl_ms).bind(row.poll_ms);
  query.bind(row.expires_at).bind(row.revision).bind(row.outcome);
  return query.run();
}

Result<std::string> outcome_of(Database& database, const std::string& id) {
  Query query = database.query("SELECT outcome FROM tasks WHERE id = ?1");
  const Result<bool> found = query.bind(id).step();
  if (!found) return found.error();
  return *found ? query.text(0) : std::string();
}

}  // namespace

Task<Result<std::vector<TaskRow>>> Tasks::load(std::int64_t now) {
  std::function<Result<void>(Database&)> pruning = [now](Database& database) {
    return database.query("DELETE FROM tasks WHERE expires_at <= ?1").bind(now).run();
  };
  const Result<void> pruned = co_await store_.write(std::move(pruning));
  if (!pruned) co_return pruned.error();
  std::function<Result<std::vector<TaskRow>>(Database&)> work = all;
  co_return co_await store_.read_patiently<std::vector<TaskRow>>(std::move(work));
}

Task<Result<void>> Tasks::put(TaskRow row) {
  const std::size_t bytes = row.caller.size() + row.outcome.size() + row.message.size();
  return store_.write([row = std::move(row)](Database& database) { return put_row(database, row); },
                      bytes);
}

Task<Result<std::string>> Tasks::outcome(std::string id) {
  std::function<Result<std::string>(Database&)> work = [id](Database& database) {
    return outcome_of(database, id);
  };
  co_return co_await store_.read<std::string>(std::move(work));
}

void Tasks::drop(std::string id) {
  store_.post([id = std::move(id)](Database& database) {
    return database.query("DELETE FROM tasks WHERE id = ?1").bind(id).run();
  });
}

}  // namespace mcpx::store
