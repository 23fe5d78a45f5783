// What a failing server costs its callers: the breaker, and what is done once more.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "process/child.hpp"
#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/servers.hpp"

namespace mcpx::upstream {
namespace {

using test::call_of;
using test::code_of;
using test::end;
using test::environment_on;
using test::is_ready;
using test::kEcho;
using test::shell;
using test::until;

// A legacy server; "hang" is never answered, "die" and "peek" end it the first time, and only
// "peek" says of itself that it changes nothing.
std::string falling(const std::string& mark) {
  return "mark=" + mark + R"sh(
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) r='{"tools":[{"name":"peek","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"die","inputSchema":{"type":"object"}}]}' ;;
    *hang*) continue ;;
    *die*|*peek*) [ -e $mark ] || { : >$mark; exit 7; }; r='{"content":[]}' ;;
    *'"tools/call"'*) r='{"content":[]}' ;;
    *notifications/*) continue ;;
    *) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}'; continue ;;
  esac
  echo '{"jsonrpc":"2.0","id":'$id',"result":'$r'}'
done
)sh";
}

struct Falling {
  explicit Falling(runtime::Shard& shard) : environment(environment_on(shard)) {
    ::unlink(mark.c_str());
    config = shell(falling(mark));
    config.protocol = config::Protocol::legacy;
  }
  ~Falling() { ::unlink(mark.c_str()); }
  const std::string mark = "/tmp/mcpx-recovery-test." + std::to_string(::getpid());
  config::Server config;
  Environment environment;
};

Task<void> breaker_body(runtime::Shard& shard) {
  Falling falling(shard);
  falling.config.call_timeout = Milliseconds(1);
  falling.config.breaker_failures = 2;
  falling.config.breaker_cooldown = Milliseconds(600'000);
  Server server(shard, falling.config, falling.environment);
  server.start();
  co_await until(shard, server, is_ready);
  const call::Call hang = call_of(shard, R"({"name":"hang","arguments":{}})");
  for (int i = 0; i < 2; ++i) {
    call::Outcome outcome = co_await server.call(hang);
    REQUIRE(code_of(outcome) == "upstream.timeout");
  }
  Status status = co_await until(shard, server, test::is_failed);
  REQUIRE(status.breaker_open);
  REQUIRE(status.error->code == "upstream.timeout");
  REQUIRE(status.retry_in_ms > 0);

  // Without asking the server, which would answer this one, and with the cause.
  call::Call echo = call_of(shard, kEcho);
  echo.deadline = Clock::now() + Milliseconds(60'000);
  call::Outcome refused = co_await server.call(echo);
  REQUIRE(code_of(refused) == "upstream.breaker_open");
  const std::string message = json::find_string(refused.error, "message").value_or("");
  REQUIRE(message.find("server odd failed 2 calls in a row") != std::string::npos);
  REQUIRE(message.find("did not answer within") != std::string::npos);

  // Its lists can be read: it is well.
  Result<void> refreshed = co_await server.refresh();
  REQUIRE(refreshed.has_value());
  call::Outcome outcome = co_await server.call(echo);
  REQUIRE(outcome.ok());
  status = co_await until(shard, server, is_ready);
  REQUIRE_FALSE(status.error);
  co_await end(server);
}

TEST_CASE(
    "a server that fails call after call is refused at once, with the cause, until it is well") {
  test::on_shard(breaker_body);
}

Task<void> trial_body(runtime::Shard& shard) {
  Falling falling(shard);
  falling.config.breaker_failures = 1;
  falling.config.breaker_cooldown = Milliseconds(0);
  Server server(shard, falling.config, falling.environment);
  server.start();
  co_await until(shard, server, is_ready);
  call::Call hang = call_of(shard, R"({"name":"hang","arguments":{}})");
  hang.deadline = Clock::now();
  call::Outcome outcome = co_await server.call(hang);
  REQUIRE(code_of(outcome) == "upstream.timeout");
  const call::Call echo = call_of(shard, kEcho);
  outcome = co_await server.call(echo);
  REQUIRE(outcome.ok());
  Status status = co_await until(shard, server, is_ready);
  REQUIRE_FALSE(status.breaker_open);
  co_await end(server);
}

TEST_CASE("after the cooldown a call that succeeds closes the breaker") {
  test::on_shard(trial_body);
}

Task<void> call_with(runtime::Shard& shard, std::string tool, std::string expected,
                     std::size_t starts) {
  Falling falling(shard);
  Server server(shard, falling.config, falling.environment);
  server.start();
  co_await until(shard, server, is_ready);
  const std::string params = R"({"name":")" + tool + R"(","arguments":{}})";
  const call::Call call = call_of(shard, params);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(code_of(outcome) == expected);
  Status status = co_await until(shard, server, is_ready);
  REQUIRE(status.starts == starts);
  co_await end(server);
  REQUIRE(process::children_alive() == 0);
}

TEST_CASE("a call a crash took away is repeated only if its tool says that does no harm") {
  test::on_shard([](runtime::Shard& shard) { return call_with(shard, "peek", "", 2); });
  test::on_shard(
      [](runtime::Shard& shard) { return call_with(shard, "die", "upstream.exited", 2); });
}

Task<void> hang_body(runtime::Shard& shard) {
  Falling falling(shard);
  falling.config.breaker_failures = 0;
  falling.config.probe_timeout = Milliseconds(20);
  // The tool stops the whole process, as a debugger or a full disk might.
  falling.config.args = {"-c", R"sh(
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *freeze*) kill -STOP $$ ;;
    *'"tools/call"'*) r='{"content":[]}' ;;
    *notifications/*) continue ;;
  esac
  echo '{"jsonrpc":"2.0","id":'$id',"result":'$r'}'
done
)sh"};
  Server server(shard, falling.config, falling.environment);
  server.start();
  co_await until(shard, server, is_ready);
  for (int i = 0; i < 3; ++i) {
    call::Call freeze = call_of(shard, R"({"name":"freeze","arguments":{}})");
    freeze.deadline = Clock::now() + Milliseconds(20);
    call::Outcome outcome = co_await server.call(freeze);
    REQUIRE(code_of(outcome) == "upstream.timeout");
  }
  Status status =
      co_await until(shard, server, [](const Status& s) { return s.error.has_value(); });
  REQUIRE(status.error->code == "upstream.unresponsive");
  const call::Call echo = call_of(shard, kEcho);
  call::Outcome outcome = co_await server.call(echo);
  REQUIRE(outcome.ok());
  status = co_await until(shard, server, is_ready);
  REQUIRE(status.starts == 2);
  REQUIRE(process::children_alive() == 1);
  co_await end(server);
  REQUIRE(process::children_alive() == 0);
}

TEST_CASE("a server that hangs is ended and started anew") {
  test::on_shard(hang_body);
}

Task<void> slow_body(runtime::Shard& shard) {
  Falling falling(shard);
  falling.config.breaker_failures = 0;
  falling.config.probe_timeout = Milliseconds(10'000);
  Server server(shard, falling.config, falling.environment);
  server.start();
  co_await until(shard, server, is_ready);
  for (int i = 0; i < 6; ++i) {
    call::Call hang = call_of(shard, R"({"name":"hang","arguments":{}})");
    hang.deadline = Clock::now() + Milliseconds(1);
    call::Outcome outcome = co_await server.call(hang);
    REQUIRE(code_of(outcome) == "upstream.timeout");
  }
  const call::Call echo = call_of(shard, kEcho);
  call::Outcome outcome = co_await server.call(echo);
  REQUIRE(outcome.ok());
  Status status = co_await server.status();
  REQUIRE(status.starts == 1);
  co_await end(server);
}

TEST_CASE("a server whose tool is slow, but which answers a ping, is left alone") {
  test::on_shard(slow_body);
}

Task<void> per_tool_body(runtime::Shard& shard) {
  Falling falling(shard);
  falling.config.call_timeout = Milliseconds(600'000);
  falling.config.tool_timeouts = {{"h?ng", Milliseconds(1)}};
  Server server(shard, falling.config, falling.environment);
  call::Call hang = call_of(shard, R"({"name":"ours__hang","arguments":{}})");
  hang.target_member = "name";
  hang.target_value = R"("hang")";
  server.start();
  co_await until(shard, server, is_ready);
  call::Outcome outcome = co_await server.call(hang);
  REQUIRE(code_of(outcome) == "upstream.timeout");
  co_await end(server);
}

TEST_CASE("a tool's own timeout is found by the name its server gave it") {
  test::on_shard(per_tool_body);
}

}  // namespace
}  // namespace mcpx::upstream
