// Calls that became tasks, kept over a restart.
#include "store/tasks.hpp"

#include "unit/store/harness.hpp"

namespace mcpx::store {
namespace {

using namespace test;

TaskRow row_of(const char* id, std::int64_t created, std::int64_t expires) {
  TaskRow row;
  row.id = id;
  row.principal = "p";
  row.session = "s";
  row.endpoint = "e";
  row.server = "files";
  row.kind = "modern";
  row.upstream_id = "u";
  row.caller = "{\"askable\":1}";
  row.status = "working";
  row.message = "m";
  row.created_at = created;
  row.updated_at = created + 1;
  row.ttl_ms = expires - created;
  row.poll_ms = 500;
  row.expires_at = expires;
  row.revision = "2026-07-28";
  return row;
}

Task<void> write_body(Store& store) {
  std::vector<TaskRow> rows;
  rows.push_back(row_of("b", 20, 1'000));
  rows.push_back(row_of("a", 10, 1'000));
  rows.push_back(row_of("old", 1, 50));
  for (TaskRow& row : rows) {
    const Result<void> put = co_await store.tasks().put(std::move(row));
    CHECK(put.has_value());
  }
  TaskRow done = row_of("a", 10, 1'000);
  done.status = "completed";
  done.outcome = "{\"content\":[1.0]}";
  const Result<void> put = co_await store.tasks().put(std::move(done));
  CHECK(put.has_value());
}

Task<void> read_body(Store& store) {
  const auto rows = co_await store.tasks().load(50);
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == 2);
  const TaskRow& first = rows->front();
  CHECK(first.id == "a");
  CHECK(first.status == "completed");
  CHECK(first.outcome.empty());
  CHECK(first.principal == "p");
  CHECK(first.session == "s");
  CHECK(first.endpoint == "e");
  CHECK(first.upstream_id == "u");
  CHECK(first.caller == "{\"askable\":1}");
  CHECK(first.created_at == 10);
  CHECK(first.expires_at == 1'000);
  CHECK(first.poll_ms == 500);
  CHECK(first.revision == "2026-07-28");
  CHECK(rows->back().id == "b");
  const auto outcome = co_await store.tasks().outcome("a");
  CHECK((outcome.has_value() && *outcome == "{\"content\":[1.0]}"));
  const auto none = co_await store.tasks().outcome("old");
  CHECK((none.has_value() && none->empty()));
  store.tasks().drop("a");
  const auto left = co_await store.tasks().load(50);
  CHECK((left.has_value() && left->size() == 1));
}

TEST_CASE("store: tasks are there after a restart, without their outcomes, until they expire",
          "[req:ext-tasks-durable-before-response]") {
  Directory directory;
  with_store(options(directory.path()), write_body);
  with_store(options(directory.path()), read_body);
}

}  // namespace
}  // namespace mcpx::store
