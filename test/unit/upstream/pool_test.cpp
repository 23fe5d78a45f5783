// Several instances of one server: one per session, one per call, and the bounds on them.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "process/child.hpp"
#include "runtime/task_group.hpp"
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

// A legacy server that counts its calls; "ask" makes it ask its client something first, "wait"
// keeps a call until another line comes.
constexpr const char* kCounter = R"sh(
n=0
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) r='{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*)
      n=$((n+1))
      case $line in *ask*) echo '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}'; read -r answer ;; esac
      case $line in *wait*) read -r later ;; esac
      r='{"content":[{"type":"text","text":"count '$n' of '$$'"}]}' ;;
    *notifications/*) continue ;;
    *) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}'; continue ;;
  esac
  echo '{"jsonrpc":"2.0","id":'$id',"result":'$r'}'
done
)sh";

struct Counting {
  explicit Counting(runtime::Shard& shard_in)
      : shard(shard_in), environment(environment_on(shard_in)) {
    config = shell(kCounter);
    config.protocol = config::Protocol::legacy;
    config.scope = config::Scope::session;
  }
  runtime::Shard& shard;
  config::Server config;
  Environment environment;
};

Task<std::string> count(Counting& counting, Server& server, std::string session) {
  call::Call call = call_of(counting.shard, kEcho);
  call.caller.session = session;
  call::Outcome outcome = co_await server.call(call);
  if (!outcome.ok()) co_return code_of(outcome);
  const std::size_t at = outcome.result.find("count ");
  co_return std::string(outcome.result.substr(at + 6, 1));
}

Task<void> sessions_body(runtime::Shard& shard) {
  Counting counting(shard);
  Server server(shard, counting.config, counting.environment);
  std::string seen;
  for (const char* session : {"a", "a", "b", "a", "b", ""}) {
    const std::string now = co_await count(counting, server, session);
    seen += now + ' ';
  }
  REQUIRE(seen == "1 2 1 3 2 1 ");
  Status status = co_await until(shard, server, is_ready);
  REQUIRE(status.instances == 4);  // a, b, the modern callers', and the one that reads the lists
  REQUIRE(status.children == 4);

  server.end_session("a");
  status = co_await until(shard, server, [](const Status& s) { return s.instances == 3; });
  REQUIRE(status.children == 3);
  seen = co_await count(counting, server, "a");
  REQUIRE(seen == "1");  // a new session under an old name has no past
  co_await end(server);
  REQUIRE(process::children_alive() == 0);
}

TEST_CASE("C22: with scope session every session has an instance of its own") {
  test::on_shard(sessions_body);
}

Task<void> shared_body(runtime::Shard& shard) {
  Counting counting(shard);
  counting.config.scope = config::Scope::shared;
  Server server(shard, counting.config, counting.environment);
  std::string seen;
  for (const char* session : {"a", "b", "a"}) {
    const std::string now = co_await count(counting, server, session);
    seen += now + ' ';
  }
  REQUIRE(seen == "1 2 3 ");
  co_await end(server);
}

TEST_CASE("C22: with scope shared there is one instance") {
  test::on_shard(shared_body);
}

Task<void> cap_body(runtime::Shard& shard) {
  Counting counting(shard);
  counting.config.instances_max = 4;
  Server server(shard, counting.config, counting.environment);
  for (int i = 0; i < 12; ++i) {
    std::string session = "s" + std::to_string(i);
    const std::string seen = co_await count(counting, server, session);
    REQUIRE(seen == "1");
    Status status = co_await server.status();
    REQUIRE(status.instances <= 4);
    REQUIRE(process::children_alive() <= 4);
  }
  // The sessions used last are still there.
  const std::string seen = co_await count(counting, server, "s11");
  REQUIRE(seen == "2");
  co_await end(server);
  REQUIRE(process::children_alive() == 0);
}

TEST_CASE("C01: abandoned sessions never take more children than instances.max") {
  test::on_shard(cap_body);
}

Task<void> idle_body(runtime::Shard& shard) {
  Counting counting(shard);
  counting.config.idle_stop = Milliseconds(1);
  Server server(shard, counting.config, counting.environment);
  const std::string seen = co_await count(counting, server, "a");
  REQUIRE(seen == "1");
  Status status = co_await until(shard, server, [](const Status& s) {
    return s.instances == 0 && process::children_alive() == 0;
  });
  REQUIRE(status.children == 0);
  co_await end(server);
}

TEST_CASE("C01: instances of sessions end when nobody has called them for idle_stop") {
  test::on_shard(idle_body);
}

Task<void> call_into(Server& server, const call::Call& call, std::vector<call::Outcome>& outcomes) {
  call::Outcome outcome = co_await server.call(call);
  outcomes.push_back(std::move(outcome));
}

Task<void> full_body(runtime::Shard& shard) {
  Counting counting(shard);
  counting.config.instances_max = 2;
  counting.config.call_timeout = Milliseconds(300);
  Server server(shard, counting.config, counting.environment);
  call::Call waiting = call_of(shard, R"({"name":"wait","arguments":{}})");
  waiting.caller.session = "a";
  waiting.deadline = Clock::now() + Milliseconds(60'000);
  runtime::CancelSource source;
  waiting.caller.cancel = &source;
  std::vector<call::Outcome> outcomes;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, waiting, outcomes));
  std::string seen = co_await count(counting, server, "b");
  REQUIRE(seen == "upstream.pool_full");
  source.cancel("enough");
  co_await group.join();
  REQUIRE(code_of(outcomes.front()) == "request.cancelled");
  co_await end(server);
}

TEST_CASE("when every instance is in use a call waits, and at its deadline says why it failed") {
  test::on_shard(full_body);
}

Task<void> broken_body(runtime::Shard& shard) {
  Counting counting(shard);
  // The first instance, which reads the lists, starts; the next one finds its mark and fails.
  const std::string mark = "/tmp/mcpx-pool-test." + std::to_string(::getpid());
  counting.config.args = {"-c", "[ -e " + mark + " ] && { echo gone wrong >&2; exit 4; }; : >" +
                                    mark + "\n" + kCounter};
  Server server(shard, counting.config, counting.environment);
  server.start();
  co_await until(shard, server, is_ready);
  const std::string seen = co_await count(counting, server, "a");
  ::unlink(mark.c_str());
  REQUIRE(seen == "upstream.exited");
  const std::string again = co_await count(counting, server, "a");
  REQUIRE(again == "1");  // the next call tries again
  co_await end(server);
}

TEST_CASE("an instance that does not start fails its call, and not the next one") {
  test::on_shard(broken_body);
}

Task<void> leases_body(runtime::Shard& shard) {
  Counting counting(shard);
  counting.config.scope = config::Scope::shared;
  counting.config.instances_max = 3;
  Server server(shard, counting.config, counting.environment);
  const call::Call ask = call_of(shard, R"({"name":"ask","arguments":{}})");
  call::Outcome first = co_await server.call(ask);
  REQUIRE(first.ok());  // the question was refused, the call went on
  Status status = co_await until(shard, server, is_ready);
  REQUIRE(status.instances == 1);

  // From now on a call has its instance to itself.
  runtime::CancelSource source;
  call::Call wait = call_of(shard, R"({"name":"wait","arguments":{}})");
  wait.caller.cancel = &source;
  std::vector<call::Outcome> waited;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, wait, waited));
  group.spawn("call", call_into(server, wait, waited));
  const call::Call plain = call_of(shard, kEcho);
  call::Outcome other = co_await server.call(plain);
  REQUIRE(other.ok());
  REQUIRE(other.result.find("count 1 ") != std::string_view::npos);
  status = co_await server.status();
  REQUIRE(status.instances == 3);
  source.cancel("enough");
  co_await group.join();
  REQUIRE(waited.size() == 2);
  co_await end(server);
  REQUIRE(process::children_alive() == 0);
}

TEST_CASE("a legacy stdio server that asked gets one instance for each concurrent call") {
  test::on_shard(leases_body);
}

}  // namespace
}  // namespace mcpx::upstream
