#include "store/questions.hpp"

#include <utility>

#include "store/database.hpp"
#include "store/store.hpp"

namespace mcpx::store {
namespace {

QuestionRow row_from(const Query& query) {
  QuestionRow row;
  row.id = query.text(0);
  row.state = query.text(1);
  row.server = query.text(2);
  row.target = query.text(3);
  row.method = query.text(4);
  row.kind = query.text(5);
  row.params = query.text(6);
  row.call_key = query.text(7);
  row.principal = query.text(8);
  row.client = query.text(9);
  row.redrive = query.text(10);
  row.created_at = query.integer(11);
  row.expires_at = query.integer(12);
  row.action = query.text(13);
  row.result = query.text(14);
  row.error = query.text(15);
  row.answered_at = query.integer(16);
  row.surface = query.text(17);
  row.answered_by = query.text(18);
  row.used = query.integer(19) != 0;
  return row;
}

Result<std::vector<QuestionRow>> rows_from(Query& query) {
  std::vector<QuestionRow> rows;
  while (true) {
    const Result<bool> found = query.step();
    if (!found) return found.error();
    if (!*found) return rows;
    rows.push_back(row_from(query));
  }
}

#define MCPX_QUESTION_COLUMNS(params, redrive)                                                 \
  "id, state, server, target, method, kind, " params ", call_key, principal, client, " redrive \
  ", created_at, expires_at, action, result, error, answered_at, surface, answered_by, used"

Result<void> put_row(Database& database, const QuestionRow& row) {
  Query query = database.query("INSERT OR REPLACE INTO questions (" MCPX_QUESTION_COLUMNS(
      "params", "redrive") ")"
                           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
                           "?15, ?16, ?17, ?18,"
                           " ?19, ?20)");
  query.bind(row.id).bind(row.state).bind(row.server).bind(row.target).bind(row.method);
  query.bind(row.kind).bind(row.params).bind(row.call_key).bind(row.principal).bind(row.client);
  query.bind(row.redrive).bind(row.created_at).bind(row.expires_at).bind(row.action);
  query.bind(row.result).bind(row.error).bind(row.answered_at).bind(row.surface);
  query.bind(row.answered_by).bind(std::int64_t{row.used ? 1 : 0});
  return query.run();
}

}  // namespace

Task<Result<void>> Questions::put(QuestionRow row) {
  const std::size_t bytes = row.params.size() + row.result.size() + row.redrive.size();
  std::function<Result<void>(Database&)> work = [row = std::move(row)](Database& database) {
    return put_row(database, row);
  };
  return store_.write(std::move(work), bytes, Durability::power);
}

void Questions::used(std::string id) {
  store_.post([id = std::move(id)](Database& database) {
    return database
        .query(
            "UPDATE questions SET used = 1, result = '', error = '', redrive = '',"
            " params = CASE kind WHEN 'sampling' THEN '{}' ELSE params END WHERE id = ?1")
        .bind(id)
        .run();
  });
}

Task<Result<std::vector<QuestionRow>>> Questions::open() {
  std::function<Result<std::vector<QuestionRow>>(Database&)> work = [](Database& database) {
    Query query = database.query("SELECT " MCPX_QUESTION_COLUMNS(
        "params",
        "redrive") " FROM questions WHERE state = 'pending' OR (state = 'answered' AND used = 0)"
                   " ORDER BY created_at, id");
    return rows_from(query);
  };
  return store_.read_patiently<std::vector<QuestionRow>>(std::move(work));
}

Task<Result<std::vector<QuestionRow>>> Questions::list(std::string state, std::size_t limit) {
  std::function<Result<std::vector<QuestionRow>>(Database&)> work = [state = std::move(state),
                                                                     limit](Database& database) {
    Query query = database.query("SELECT " MCPX_QUESTION_COLUMNS(
        "''",
        "''") " FROM questions WHERE ?1 = '' OR state = ?1 ORDER BY created_at DESC, id LIMIT ?2");
    query.bind(state).bind(static_cast<std::int64_t>(limit));
    return rows_from(query);
  };
  return store_.read<std::vector<QuestionRow>>(std::move(work));
}

Task<Result<std::optional<QuestionRow>>> Questions::find(std::string id) {
  using Found = std::optional<QuestionRow>;
  std::function<Result<Found>(Database&)> work =
      [id = std::move(id)](Database& database) -> Result<Found> {
    Query query = database.query(
        "SELECT " MCPX_QUESTION_COLUMNS("params", "redrive") " FROM questions WHERE id = ?1");
    query.bind(id);
    const Result<bool> found = query.step();
    if (!found) return found.error();
    if (!*found) return Found();
    return Found(row_from(query));
  };
  return store_.read<Found>(std::move(work));
}

void Questions::prune(std::size_t history) {
  store_.post([history](Database& database) {
    return database
        .query(
            "DELETE FROM questions WHERE state != 'pending' AND (state != 'answered' OR used = 1)"
            " AND id NOT IN (SELECT id FROM questions WHERE state != 'pending'"
            " AND (state != 'answered' OR used = 1) ORDER BY answered_at DESC, id LIMIT ?1)")
        .bind(static_cast<std::int64_t>(history))
        .run();
  });
}

}  // namespace mcpx::store
