// Another configuration in the place of the one in force: what is listed, who is told, who is gone.
#include <string>
#include <utility>
#include <vector>

#include "unit/downstream/house.hpp"

namespace mcpx::test {
namespace {

using Told = std::vector<std::pair<std::string, mcp::ListKind>>;

std::shared_ptr<config::Config> copy_of(House& house) {
  return std::make_shared<config::Config>(house.config());
}
config::Server& named(config::Config& config, const std::string& name) {
  const auto is_it = [&](const config::Server& server) { return server.name == name; };
  return *std::find_if(config.servers.begin(), config.servers.end(), is_it);
}

std::vector<std::string> tools_of(House& house, std::string_view endpoint = {}) {
  std::vector<std::string> names;
  const auto found = house.registry().current()->find(endpoint);
  REQUIRE(found);
  for (const auto& row : found->tools())
    names.emplace_back(row->exposed);
  return names;
}

const TimePoint kAtOnce{};
const std::vector<std::string> kNobody, kAlpha{"alpha"};

Task<void> inherits(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  Told told;
  house.registry().on_change(
      [&told](const registry::Change& change) { told.emplace_back(change.endpoint, change.kind); });
  const auto before = tools_of(house);
  auto next = copy_of(house);
  named(*next, "alpha").command = "other";
  const auto old = script("alpha").on_catalogue;
  const auto old_server = house.registry().current()->servers.front();
  co_await house.replace(next, kAlpha, kAtOnce);
  CHECK(&house.registry().config() == next.get());
  CHECK(tools_of(house) == before);
  CHECK(told.empty());

  const std::uint64_t version = house.registry().current()->version;
  old(mcp::ListKind::tools, true);  // the one before it still has something to say
  co_await house.pause();
  house.offer("alpha", {"echo", "fresh"}, {"greet"}, {"test://a/1"});
  co_await house.until_published();
  CHECK(house.registry().current()->version == version + 1);
  CHECK(tools_of(house) == std::vector<std::string>{"alpha__echo", "alpha__fresh", "beta__echo"});
  CHECK(told == Told{{"", mcp::ListKind::tools}, {"alpha", mcp::ListKind::tools}});

  house.announce("alpha", mcp::ListKind::prompts, false);  // from now on as always (case C41)
  co_await house.until_published();
  CHECK(told.back() == Told::value_type("alpha", mcp::ListKind::prompts));
  co_await house.close();
}

TEST_CASE("C76: until a server that takes over has listed something, what was listed is shown") {
  on_shard(inherits);
}

Task<void> fails(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  auto next = copy_of(house);
  named(*next, "alpha").command = "no-such-program";
  co_await house.replace(next, kAlpha, kAtOnce);
  CHECK(tools_of(house).size() == 3);
  script("alpha").on_state(upstream::State::failed);  // the one before it may be in its way
  script("alpha").on_state(upstream::State::starting);
  co_await house.pause();
  CHECK(tools_of(house).size() == 3);
  script("alpha").on_state(upstream::State::failed);
  co_await house.until_published();
  CHECK(tools_of(house) == std::vector<std::string>{"beta__echo"});
  co_await house.close();
}

TEST_CASE("a server that takes over and fails twice does not show what another one had") {
  on_shard(fails);
}

Task<void> replace_and_note(House& house, std::shared_ptr<config::Config> next, bool& done) {
  const TimePoint patience = Clock::now() + Milliseconds(60'000);
  co_await house.replace(std::move(next), kAlpha, patience);
  done = true;
}

Task<void> waits(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  auto next = copy_of(house);
  named(*next, "alpha").command = "other";
  bool done = false;
  house.tasks.spawn("replace", replace_and_note(house, next, done));
  co_await house.pause();
  const std::uint64_t version = house.registry().current()->version;
  house.offer("alpha", {"fresh"}, {}, {});
  CHECK(house.registry().current()->version == version);
  CHECK_FALSE(done);
  co_await house.until_published();
  CHECK(tools_of(house) == std::vector<std::string>{"alpha__fresh", "beta__echo"});
  CHECK(house.registry().current()->version == version + 1);  // in one step
  co_await house.tasks.join();
  CHECK(done);
  co_await house.close();
}

TEST_CASE("C76: a new server has time to come up before anything is shown of it") {
  on_shard(waits);
}

Task<void> hurried(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  bool done = false;
  house.tasks.spawn("replace", replace_and_note(house, copy_of(house), done));
  co_await house.pause();
  CHECK_FALSE(done);
  house.registry().hurry();
  co_await house.tasks.join();
  CHECK(done);
  co_await house.close();
}

TEST_CASE("a daemon that stops waits for no new server") {
  on_shard(hurried);
}

Task<void> relisted(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  Told told;
  house.registry().on_change(
      [&told](const registry::Change& change) { told.emplace_back(change.endpoint, change.kind); });
  const auto server = house.registry().current()->servers.front();
  auto next = copy_of(house);
  named(*next, "alpha").tools_deny = {"add"};
  co_await house.replace(next, kNobody, kAtOnce);
  CHECK(house.registry().current()->servers.front() == server);
  CHECK(tools_of(house) == std::vector<std::string>{"alpha__echo", "beta__echo"});
  CHECK(tools_of(house, "alpha") == std::vector<std::string>{"echo"});
  CHECK(told == Told{{"", mcp::ListKind::tools}, {"alpha", mcp::ListKind::tools}});
  auto first = copy_of(house);
  co_await house.replace(first, kNobody, kAtOnce);
  CHECK(tools_of(house).size() == 3);
  co_await house.close();
}

TEST_CASE("C72, C76: another filter needs no other server, and is told of where it shows") {
  on_shard(relisted);
}

Task<call::Outcome> held_up(const call::Call& call, runtime::OneShot<bool>& finish,
                            bool& cancelled) {
  co_await finish.wait();
  cancelled = call.caller.cancel && call.caller.cancel->cancelled();
  co_return call::Outcome::of_result(R"({"content":[]})", mcp::kLatestLegacy);
}

Task<void> removed(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string other = co_await house.open_session("2025-11-25");
  const std::string session = co_await house.open_session("2025-11-25", "/mcp/beta");
  FieldList fields = {{"Accept", "text/event-stream"}, {"Mcp-Session-Id", session}};
  FakeExchange stream(shard, "GET", "/mcp/beta", fields);
  house.tasks.spawn("stream", house.serve(stream));
  FakeExchange listening(
      shard, "POST", "/mcp/beta", modern_fields("subscriptions/listen"),
      modern_body("9", "subscriptions/listen", R"("notifications":{"toolsListChanged":true})"));
  house.tasks.spawn("listen", house.serve(listening));
  runtime::OneShot<bool> finish;
  bool cancelled = true;
  script("beta").call = [&](const call::Call& call) { return held_up(call, finish, cancelled); };
  const FieldList in_session = with(kPlain, {{"Mcp-Session-Id", session}});
  FakeExchange calling(
      shard, "POST", "/mcp/beta", in_session,
      R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}})");
  house.tasks.spawn("call", house.serve(calling));
  co_await house.pause();

  auto next = copy_of(house);
  std::erase_if(next->servers, [](const config::Server& server) { return server.name == "beta"; });
  co_await house.replace(next, kNobody, kAtOnce);
  const std::vector<std::string> endpoints(1, "beta");
  co_await house.service().reconfigured(endpoints);
  finish.set(true);
  co_await house.tasks.join();
  CHECK(stream.ended);
  CHECK(listening.ended);
  CHECK(calling.status == 200);
  CHECK_FALSE(cancelled);
  const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  const auto gone = co_await house.send("POST", "/mcp/beta", in_session, ping);
  CHECK(gone->status == 404);
  const FieldList kept = with(kPlain, {{"Mcp-Session-Id", other}});
  const auto there = co_await house.send("POST", "/mcp", kept, ping);
  CHECK(there->status == 200);
  CHECK(house.service().sessions() == 1);
  co_await house.close();
}

TEST_CASE("an endpoint that is gone: 404, its sessions and streams end, its calls finish") {
  on_shard(removed);
}

}  // namespace
}  // namespace mcpx::test
