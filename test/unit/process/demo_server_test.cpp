// The demo server that the quickstart runs: what it says, line by line.
#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "unit/process/harness.hpp"

namespace mcpx::process {
namespace {

using namespace test;
namespace json = boost::json;

// Sends all lines, and reads as many lines back as are asked for.
Task<std::vector<json::object>> converse(Shard& shard, std::string era, std::string lines,
                                         std::size_t answers) {
  Command command = command_of(MCPX_DEMO_SERVER, {"--era", era, "--name", "tested"});
  auto child = co_await start(shard, std::move(command));
  auto written = co_await net::write_all(child->input(), lines);
  REQUIRE(written.has_value());
  std::string text;
  while (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) < answers) {
    const std::string more = co_await read_bytes(child->output(), 1);
    REQUIRE_FALSE(more.empty());
    text += more;
  }
  co_await child->stop(kPatience);
  CHECK(child->exited()->text() == "exit code 0");
  std::vector<json::object> read;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    read.push_back(json::parse(line).as_object());
  co_return read;
}

std::string initialize(const std::string& version) {
  return R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" +
         version + R"(","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})" + "\n";
}

std::string call(int id, const std::string& method, const std::string& params) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method +
         R"(","params":)" + params + "}\n";
}

const std::string kMeta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                          R"("io.modelcontextprotocol/clientCapabilities":{}})";

Task<void> legacy_body(Shard& shard, std::string asked, std::string agreed) {
  const std::string lines = call(9, "server/discover", "{}") + call(8, "tools/list", "{}") +
                            initialize(asked) +
                            call(1, "tools/call", R"({"name":"add","arguments":{"a":1,"b":2}})") +
                            call(2, "resources/read", R"({"uri":"demo://none"})");
  const auto answers = co_await converse(shard, "legacy", lines, 5);
  CHECK(answers[0].at("error").at("code") == -32601);
  CHECK(answers[1].at("error").at("code") == -32600);
  CHECK(answers[2].at("result").at("protocolVersion").as_string() == json::string_view(agreed));
  CHECK(answers[2].at("result").at("serverInfo").at("name") == "tested");
  const json::object& sum = answers[3].at("result").as_object();
  CHECK(sum.at("content").at(0).at("text") == "3");
  CHECK(sum.contains("structuredContent") == (agreed >= "2025-06-18"));
  CHECK_FALSE(sum.contains("resultType"));
  CHECK(answers[4].at("error").at("code") == -32002);
}

TEST_CASE("demo server: negotiates each legacy revision, and its latest for any other") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"2024-11-05", "2024-11-05"}, {"2025-03-26", "2025-03-26"}, {"2025-06-18", "2025-06-18"},
      {"2025-11-25", "2025-11-25"}, {"2026-07-28", "2025-11-25"}, {"1999-01-01", "2025-11-25"}};
  for (const auto& [asked, agreed] : cases) {
    DYNAMIC_SECTION(asked) {
      on_shard([asked = asked, agreed = agreed](Shard& shard) {
        return legacy_body(shard, asked, agreed);
      });
    }
  }
}

Task<void> modern_body(Shard& shard) {
  const std::string lines =
      initialize("2025-11-25") + call(1, "tools/list", "{}") +
      call(2, "tools/list",
           R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01",)"
           R"("io.modelcontextprotocol/clientCapabilities":{}}})") +
      call(3, "server/discover", "{" + kMeta + "}") +
      call(4, "tools/call", R"({"name":"echo","arguments":{"text":"hi"},)" + kMeta + "}");
  const auto answers = co_await converse(shard, "modern", lines, 5);
  CHECK(answers[0].at("error").at("data").at("supported").at(0) == "2026-07-28");
  CHECK(answers[1].at("error").at("code") == -32602);
  CHECK(answers[2].at("error").at("code") == -32022);
  CHECK(answers[3].at("result").at("supportedVersions").at(0) == "2026-07-28");
  CHECK(answers[3].at("result").at("cacheScope") == "public");
  CHECK(answers[4].at("result").at("resultType") == "complete");
  CHECK(answers[4].at("result").at("content").at(0).at("text") == "hi");
}

TEST_CASE("demo server: the modern one wants its metadata with each request") {
  on_shard(modern_body);
}

Task<void> slow_body(Shard& shard) {
  const std::string lines =
      initialize("2025-11-25") +
      call(1, "tools/call", R"({"name":"slow","arguments":{"ms":600000}})") +
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})" + "\n" +
      call(2, "tools/call",
           R"({"name":"slow","arguments":{"ms":4},"_meta":{"progressToken":"p"}})") +
      call(3, "ping", "{}");
  const auto answers = co_await converse(shard, "legacy", lines, 7);
  CHECK(answers[1].at("id") == 3);  // a slow call holds nothing up
  for (std::size_t step = 1; step <= 4; ++step) {
    CHECK(answers[1 + step].at("params").at("progressToken") == "p");
    CHECK(answers[1 + step].at("params").at("progress") == step);
  }
  CHECK(answers[6].at("id") == 2);
}

TEST_CASE("demo server: slow calls report progress, are cancelled, and delay nobody") {
  on_shard(slow_body);
}

}  // namespace
}  // namespace mcpx::process
