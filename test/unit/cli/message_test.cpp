// The headers of a message and whose answer a reply is.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "connect_message.hpp"

namespace mcpx::cli {
namespace {

rpc::Message message(const std::string& text) {
  auto parsed = rpc::parse(PaddedBuffer(text), json::Limits());
  REQUIRE(parsed.has_value());
  return std::move(*parsed);
}

std::string header(const HeaderList& headers, const std::string& name) {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& one) { return one.first == name; });
  return found == headers.end() ? "(absent)" : found->second;
}

std::string modern(const std::string& method, const std::string& members) {
  return R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)" + members +
         R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})";
}

TEST_CASE("modern requests mirror version, method and name",
          "[req:streamable-http-standard-headers-required]") {
  const Session session = {"s", "2025-06-18", 1};
  struct Case {
    std::string method, members, name;
  };
  for (const Case& c :
       {Case{"tools/call", R"("name":"x__y",)", "x__y"}, Case{"prompts/get", R"("name":"p",)", "p"},
        Case{"resources/read", R"("uri":"file:///a b",)", "file:///a b"},
        Case{"tasks/get", R"("taskId":"7f",)", "7f"},
        Case{"tasks/cancel", R"("taskId":"7f",)", "7f"},
        Case{"tools/list", R"("name":"x",)", "(absent)"}}) {
    INFO(c.method);
    const HeaderList headers = headers_for(message(modern(c.method, c.members)), session);
    CHECK(header(headers, "MCP-Protocol-Version") == "2026-07-28");
    CHECK(header(headers, "Mcp-Method") == c.method);
    CHECK(header(headers, "Mcp-Name") == c.name);
    CHECK(header(headers, "Mcp-Session-Id") == "(absent)");
    CHECK(header(headers, "Accept") == "application/json, text/event-stream");
  }
}

TEST_CASE("names that a header cannot carry are wrapped", "[req:streamable-http-mcp-name-base64]") {
  const auto name_of = [](const std::string& json) {
    const std::string text = modern("tools/call", "\"name\":" + json + ",");
    return header(headers_for(message(text), Session()), "Mcp-Name");
  };
  CHECK(name_of("\"\xc3\xa9\"") == "=?base64?w6k=?=");
  CHECK(name_of("\"\\u00e9\"") == "=?base64?w6k=?=");
  CHECK(name_of("\" x\"") == "=?base64?IHg=?=");
  CHECK(name_of("\"a\\r\\nb\"") == "=?base64?YQ0KYg==?=");
  CHECK(name_of("\"=?base64?eA==?=\"") == "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
}

TEST_CASE("legacy messages carry the session, except initialize") {
  const Session session = {"s", "2025-06-18", 1};
  const auto ping = headers_for(message(R"({"jsonrpc":"2.0","id":1,"method":"ping"})"), session);
  CHECK(header(ping, "Mcp-Session-Id") == "s");
  CHECK(header(ping, "MCP-Protocol-Version") == "2025-06-18");
  CHECK(header(ping, "Mcp-Method") == "(absent)");
  const auto open =
      headers_for(message(R"({"jsonrpc":"2.0","id":1,"method":"initialize"})"), session);
  CHECK(header(open, "Mcp-Session-Id") == "(absent)");
}

TEST_CASE("only calls of tools are unsafe to repeat") {
  CHECK_FALSE(safe_to_repeat("tools/call"));
  CHECK(safe_to_repeat("tools/list"));
  CHECK(safe_to_repeat("initialize"));
}

TEST_CASE("ids are equal by what they spell, not across types") {
  CHECK(same_id("7", "7"));
  CHECK(same_id(R"("a")", R"("\u0061")"));
  CHECK_FALSE(same_id("7", R"("7")"));
  CHECK_FALSE(same_id("", "7"));
}

TEST_CASE("incoming texts are told apart") {
  CHECK(read_incoming(R"({"jsonrpc":"2.0","id":1,"result":{}})", "1").is_result);
  CHECK(read_incoming(R"({"jsonrpc":"2.0","id":2,"result":{}})", "1").kind ==
        Incoming::Kind::garbage);
  CHECK(read_incoming(R"({"jsonrpc":"2.0","method":"x"})", "1").kind ==
        Incoming::Kind::other_message);
  CHECK(read_incoming("", "1").kind == Incoming::Kind::garbage);
  const Incoming adopted =
      read_incoming(R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}})", "1");
  CHECK(adopted.kind == Incoming::Kind::answer);
  CHECK(adopted.line == R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}})");
}

}  // namespace
}  // namespace mcpx::cli
