// Questions of a legacy stdio server: whose they are, what was declared for them, what it is told.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "process/child.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/servers.hpp"

namespace mcpx::upstream {
namespace {

using test::call_into;
using test::call_of;
using test::end;
using test::environment_on;
using test::shell;

// Asks for a form during each call, and answers with what it was told and what was declared to it.
// "meet" waits for a second call before it asks.
constexpr const char* kAsking = R"sh(
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *'"initialize"'*) init=$line; r='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) r='{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*)
      case $line in *meet*) read -r other; oid=${other#*\"id\":}; oid=${oid%%,*} ;; *) oid= ;; esac
      echo '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}'
      read -r answer
      r='{"content":[],"told":'$answer',"init":'$init'}'
      [ -n "$oid" ] && echo '{"jsonrpc":"2.0","id":'$oid',"result":'$r'}' ;;
    *notifications/*) continue ;;
    *) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}'; continue ;;
  esac
  echo '{"jsonrpc":"2.0","id":'$id',"result":'$r'}'
done
)sh";

// Answers at once, or when told to; otherwise when the question is withdrawn.
class FakeAsker final : public call::Asker {
 public:
  Task<call::Response> ask(const call::Question& question,
                           runtime::CancelSource& withdrawn) override {
    asked.push_back(question.method + " " + question.params + " " + question.server);
    arrived.set(true);
    if (!answer.empty()) co_return call::Response::of_result(answer);
    runtime::OneShot<bool> over;
    const auto subscription = withdrawn.subscribe([&over](const std::string&) { over.set(true); });
    const bool done = co_await over.wait();
    static_cast<void>(done);
    ++withdrawals;
    co_return call::Response::none(question.kind, "withdrawn");
  }
  std::string answer;
  std::vector<std::string> asked;
  runtime::OneShot<bool> arrived;
  int withdrawals = 0;
};

struct Scene {
  explicit Scene(runtime::Shard& shard_in)
      : shard(shard_in), environment(environment_on(shard_in)), config(shell(kAsking)) {
    config.protocol = config::Protocol::legacy;
  }
  call::Call call(std::string_view text, mcp::Askable askable) {
    call::Call made = call_of(shard, text);
    made.caller.askable = askable;
    made.caller.asker = asker;
    return made;
  }
  runtime::Shard& shard;
  Environment environment;
  config::Server config;
  std::shared_ptr<FakeAsker> asker = std::make_shared<FakeAsker>();
};

constexpr std::string_view kAsk = R"({"name":"ask","arguments":{}})";
constexpr std::string_view kMeet = R"({"name":"ask","arguments":{"meet":1}})";

std::string told(const call::Outcome& outcome) {
  return std::string(json::find(outcome.result, "told", "result").value_or(outcome.error));
}
std::string declared(const call::Outcome& outcome) {
  return std::string(json::find(outcome.result, "init", "params", "capabilities").value_or(""));
}

Task<void> asked_body(runtime::Shard& shard) {
  const std::string extensions =
      R"("extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]},)"
      R"("io.modelcontextprotocol/skills":{}}})";
  Scene scene(shard);
  scene.asker->answer = R"({"action":"decline"})";
  Server server(shard, scene.config, scene.environment);
  const call::Call capable = scene.call(kAsk, mcp::kAskForm);
  call::Outcome outcome = co_await server.call(capable);
  CHECK(told(outcome) == R"({"action":"decline"})");
  CHECK(declared(outcome) == R"({"elicitation":{},)" + extensions);
  REQUIRE(scene.asker->asked.size() == 1);
  CHECK(scene.asker->asked[0] == R"(elicitation/create {"message":"?"} odd)");

  const call::Call other = scene.call(kAsk, mcp::kAskSampling | mcp::kAskRoots);
  outcome = co_await server.call(other);
  CHECK(declared(outcome) == R"({"roots":{},"sampling":{},)" + extensions);
  CHECK(json::find(outcome.result, "told", "error", "code") == "-32601");

  const call::Call mute = scene.call(kAsk, 0);
  outcome = co_await server.call(mute);
  CHECK(declared(outcome) == "{" + extensions);
  CHECK(scene.asker->asked.size() == 1);
  co_await end(server);
  CHECK(process::children_alive() == 0);
}

TEST_CASE("a call is served by an instance that declares what its caller can be asked, no more") {
  test::on_shard(asked_body);
}

Task<void> doubtful_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.asker->answer = R"({"action":"accept"})";
  Server server(shard, scene.config, scene.environment);
  const call::Call first = scene.call(kMeet, mcp::kAskForm);
  const call::Call second = scene.call(kAsk, mcp::kAskForm);
  call::Outcome one, two;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, first, one));
  group.spawn("call", call_into(server, second, two));
  co_await group.join();
  CHECK(told(one) == R"({"action":"cancel"})");
  CHECK(told(two) == R"({"action":"cancel"})");
  CHECK(scene.asker->asked.empty());

  // From now on each call has an instance of its own, and nothing is in doubt.
  const call::Call third = scene.call(kAsk, mcp::kAskForm);
  group.spawn("call", call_into(server, second, one));
  group.spawn("call", call_into(server, third, two));
  co_await group.join();
  CHECK(told(one) == R"({"action":"accept"})");
  CHECK(told(two) == R"({"action":"accept"})");
  co_await end(server);
}

TEST_CASE("C54: a question that may be of two calls reaches neither caller") {
  test::on_shard(doubtful_body);
}

Task<void> withdrawn_body(runtime::Shard& shard) {
  Scene scene(shard);
  Server server(shard, scene.config, scene.environment);
  call::Call call = scene.call(kAsk, mcp::kAskForm);
  runtime::CancelSource cancel;
  call.caller.cancel = &cancel;
  call::Outcome outcome;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, call, outcome));
  const bool arrived = co_await scene.asker->arrived.wait();
  CHECK(arrived);
  cancel.cancel("enough");
  co_await group.join();
  CHECK(test::code_of(outcome) == "request.cancelled");
  co_await end(server);
  CHECK(scene.asker->withdrawals == 1);
}

TEST_CASE("C53: a call that ends takes back what its caller is asked") {
  test::on_shard(withdrawn_body);
}

Task<void> held_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.config.call_timeout = Milliseconds(1'000);
  scene.config.call_timeout_max = Milliseconds(1'000);
  scene.asker->answer = R"({"action":"accept"})";
  Server server(shard, scene.config, scene.environment);
  call::Call call = scene.call(kAsk, mcp::kAskForm);
  call.deadline = Clock::now() + Milliseconds(60'000);
  call::Outcome outcome = co_await server.call(call);  // its instance is there
  CHECK(told(outcome) == scene.asker->answer);

  scene.asker->answer.clear();
  call.deadline = kNever;
  runtime::CancelSource cancel;
  call.caller.cancel = &cancel;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, call, outcome));
  runtime::Timer timer(shard);
  co_await timer.sleep_for(Milliseconds(1'300));  // more than the call has
  CHECK(scene.asker->asked.size() == 2);
  cancel.cancel("enough");
  co_await group.join();
  CHECK(test::code_of(outcome) == "request.cancelled");
  co_await end(server);
}

TEST_CASE("while a caller is asked its call does not time out") {
  test::on_shard(held_body);
}

}  // namespace
}  // namespace mcpx::upstream
