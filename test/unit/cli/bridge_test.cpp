// Requests through the bridge: one answer each, whatever HTTP does.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unit/cli/scripted_transport.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::cli {
namespace {

using test::failing;
using test::json_reply;
using test::line_of;
using test::Lines;
using test::ScriptedTransport;
using test::stream_reply;

const std::string kList = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})";
const std::string kCall =
    R"({"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"x"}})";
constexpr Milliseconds kTurn{1};
const std::string kModernCall =
    R"({"jsonrpc":"2.0","id":"m","method":"tools/call","params":{"name":"x","_meta":)"
    R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})";
const std::string kCancelModern =
    R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"m"}})";
const std::string kListed = R"({"jsonrpc":"2.0","id":1,"result":{"tools":[]}})";

// Sends the lines, ends the input, and fills `lines` and `transport`.
Task<void> run_lines(runtime::Shard& shard, ScriptedTransport& transport, Lines& lines,
                     const std::vector<std::string>& input, BridgeOptions options, bool& done) {
  Bridge bridge(shard, transport, lines, options);
  for (const std::string& text : input) {
    co_await bridge.line(line_of(text));
  }
  co_await bridge.finish();
  done = true;
}

struct Run {
  ScriptedTransport transport;
  Lines lines;
  BridgeOptions options = test::quick_options();
  bool done = false;

  void operator()(const std::vector<std::string>& input) {
    test::on_shard([&](runtime::Shard& shard) {
      return run_lines(shard, transport, lines, input, options, done);
    });
    REQUIRE(done);
  }
};

TEST_CASE("a JSON reply becomes one line, its own line ends removed") {
  Run run;
  run.transport.posts = {
      json_reply("{\"jsonrpc\":\"2.0\",\n \"id\":1,\r\n\"result\":{\"a\":1.0}}\n")};
  run({kList});
  CHECK(run.lines.all ==
        std::vector<std::string>{R"({"jsonrpc":"2.0",  "id":1,  "result":{"a":1.0}})"});
  CHECK(run.transport.sent[0].body == kList);
  CHECK(run.transport.sent[0].target == "/mcp");
}

TEST_CASE("an event stream becomes lines up to the answer") {
  Run run;
  const std::string progress = R"({"jsonrpc":"2.0","method":"notifications/progress","params":{}})";
  const std::string question = R"({"jsonrpc":"2.0","id":9,"method":"roots/list"})";
  run.transport.posts = {stream_reply({"", progress, question, kListed, progress})};
  run({kList});
  CHECK(run.lines.all == std::vector<std::string>{progress, question, kListed});
}

TEST_CASE("a request waits for a daemon that is away") {
  Run run;
  run.transport.posts = {failing("http.dial"), failing("http.dial"), test::status_reply(503),
                         json_reply(kListed)};
  run({kList});
  CHECK(run.lines.all == std::vector<std::string>{kListed});
}

TEST_CASE("a daemon that stays away is an error with the remedy, for calls too") {
  for (const std::string& request : {kList, kCall}) {
    Run run;
    run.options.wait = Milliseconds{30};
    for (int i = 0; i < 200; ++i)
      run.transport.posts.push_back(failing("http.dial"));
    run({request});
    REQUIRE(run.lines.all.size() == 1);
    CHECK(run.lines.all[0].find("\"code\":\"connect.unreachable\"") != std::string::npos);
    CHECK(run.lines.all[0].find("mcpxd --config") != std::string::npos);
  }
}

TEST_CASE("a call that broke after it was sent is not repeated, and says so") {
  Run run;
  run.transport.posts = {failing("http.closed"), json_reply(kListed)};
  run({kCall});
  REQUIRE(run.lines.all.size() == 1);
  CHECK(run.lines.all[0].find(R"("id":"c","error")") != std::string::npos);
  CHECK(run.lines.all[0].find("may or may not have run") != std::string::npos);
  CHECK(run.transport.sent.size() == 1);
}

TEST_CASE("a stream that ends without the answer is a broken connection") {
  Run call;
  call.transport.posts = {stream_reply({})};
  call({kCall});
  REQUIRE(call.lines.all.size() == 1);
  CHECK(call.lines.all[0].find("connect.broken") != std::string::npos);

  Run list;
  list.transport.posts = {stream_reply({}), failing("http.closed"), json_reply(kListed)};
  list({kList});
  CHECK(list.lines.all == std::vector<std::string>{kListed});
}

TEST_CASE("an answer that breaks off every time is given up") {
  Run run;
  for (int i = 0; i < 50; ++i)
    run.transport.posts.push_back(failing("http.closed"));
  run({kList});
  REQUIRE(run.lines.all.size() == 1);
  CHECK(run.lines.all[0].find("again and again") != std::string::npos);
  CHECK(run.transport.sent.size() == 6);
}

