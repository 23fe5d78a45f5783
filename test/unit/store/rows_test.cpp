// The repositories: what was put is found, replaced and pruned.
#include "unit/store/harness.hpp"

namespace mcpx::store {
namespace {

using namespace test;

Task<void> eras_body(Store& store) {
  const auto none = co_await store.eras().find("d1");
  REQUIRE(none.has_value());
  CHECK_FALSE(none->has_value());

  const Result<void> put =
      co_await store.eras().put(EraRow("d1", "github", "legacy", "2025-06-18", 17));
  REQUIRE(put.has_value());
  const auto row = co_await store.eras().find("d1");
  REQUIRE(row.has_value());
  REQUIRE(row->has_value());
  CHECK((*row)->server == "github");
  CHECK((*row)->era == "legacy");
  CHECK((*row)->revision == "2025-06-18");
  CHECK((*row)->saved_at == 17);

  const Result<void> changed =
      co_await store.eras().put(EraRow("d2", "github", "modern", "2026-07-28", 18));
  REQUIRE(changed.has_value());
  const auto old = co_await store.eras().find("d1");
  REQUIRE(old.has_value());
  CHECK_FALSE(old->has_value());  // of a configuration that the server has no longer

  const Result<void> dropped = co_await store.eras().drop("d2");
  REQUIRE(dropped.has_value());
  const auto refuted = co_await store.eras().find("d2");
  REQUIRE(refuted.has_value());
  CHECK_FALSE(refuted->has_value());
}

TEST_CASE("store: an era is kept per configuration and dropped when refuted") {
  Directory directory;
  with_store(options(directory.path()), eras_body);
}

Task<void> catalogues_body(Store& store) {
  const std::string lists("{\"tools\":\"\0 \xc3\xa9\"}", 16);
  const Result<void> put =
      co_await store.catalogues().put(CatalogueRow("github", "d1", "{}", lists, 5));
  REQUIRE(put.has_value());
  const auto row = co_await store.catalogues().find("github", "d1");
  REQUIRE(row.has_value());
  REQUIRE(row->has_value());
  CHECK((*row)->facts == "{}");
  CHECK((*row)->lists == lists);
  CHECK((*row)->saved_at == 5);

  const auto other = co_await store.catalogues().find("github", "d2");
  REQUIRE(other.has_value());
  CHECK_FALSE(other->has_value());  // read under another configuration

  const Result<void> again =
      co_await store.catalogues().put(CatalogueRow("github", "d2", "{}", "", 6));
  REQUIRE(again.has_value());
  const auto newer = co_await store.catalogues().find("github", "d2");
  REQUIRE(newer.has_value());
  REQUIRE(newer->has_value());
  CHECK((*newer)->lists.empty());
  const auto gone = co_await store.catalogues().find("github", "d1");
  REQUIRE(gone.has_value());
  CHECK_FALSE(gone->has_value());

  const Result<void> dropped = co_await store.catalogues().drop("github");
  REQUIRE(dropped.has_value());
  const auto none = co_await store.catalogues().find("github", "d2");
  REQUIRE(none.has_value());
  CHECK_FALSE(none->has_value());
}

TEST_CASE("store: a catalogue is found under the configuration it was read under, byte for byte") {
  Directory directory;
  with_store(options(directory.path()), catalogues_body);
}

Task<void> children_body(Store& store) {
  const Result<void> first = co_await store.children().put(ChildRow("a", 10, 1000, "boot"));
  REQUIRE(first.has_value());
  store.children().save(ChildRow("b", 11, 1001, "boot"));
  store.children().save(ChildRow("c", 11, 2002, "boot"));  // the number was used again
  store.children().forget(ChildRow("b", 11, 1001, "boot"));
  const Result<void> dropped = co_await store.children().drop(ChildRow("a", 10, 1000, "boot"));
  REQUIRE(dropped.has_value());
  const auto rows = co_await store.children().all();
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == 1);
  CHECK(rows->front().server == "c");
  CHECK(rows->front().pid == 11);
  CHECK(rows->front().start_ticks == 2002);
  CHECK(rows->front().boot_id == "boot");
}

TEST_CASE("store: a child is told from a later one with its process id") {
  Directory directory;
  with_store(options(directory.path()), children_body);
}

SessionRow session_row(std::string key, std::int64_t used_at) {
  SessionRow row;
  row.key = std::move(key);
  row.endpoint = "files";
  row.revision = "2025-06-18";
  row.principal = "ann";
  row.client_info = R"({"name":"c"})";
  row.capabilities = R"({"roots":{}})";
  row.logs = true;
  row.log_level = 3;
  row.subscriptions = R"(["a://b"])";
  row.used_at = used_at;
  return row;
}

Task<void> sessions_body(Store& store) {
  for (int i = 0; i < 5; ++i) {
    SessionRow row = session_row("k" + std::to_string(i), 100 + i);
    const Result<void> put = co_await store.sessions().put(std::move(row), Milliseconds(5'000));
    REQUIRE(put.has_value());
  }
  SessionRow changed = session_row("k4", 104);
  changed.log_level = SessionRow::kNoLevel;
  store.sessions().save(std::move(changed));
  store.sessions().drop("k3");
  std::vector<Sessions::Use> uses(1, Sessions::Use("k1", 200));
  uses.emplace_back("nobody", 300);
  store.sessions().used(std::move(uses));

  const auto rows = co_await store.sessions().load(101, 2);
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == 2);  // k0 is too old, k3 gone, k2 one too many
  const SessionRow& first = rows->front();
  CHECK(first.key == "k1");
  CHECK(first.endpoint == "files");
  CHECK(first.revision == "2025-06-18");
  CHECK(first.principal == "ann");
  CHECK(first.client_info == R"({"name":"c"})");
  CHECK(first.capabilities == R"({"roots":{}})");
  CHECK(first.logs);
  CHECK(first.log_level == 3);
  CHECK(first.subscriptions == R"(["a://b"])");
  CHECK(first.used_at == 200);
  CHECK(rows->back().key == "k4");
  CHECK(rows->back().log_level == SessionRow::kNoLevel);
  const auto again = co_await store.sessions().load(0, 10);
  REQUIRE(again.has_value());
  CHECK(again->size() == 2);  // what is not loaded is not kept either
}

TEST_CASE("store: sessions are kept by their last use, within a number") {
  Directory directory;
  with_store(options(directory.path()), sessions_body);
}

Task<void> prune_body(Store& store) {
  for (const char* name : {"kept", "gone"}) {
    const Result<void> era = co_await store.eras().put(EraRow(name, name, "modern", "", 1));
    REQUIRE(era.has_value());
    const Result<void> lists =
        co_await store.catalogues().put(CatalogueRow(name, "d", "{}", "[]", 1));
    REQUIRE(lists.has_value());
  }
  std::vector<std::string> servers = {"kept", "new"};
  const Result<void> pruned = co_await store.keep_only(std::move(servers));
  REQUIRE(pruned.has_value());
  const auto kept = co_await store.eras().find("kept");
  CHECK((kept.has_value() && kept->has_value()));
  const auto gone = co_await store.eras().find("gone");
  CHECK((gone.has_value() && !gone->has_value()));
  const auto kept_lists = co_await store.catalogues().find("kept", "d");
  CHECK((kept_lists.has_value() && kept_lists->has_value()));
  const auto gone_lists = co_await store.catalogues().find("gone", "d");
  CHECK((gone_lists.has_value() && !gone_lists->has_value()));
}

TEST_CASE("store: rows of servers that are not configured any more are pruned") {
  Directory directory;
  with_store(options(directory.path()), prune_body);
}

Task<void> spend_body(Store& store) {
  const Result<bool> first = co_await store.seals().spend("a", 100, 50);
  CHECK((first.has_value() && *first));
  const Result<bool> again = co_await store.seals().spend("a", 100, 60);
  CHECK((again.has_value() && !*again));
  const Result<bool> other = co_await store.seals().spend("b", 100, 60);
  CHECK((other.has_value() && *other));
  const Result<bool> forgotten = co_await store.seals().spend("a", 300, 200);
  CHECK((forgotten.has_value() && *forgotten));
}

TEST_CASE("store: a state is spent once, and forgotten when it has expired") {
  Directory directory;
  with_store(options(directory.path()), spend_body);
}

SealKeyRow seal_key(std::string id, std::int64_t from) {
  SealKeyRow row;
  row.id = std::move(id);
  row.secret = "00ff";
  row.from = from;
  return row;
}

Task<void> keys_body(Store& store) {
  CHECK(store.seals().makes_keys());
  for (const auto& [id, from] : {std::pair("new", 20), std::pair("old", 10)}) {
    SealKeyRow row = seal_key(id, from);
    const Result<void> put = co_await store.seals().add_key(std::move(row), 0);
    REQUIRE(put.has_value());
  }
  const auto both = co_await store.seals().keys();
  REQUIRE(both.has_value());
  REQUIRE(both->size() == 2);
  CHECK(both->front().id == "old");
  SealKeyRow row = seal_key("newest", 30);
  const Result<void> put = co_await store.seals().add_key(std::move(row), 15);
  REQUIRE(put.has_value());
}

Task<void> borrowed_body(Store& store) {
  CHECK_FALSE(store.seals().makes_keys());
  const auto keys = co_await store.seals().keys();
  REQUIRE(keys.has_value());
  REQUIRE(keys->size() == 2);
  CHECK(keys->front().id == "new");
  CHECK(keys->front().secret == "00ff");
  CHECK(keys->back().id == "newest");
  CHECK(keys->back().from == 30);
}

// The directory is taken, so the second one works in memory.
Task<void> two_stores_body(Store& store, std::string path) {
  co_await keys_body(store);
  const auto second = Store::open(options(path));
  const Status status = co_await second->opened(kPatience);
  CHECK(status.state == State::memory);
  co_await borrowed_body(*second);
  co_await second->close(Clock::now() + kPatience);
}

TEST_CASE("store: keys of seals, old ones forgotten, are read by another daemon too") {
  Directory directory;
  const Body both = [&directory](Store& store) { return two_stores_body(store, directory.path()); };
  with_store(options(directory.path()), both);
}

TEST_CASE("store: what was put is there after a restart") {
  Directory directory;
  put_era(directory.path(), "d1");
  CHECK(has_era(directory.path(), "d1"));
  // Closed in order: everything is in the one file.
  CHECK_FALSE(fs::exists(directory.file("mcpx.db-wal")));
}

TEST_CASE("store: without a directory it works in memory, and quietly") {
  Status status;
  const Body body = [&status](Store& store) {
    status = store.status();
    return put_era_body(store, "d1");
  };
  with_store(options(""), body);
  CHECK(status.state == State::memory);
  CHECK(status.path.empty());
}

}  // namespace
}  // namespace mcpx::store
