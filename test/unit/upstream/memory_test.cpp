// What is kept of a server for the next daemon: the texts, and a Server that serves them at once.
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "process/child.hpp"
#include "store/store.hpp"
#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/servers.hpp"
#include "upstream/memory.hpp"

namespace mcpx::upstream {
namespace {

using mcp::ListKind;
using test::call_of;
using test::end;
using test::environment_on;
using test::is_ready;
using test::shell;
using test::until;

Catalogue sample() {
  Catalogue catalogue;
  catalogue.facts.revision = mcp::Revision::r2025_06_18;
  catalogue.facts.capabilities = R"({"tools":{ "listChanged":true }})";
  catalogue.facts.server_info = R"({"name":"x","version":"1"})";
  catalogue.facts.instructions = R"("be \"kind\"")";
  List& tools = catalogue.lists[static_cast<std::size_t>(ListKind::tools)];
  tools.items.push_back({"a", R"({"name":"a","n":1.0,"big":9007199254740993,"e":1e400})"});
  tools.items.push_back({"b\"c", R"({ "name" : "b\"c" })"});
  tools.ttl_ms = 1500;
  List& prompts = catalogue.lists[static_cast<std::size_t>(ListKind::prompts)];
  prompts.items.push_back({"mine", R"({"name":"mine"})"});
  prompts.is_private = true;
  return catalogue;
}

TEST_CASE("a catalogue that was kept comes back byte for byte, without what is private") {
  const Catalogue before = sample();
  const auto after = catalogue_of(facts_text(before), lists_text(before));
  REQUIRE(after);
  CHECK(after->facts.revision == before.facts.revision);
  CHECK(after->facts.capabilities == before.facts.capabilities);
  CHECK(after->facts.server_info == before.facts.server_info);
  CHECK(after->facts.instructions == before.facts.instructions);
  const List& tools = after->list(ListKind::tools);
  REQUIRE(tools.items.size() == 2);
  CHECK(tools.items[0].definition == before.list(ListKind::tools).items[0].definition);
  CHECK(tools.items[1].id == "b\"c");
  CHECK(tools.items[1].definition == before.list(ListKind::tools).items[1].definition);
  CHECK(tools.ttl_ms == 1500);
  CHECK(after->list(ListKind::prompts).items.empty());
}

TEST_CASE(
    "a server with a private list is not known by what was kept: it would seem to list nothing") {
  Catalogue before = sample();
  before.facts.capabilities = R"({"tools":{},"prompts":{}})";
  CHECK_FALSE(catalogue_of(facts_text(before), lists_text(before)));
  before.lists[static_cast<std::size_t>(ListKind::prompts)].is_private = false;
  const auto after = catalogue_of(facts_text(before), lists_text(before));
  REQUIRE(after);
  CHECK(after->list(ListKind::prompts).items.size() == 1);
}

TEST_CASE("texts this mcpx did not write are not read") {
  const Catalogue catalogue = sample();
  const std::string facts = facts_text(catalogue), lists = lists_text(catalogue);
  CHECK_FALSE(catalogue_of("", lists));
  CHECK_FALSE(catalogue_of(facts, "{}"));
  CHECK_FALSE(catalogue_of(facts, lists.substr(0, lists.size() / 2)));
  CHECK_FALSE(catalogue_of(R"({"format":2,"revision":"2025-06-18"})", lists));
  CHECK_FALSE(catalogue_of(R"({"format":1,"revision":"1999-01-01"})", lists));
}

// A state directory of its own, gone afterwards.
struct StateDirectory {
  StateDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mcpx-memory.XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~StateDirectory() { std::filesystem::remove_all(path); }
  std::string path;
};

std::unique_ptr<store::Store> store_in(const StateDirectory& directory) {
  store::Options options;
  options.state_dir = directory.path;
  return store::Store::open(options);
}

Task<void> first_daemon(runtime::Shard& shard, StateDirectory& directory) {
  const auto store = store_in(directory);
  Environment environment = environment_on(shard);
  environment.store = store.get();
  const config::Server config = shell(test::kShellServer);
  Server server(shard, config, environment);
  server.start();
  co_await until(shard, server, is_ready);
  co_await end(server);
  co_await store->close(Clock::now() + Milliseconds(5000));
}

// The same configuration, but the server does not come up.
Task<void> second_daemon(runtime::Shard& shard, StateDirectory& directory) {
  const auto store = store_in(directory);
  Environment environment = environment_on(shard);
  environment.store = store.get();
  environment.supervisor = "/nowhere/mcpx-supervise";
  const config::Server config = shell(test::kShellServer);
  Server server(shard, config, environment);
  bool told = false;
  server.on_catalogue([&told](ListKind, bool) { told = true; });
  server.start();
  Status status = co_await until(shard, server, [](const Status& s) { return s.tools == 1; });
  REQUIRE(told);
  REQUIRE(status.from_store);
  REQUIRE(status.state != State::ready);
  REQUIRE(status.revision == mcp::Revision::r2025_06_18);
  co_await end(server);
  co_await store->close(Clock::now() + Milliseconds(5000));
}

// Another configuration has no past.
Task<void> third_daemon(StateDirectory& directory) {
  const auto store = store_in(directory);
  config::Server config = shell(test::kShellServer);
  config.env.emplace_back("OTHER", "1");
  Memory memory(config, store.get());
  Known known = co_await memory.recall();
  REQUIRE_FALSE(known.catalogue);
  REQUIRE_FALSE(known.era);
  Memory same(shell(test::kShellServer), store.get());
  known = co_await same.recall();
  REQUIRE(known.era == mcp::Era::legacy);
  co_await same.keep_era(std::nullopt);
  known = co_await same.recall();
  REQUIRE_FALSE(known.era);
  co_await store->close(Clock::now() + Milliseconds(5000));
}

TEST_CASE("C13: what a server listed is served by the next daemon before the server is up") {
  StateDirectory directory;
  test::on_shard([&](runtime::Shard& shard) { return first_daemon(shard, directory); });
  test::on_shard([&](runtime::Shard& shard) { return second_daemon(shard, directory); });
  test::on_shard([&](runtime::Shard&) { return third_daemon(directory); });
}

}  // namespace
}  // namespace mcpx::upstream
