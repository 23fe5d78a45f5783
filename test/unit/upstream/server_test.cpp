// Server over real children: the demo server, and shell one-liners that misbehave.
#include <signal.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "process/child.hpp"
#include "runtime/timer.hpp"
#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/servers.hpp"
#include "upstream/server.hpp"

namespace mcpx::upstream {
namespace {

using test::call_of;
using test::code_of;
using test::demo;
using test::end;
using test::environment_on;
using test::is_failed;
using test::is_ready;
using test::kEcho;
using test::kShellServer;
using test::shell;
using test::until;

Task<void> echo_body(runtime::Shard& shard, std::string era, mcp::Revision revision) {
  const config::Server config = demo(era);
  const Environment environment = environment_on(shard);
  Server server(shard, config, environment);
  const call::Call call = call_of(shard, kEcho);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(outcome.from == revision);
  REQUIRE(outcome.result.find("hello") != std::string_view::npos);
  Status status = co_await until(shard, server, is_ready);
  REQUIRE(status.tools > 0);
  REQUIRE(status.children == 1);
  REQUIRE(status.revision == revision);
  co_await end(server);
  REQUIRE(process::children_alive() == 0);
}

Task<void> legacy_echo(runtime::Shard& shard) {
  return echo_body(shard, "legacy", mcp::Revision::r2025_11_25);
}
Task<void> modern_echo(runtime::Shard& shard) {
  return echo_body(shard, "modern", mcp::Revision::r2026_07_28);
}

// Notes where it ends.
struct Witness {
  Witness(runtime::Shard& home_in, std::string& ended_in) : home(home_in), ended(ended_in) {}
  ~Witness() { ended = home.is_current() ? "at home" : "elsewhere"; }
  runtime::Shard& home;
  std::string& ended;
};

TEST_CASE("C76: a server of many owners is destroyed on its shard, whoever lets go of it last") {
  runtime::Shard home(0);
  std::string ended;
  std::shared_ptr<Server> server = make_server(home, demo("legacy"), environment_on(home));
  auto witness = std::make_shared<Witness>(home, ended);
  server->on_catalogue([witness](mcp::ListKind, bool) {});
  witness.reset();
  server.reset();  // this thread is no shard
  CHECK(ended.empty());
  home.finish();
  home.run();
  CHECK(ended == "at home");
}

TEST_CASE("a call starts a legacy server, is answered, and the server becomes ready") {
  test::on_shard(legacy_echo);
}
TEST_CASE("a call starts a modern server, is answered, and the server becomes ready") {
  test::on_shard(modern_echo);
}

Task<void> one_call(Server& server, const call::Call& call, std::vector<call::Outcome>& outcomes) {
  call::Outcome outcome = co_await server.call(call);
  outcomes.push_back(std::move(outcome));
}

Task<void> single_flight_body(runtime::Shard& shard) {
  const config::Server config = demo("legacy");
  const Environment environment = environment_on(shard);
  Server server(shard, config, environment);
  const call::Call call = call_of(shard, kEcho);
  std::vector<call::Outcome> outcomes;
  runtime::TaskGroup group(shard);
  for (int i = 0; i < 8; ++i)
    group.spawn("call", one_call(server, call, outcomes));
  co_await group.join();
  REQUIRE(outcomes.size() == 8);
  for (const call::Outcome& outcome : outcomes)
    REQUIRE(outcome.ok());
  Status status = co_await server.status();
  REQUIRE(status.starts == 1);
  co_await end(server);
}

TEST_CASE("C03: first calls that arrive together share one start") {
  test::on_shard(single_flight_body);
}

Task<void> exit_body(runtime::Shard& shard) {
  const config::Server config = shell("for i in 1 2 3 4 5; do echo trouble $i >&2; done; exit 3");
  const Environment environment = environment_on(shard);
  Server server(shard, config, environment);
  const call::Call call = call_of(shard, kEcho);
  std::vector<call::Outcome> outcomes;
  runtime::TaskGroup group(shard);
  for (int i = 0; i < 3; ++i)
    group.spawn("call", one_call(server, call, outcomes));
  co_await group.join();
  REQUIRE(outcomes.size() == 3);
  for (const call::Outcome& outcome : outcomes) {
    REQUIRE(code_of(outcome) == "upstream.exited");
    const auto message = json::find_string(outcome.error, "message").value_or("");
    REQUIRE(message.find("odd") != std::string::npos);
    REQUIRE(message.find("exit code 3") != std::string::npos);
    REQUIRE(message.find("trouble 1") != std::string::npos);
    REQUIRE(message.find("trouble 5") != std::string::npos);
  }
  // Within the back-off the same answer comes without another start.
  Status status = co_await server.status();
  const std::size_t starts = status.starts;
  call::Outcome again = co_await server.call(call);
  REQUIRE(code_of(again) == "upstream.exited");
  status = co_await server.status();
  REQUIRE(status.starts == starts);
  REQUIRE(status.stderr_tail.size() == 5);
  REQUIRE(status.retry_in_ms > 0);
  co_await end(server);
}

TEST_CASE("C04: a server that exits at start answers everyone with its exit code and stderr") {
  test::on_shard(exit_body);
}

Task<void> silent_body(runtime::Shard& shard) {
  config::Server config = shell("cat > /dev/null");
  config.probe_timeout = Milliseconds(20);
  config.start_timeout = Milliseconds(60);
  const Environment environment = environment_on(shard);
  Server server(shard, config, environment);
  const call::Call call = call_of(shard, kEcho);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(code_of(outcome) == "upstream.start_timeout");
  Status status = co_await server.status();
  REQUIRE(status.state == State::failed);
  REQUIRE(status.children == 0);
  REQUIRE(process::children_alive() == 0);  // killed before any retry
  co_await end(server);
}

TEST_CASE("C05: a server that never answers initialize is killed at the start deadline") {
  test::on_shard(silent_body);
}

Task<void> missing_body(runtime::Shard& shard) {
  config::Server config = shell("");
  config.command = "no-such-program-anywhere";
  const Environment environment = environment_on(shard);
  Server server(shard, config, environment);
  server.start();
  Status status = co_await until(shard, server, is_failed);
  REQUIRE(status.error);
  REQUIRE(status.error->code == "upstream.spawn_failed");
  REQUIRE(status.error->message.find("PATH") != std::string::npos);
  co_await end(server);
}

TEST_CASE("C10: a command that does not exist fails with the PATH searched") {
  test::on_shard(missing_body);
}

Task<void> crash_body(runtime::Shard& shard) {
  const config::Server config = shell(kShellServer);
  const Environment environment = environment_on(shard);
  Server server(shard, config, environment);
  server.start();
  Status status = co_await until(shard, server, is_ready);
  const call::Call crash = call_of(shard, R"({"name":"crash","arguments":{}})");
  call::Outcome outcome = co_await server.call(crash);
  REQUIRE(code_of(outcome) == "upstream.exited");
  // Its tools stay listed, and the next call does not wait for the back-off.
  REQUIRE(server.catalogue());
  const call::Call call = call_of(shard, kEcho);
  outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  status = co_await server.status();
  REQUIRE(status.starts == 2);
  co_await end(server);
}

TEST_CASE("a crash answers what was in flight, and the next call starts the server again") {
  test::on_shard(crash_body);
}

Task<void> cancel_later(runtime::Shard& shard, Server& server, runtime::CancelSource& source) {
  Status status = co_await until(
      shard, server, [](const Status& s) { return s.state == State::ready && s.in_flight == 1; });
  static_cast<void>(status);
  source.cancel("no longer wanted");
}

Task<void> cancel_body(runtime::Shard& shard) {
  const config::Server config = demo("legacy");
  const Environment environment = environment_on(shard);
  Server server(shard, config, environment);
  runtime::CancelSource source;
  call::Call slow = call_of(shard, R"({"name":"slow","arguments":{"ms":60000}})");
  slow.caller.cancel = &source;
  runtime::TaskGroup group(shard);
  group.spawn("cancel", cancel_later(shard, server, source));
  call::Outcome outcome = co_await server.call(slow);
  REQUIRE(code_of(outcome) == "request.cancelled");
  co_await group.join();
  co_await end(server);
}

TEST_CASE("a cancelled call is answered at once") {
  test::on_shard(cancel_body);
}

Task<void> idle_body(runtime::Shard& shard) {
  config::Server config = demo("legacy");
  config.idle_stop = Milliseconds(1);
  const Environment environment = environment_on(shard);
  Server server(shard, config, environment);
  server.start();
  Status status =
      co_await until(shard, server, [](const Status& s) { return s.state == State::idle; });
  REQUIRE(status.children == 0);
  REQUIRE(server.catalogue());
  const call::Call call = call_of(shard, kEcho);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  status = co_await server.status();
  REQUIRE(status.starts == 2);
  co_await end(server);
}

TEST_CASE("C01: an idle server is stopped, stays listed, and wakes on a call") {
  test::on_shard(idle_body);
}

Task<void> disabled_body(runtime::Shard& shard) {
  config::Server config = demo("legacy");
  config.enabled = false;
  const Environment environment = environment_on(shard);
  Server server(shard, config, environment);
  server.start();
  const call::Call call = call_of(shard, kEcho);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(code_of(outcome) == "upstream.disabled");
  Result<void> refreshed = co_await server.refresh();
  REQUIRE(refreshed.error().code == "upstream.disabled");
  co_await end(server);
}

TEST_CASE("a disabled server says so") {
  test::on_shard(disabled_body);
}

Task<void> stop_while_starting(runtime::Shard& shard) {
  const config::Server config = shell("cat > /dev/null");
  const Environment environment = environment_on(shard);
  Server server(shard, config, environment);
  server.start();
  Status status =
      co_await until(shard, server, [](const Status&) { return process::children_alive() == 1; });
  REQUIRE(status.state == State::starting);
  co_await end(server);
  REQUIRE(process::children_alive() == 0);
}

TEST_CASE("a server can be stopped in the middle of its start") {
  test::on_shard(stop_while_starting);
}

}  // namespace
}  // namespace mcpx::upstream
