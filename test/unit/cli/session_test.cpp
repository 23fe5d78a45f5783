// The legacy session behind the bridge: opened, kept, opened again, closed.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unit/cli/scripted_transport.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::cli {
namespace {

using test::json_reply;
using test::line_of;
using test::Lines;
using test::ScriptedTransport;
using test::status_reply;

const std::string kInitialize =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","x":1.0}})";
const std::string kInitialized = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
const std::string kPing = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
const std::string kPong = R"({"jsonrpc":"2.0","id":1,"result":{}})";

test::Script opened(const std::string& session, const std::string& id) {
  test::Script out = json_reply(R"({"jsonrpc":"2.0","id":)" + id +
                                R"(,"result":{"protocolVersion":"2025-06-18"}})");
  out.session = session;
  return out;
}

Task<void> run_lines(runtime::Shard& shard, ScriptedTransport& transport, Lines& lines,
                     const std::vector<std::string>& input, bool& done) {
  Bridge bridge(shard, transport, lines, test::quick_options());
  for (const std::string& text : input) {
    co_await bridge.line(line_of(text));
  }
  co_await bridge.finish();
  done = true;
}

void run(ScriptedTransport& transport, Lines& lines, const std::vector<std::string>& input) {
  bool done = false;
  test::on_shard(
      [&](runtime::Shard& shard) { return run_lines(shard, transport, lines, input, done); });
  REQUIRE(done);
}

TEST_CASE("later messages carry the session and its revision, and the end deletes it") {
  ScriptedTransport transport;
  transport.posts = {opened("s1", "0"), status_reply(202), json_reply(kPong)};
  Lines lines;
  run(transport, lines, {kInitialize, kInitialized, kPing});
  CHECK(lines.all.size() == 2);
  CHECK(transport.sent[0].headers.count("Mcp-Session-Id") == 0);
  for (const auto& one : transport.sent) {
    if (&one == &transport.sent[0]) continue;
    CHECK(one.headers.at("Mcp-Session-Id") == "s1");
    CHECK(one.headers.at("MCP-Protocol-Version") == "2025-06-18");
  }
  CHECK(transport.count("GET") == 1);  // 405: no stream, not asked again
  CHECK(transport.sent.back().method == "DELETE");
}

TEST_CASE("a forgotten session is opened again once, behind the client's back") {
  ScriptedTransport transport;
  transport.posts = {opened("s1", "0"), status_reply(202),
                     status_reply(404), opened("s2", R"("mcpx-connect-reinitialize")"),
                     status_reply(202), json_reply(kPong)};
  Lines lines;
  run(transport, lines, {kInitialize, kInitialized, kPing});
  REQUIRE(lines.all.size() == 2);
  CHECK(lines.all[1] == kPong);
  std::vector<ScriptedTransport::Sent> posts;
  for (const auto& one : transport.sent) {
    if (one.method == "POST") posts.push_back(one);
  }
  REQUIRE(posts.size() == 6);
  // The client's own line, byte for byte but for the id.
  CHECK(
      posts[3].body ==
      R"({"jsonrpc":"2.0","id":"mcpx-connect-reinitialize","method":"initialize","params":{"protocolVersion":"2025-06-18","x":1.0}})");
  CHECK(posts[3].headers.count("Mcp-Session-Id") == 0);
  CHECK(posts[4].body == kInitialized);
  CHECK(posts[4].headers.at("Mcp-Session-Id") == "s2");
  CHECK(posts[5].body == kPing);
  CHECK(posts[5].headers.at("Mcp-Session-Id") == "s2");
  CHECK(transport.sent.back().headers.at("Mcp-Session-Id") == "s2");
}

TEST_CASE("a session that cannot be opened again is an error, once") {
  ScriptedTransport transport;
  transport.posts = {opened("s1", "0"), status_reply(202), status_reply(404), status_reply(400)};
  Lines lines;
  run(transport, lines, {kInitialize, kInitialized, kPing});
  REQUIRE(lines.all.size() == 2);
  CHECK(lines.all[1].find("connect.session_lost") != std::string::npos);
}

TEST_CASE("a refused initialize opens nothing") {
  ScriptedTransport transport;
  transport.posts = {
      json_reply(R"({"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"no"}})")};
  Lines lines;
  run(transport, lines, {kInitialize, kInitialized});
  CHECK(lines.all.size() == 1);
  CHECK(transport.count("GET") == 0);
  CHECK(transport.count("DELETE") == 0);
}

TEST_CASE("what the server sends by itself arrives as lines") {
  ScriptedTransport transport;
  const std::string changed = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";
  transport.posts = {opened("s1", "0"), status_reply(202)};
  transport.get = test::stream_reply({changed});
  transport.get.open = true;
  Lines lines;
  run(transport, lines, {kInitialize, kInitialized, kPing});
  const auto found = std::find(lines.all.begin(), lines.all.end(), changed);
  CHECK(found != lines.all.end());
}

TEST_CASE("answers to the server's questions are posted, not answered") {
  ScriptedTransport transport;
  Lines lines;
  const std::string answer = R"({"jsonrpc":"2.0","id":"q","result":{"roots":[]}})";
  run(transport, lines, {answer});
  CHECK(lines.all.empty());
  REQUIRE(transport.sent.size() == 1);
  CHECK(transport.sent[0].body == answer);
}

}  // namespace
}  // namespace mcpx::cli