TEST_CASE("an error without id gets the id of its request; a foreign answer is not taken") {
  Run run;
  auto refused = json_reply(R"({"jsonrpc":"2.0","error":{"code":-32020,"message":"no"}})");
  refused.status = 400;
  run.transport.posts = {refused};
  run({kList});
  CHECK(run.lines.all == std::vector<std::string>{
                             R"({"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"no"}})"});

  Run foreign;
  foreign.transport.posts = {json_reply(R"({"jsonrpc":"2.0","id":2,"result":{}})")};
  foreign({kList});
  REQUIRE(foreign.lines.all.size() == 1);
  CHECK(foreign.lines.all[0].find("connect.no_answer") != std::string::npos);
}

TEST_CASE("a reply that is no JSON-RPC names its status") {
  Run run;
  auto page = json_reply("<html>");
  page.status = 502;
  run.transport.posts = {page};
  run({kList});
  REQUIRE(run.lines.all.size() == 1);
  CHECK(run.lines.all[0].find("HTTP 502") != std::string::npos);
}

TEST_CASE("lines that are no messages are answered without HTTP") {
  Run run;
  run({"{", "[]", R"({"jsonrpc":"2.0","id":5,"method":7})"});
  REQUIRE(run.lines.all.size() == 3);
  CHECK(run.lines.all[0].find("-32700") != std::string::npos);
  CHECK(run.lines.all[0].find("\"id\"") == std::string::npos);
  CHECK(run.lines.all[1].find("-32600") != std::string::npos);
  CHECK(run.lines.all[2].find("\"id\":5") != std::string::npos);
  CHECK(run.transport.sent.empty());
}

TEST_CASE("the answers of a batch come in one line") {
  Run run;
  const std::string opened =
      R"({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-03-26","capabilities":{}}})";
  run.transport.posts = {json_reply(opened), json_reply(kListed),
                         json_reply(R"({"jsonrpc":"2.0","id":2,"result":{}})")};
  const std::string open = R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{}})";
  run({open, "[" + kList + R"(,{"jsonrpc":"2.0","id":2,"method":"ping"}])"});
  REQUIRE(run.lines.all.size() == 2);
  CHECK(run.lines.all[1] == "[" + kListed + R"(,{"jsonrpc":"2.0","id":2,"result":{}}])");
}

TEST_CASE("more requests than the limit are refused, not forgotten") {
  Run run;
  std::vector<std::string> input;
  for (int i = 0; i < 1030; ++i) {
    input.push_back(R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"ping"})");
  }
  run(input);
  CHECK(run.lines.all.size() == 1030);
}

Task<void> cancel_modern(runtime::Shard& shard, ScriptedTransport& transport, Lines& lines,
                         bool& done) {
  Bridge bridge(shard, transport, lines, test::quick_options());
  co_await bridge.line(line_of(kModernCall));
  runtime::Timer turn(shard);
  while (transport.sent.empty()) {
    co_await turn.sleep_for(kTurn);
  }
  co_await bridge.line(line_of(kCancelModern));
  co_await bridge.finish();
  done = true;
}

TEST_CASE("a cancelled modern request ends with its exchange, without an answer or a message") {
  ScriptedTransport transport;
  auto open = stream_reply({});
  open.open = true;
  transport.posts = {open};
  Lines lines;
  bool done = false;
  test::on_shard(
      [&](runtime::Shard& shard) { return cancel_modern(shard, transport, lines, done); });
  REQUIRE(done);
  CHECK(lines.all.empty());
  CHECK(transport.sent.size() == 1);
}

Task<void> abort_open(runtime::Shard& shard, ScriptedTransport& transport, Lines& lines,
                      bool& done) {
  Bridge bridge(shard, transport, lines, test::quick_options());
  co_await bridge.line(line_of(kCall));
  runtime::Timer turn(shard);
  while (transport.sent.empty()) {
    co_await turn.sleep_for(kTurn);
  }
  bridge.abort("told to end");
  co_await bridge.finish();
  done = true;
}

TEST_CASE("what is in flight at an abort is answered") {
  ScriptedTransport transport;
  auto open = stream_reply({});
  open.open = true;
  transport.posts = {open};
  Lines lines;
  bool done = false;
  test::on_shard([&](runtime::Shard& shard) { return abort_open(shard, transport, lines, done); });
  REQUIRE(done);
  REQUIRE(lines.all.size() == 1);
  CHECK(lines.all[0].find("connect.stopped") != std::string::npos);
  CHECK(lines.all[0].find(R"("id":"c")") != std::string::npos);
}

}  // namespace
}  // namespace mcpx::cli
