// Modern requests: what the fields and _meta must say, and what comes back.
#include <string>
#include <vector>

#include "unit/downstream/house.hpp"

namespace mcpx::test {
namespace {

const std::string kMetaStart = R"("_meta":{"io.modelcontextprotocol/)";

std::string body(const std::string& method, const std::string& params) {
  return R"({"jsonrpc":"2.0","id":"q","method":")" + method + R"(","params":{)" + params + "}}";
}

FieldList without(const FieldList& fields, const std::string& name) {
  FieldList rest;
  for (const auto& entry : fields) {
    if (entry.first != name) rest.push_back(entry);
  }
  return rest;
}

FieldList replaced(const FieldList& fields, const std::string& name, const std::string& value) {
  return with(without(fields, name), {{name, value}});
}

struct Case {
  std::string name;
  FieldList fields;
  std::string body;
  unsigned status;
  std::string code;  // of the error; empty: a result
};

std::vector<Case> cases() {
  const std::string call = R"("name":"alpha__echo","arguments":{})";
  const FieldList tool = modern_fields("tools/call", "alpha__echo");
  const FieldList list = modern_fields("tools/list");
  const std::string list_body = modern_body("1", "tools/list");
  const std::string call_body = modern_body("1", "tools/call", call);
  const std::string version = R"(protocolVersion":"2026-07-28")";
  const std::string capabilities = R"(,"io.modelcontextprotocol/clientCapabilities":{})";
  std::string other = list_body;
  other.replace(other.find("2026-07-28"), 10, "1900-01-01");
  std::string legacy = list_body;
  legacy.replace(legacy.find("2026-07-28"), 10, "2025-11-25");
  return {
      {"all in order", tool, call_body, 200, ""},
      {"no _meta", tool, body("tools/call", call), 400, "-32602"},
      {"no params at all", list, R"({"jsonrpc":"2.0","id":"q","method":"tools/list"})", 400,
       "-32602"},
      {"_meta without protocolVersion", list,
       body("tools/list", R"("_meta":{"io.modelcontextprotocol/clientCapabilities":{}})"), 400,
       "-32602"},
      {"protocolVersion no string", list,
       body("tools/list", kMetaStart + R"(protocolVersion":7)" + capabilities + "}"), 400,
       "-32602"},
      {"_meta without clientCapabilities", list, body("tools/list", kMetaStart + version + "}"),
       400, "-32602"},
      {"clientCapabilities no object", list,
       body("tools/list",
            kMetaStart + version + R"(,"io.modelcontextprotocol/clientCapabilities":[]})"),
       400, "-32602"},
      {"no version header", without(list, "MCP-Protocol-Version"), list_body, 400, "-32020"},
      {"another version in the header", replaced(list, "MCP-Protocol-Version", "2025-11-25"),
       list_body, 400, "-32020"},
      {"a repeated version header", with(list, {{"MCP-Protocol-Version", "2026-07-28"}}), list_body,
       400, "-32020"},
      {"an unknown version", replaced(list, "MCP-Protocol-Version", "1900-01-01"), other, 400,
       "-32022"},
      {"a legacy version in _meta", replaced(list, "MCP-Protocol-Version", "2025-11-25"), legacy,
       400, "-32022"},
      {"no Mcp-Method", without(list, "Mcp-Method"), list_body, 400, "-32020"},
      {"another Mcp-Method", replaced(list, "Mcp-Method", "tools/call"), list_body, 400, "-32020"},
      {"Mcp-Method in another case", replaced(list, "Mcp-Method", "Tools/List"), list_body, 400,
       "-32020"},
      {"white space around Mcp-Method", replaced(list, "Mcp-Method", " tools/list\t"), list_body,
       200, ""},
      {"header names in another case",
       with(kPlain, {{"mcp-protocol-version", "2026-07-28"}, {"MCP-METHOD", "tools/list"}}),
       list_body, 200, ""},
      {"no Mcp-Name", modern_fields("tools/call"), call_body, 400, "-32020"},
      {"another Mcp-Name", modern_fields("tools/call", "beta__echo"), call_body, 400, "-32020"},
      {"Mcp-Name in another case", modern_fields("tools/call", "ALPHA__echo"), call_body, 400,
       "-32020"},
      {"Mcp-Name in Base64", modern_fields("tools/call", "=?base64?YWxwaGFfX2VjaG8=?="), call_body,
       200, ""},
      {"Mcp-Name in broken Base64", modern_fields("tools/call", "=?base64?YWxwaGFfX2VjaG8?="),
       call_body, 400, "-32020"},
      {"Mcp-Name with characters no header may hold", modern_fields("tools/call", "\xc3\xa9"),
       call_body, 400, "-32020"},
      {"Mcp-Name is the uri of resources/read",
       modern_fields("resources/read", "mcpx://alpha/test://a/1"),
       modern_body("1", "resources/read", R"("uri":"mcpx://alpha/test://a/1")"), 200, ""},
      {"prompts/get without Mcp-Name", modern_fields("prompts/get"),
       modern_body("1", "prompts/get", R"("name":"alpha__greet")"), 400, "-32020"},
      {"a call without a name", modern_fields("tools/call", "x"),
       modern_body("1", "tools/call", R"("arguments":{})"), 400, "-32602"},
      {"initialize is no method of 2026-07-28", modern_fields("initialize"),
       modern_body("1", "initialize"), 404, "-32601"},
      {"ping is gone", modern_fields("ping"), modern_body("1", "ping"), 404, "-32601"},
      {"logging/setLevel is gone", modern_fields("logging/setLevel"),
       modern_body("1", "logging/setLevel"), 404, "-32601"},
      {"resources/subscribe is gone", modern_fields("resources/subscribe"),
       modern_body("1", "resources/subscribe"), 404, "-32601"},
      {"an unknown method", modern_fields("unknown/method"), modern_body("1", "unknown/method"),
       404, "-32601"},
      {"a session id is noise", with(list, {{"Mcp-Session-Id", "nonsense"}}), list_body, 200, ""},
  };
}

Task<void> run_cases(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  for (const Case& c : cases()) {
    INFO(c.name);
    const auto exchange = co_await house.send("POST", "/mcp", c.fields, c.body);
    INFO(exchange->body);
    CHECK(exchange->status == c.status);
    CHECK(exchange->content_type == "application/json");
    CHECK(exchange->field("Mcp-Session-Id").empty());
    const bool echoed = exchange->body.find(R"("id":"q")") != std::string::npos ||
                        exchange->body.find(R"("id":1)") != std::string::npos;
    CHECK(echoed);
    const auto code = json::find(exchange->body, "error", "code");
    CHECK(std::string(code.value_or("")) == c.code);
  }
  co_await house.close();
}

TEST_CASE(
    "C58: modern requests whose fields and body disagree are refused with the right code",
    "[req:streamable-http-protocol-version-header-matches-meta]"
    "[req:streamable-http-header-mismatch-400-jsonrpc][req:streamable-http-unknown-method-404]"
    "[req:streamable-http-server-decodes-before-compare][req:errors-header-mismatch-http-400]"
    "[req:streamable-http-header-names-case-insensitive]"
    "[req:streamable-http-unsupported-version-400]"
    "[req:streamable-http-server-rejects-header-body-mismatch]") {
  on_shard(run_cases);
}

Task<void> unsupported_version(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  std::string text = modern_body("5", "server/discover");
  text.replace(text.find("2026-07-28"), 10, "1900-01-01");
  const FieldList fields =
      replaced(modern_fields("server/discover"), "MCP-Protocol-Version", "1900-01-01");
  const auto exchange = co_await house.send("POST", "/mcp", fields, text);
  const auto data = json::find(exchange->body, "error", "data");
  REQUIRE(data);
  REQUIRE(*data == R"({"supported":["2026-07-28"],"requested":"1900-01-01"})");
  co_await house.close();
}

TEST_CASE("an unsupported version is told which are supported",
          "[req:versioning-server-unsupported-version-error]"
          "[req:versioning-unsupported-version-http-400]") {
  on_shard(unsupported_version);
}

Task<void> discover(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const auto exchange = co_await house.send("POST", "/mcp", modern_fields("server/discover"),
                                            modern_body("\"d\"", "server/discover"));
  REQUIRE(exchange->status == 200);
  const auto result = json::find(exchange->body, "result");
  REQUIRE(result);
  INFO(*result);
  CHECK(json::find(*result, "supportedVersions") == R"(["2026-07-28"])");
  CHECK(json::find_string(*result, "resultType") == "complete");
  CHECK(json::as_integer(json::find(*result, "ttlMs").value_or("")).value_or(-1) >= 0);
  CHECK(json::find_string(*result, "cacheScope") == "public");
  CHECK(json::find(*result, "capabilities", "tools"));
  CHECK_FALSE(json::find(*result, "serverInfo"));
  const auto info = json::find(*result, "_meta", "io.modelcontextprotocol/serverInfo");
  REQUIRE(info);
  CHECK(json::find_string(*info, "name") == "mcpx");
  co_await house.close();
}

TEST_CASE("server/discover introduces mcpx",
          "[req:versioning-server-must-implement-discover][req:discover-supportedversions]"
          "[req:discover-capabilities][req:discover-serverinfo-in-meta][req:discover-cacheable]"
          "[req:discover-resulttype]") {
  on_shard(discover);
}

Task<void> lists(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const auto exchange = co_await house.send("POST", "/mcp", modern_fields("tools/list"),
                                            modern_body("1", "tools/list"));
  const auto result = json::find(exchange->body, "result");
  REQUIRE(result);
  for (const char* name : {"alpha__echo", "alpha__add", "beta__echo"}) {
    CHECK(result->find(name) != json::Raw::npos);
  }
  CHECK(json::find_string(*result, "resultType") == "complete");
  CHECK(json::find(*result, "ttlMs"));

  const auto own = co_await house.send("POST", "/mcp/beta", modern_fields("tools/list"),
                                       modern_body("1", "tools/list"));
  CHECK(own->body.find(R"("name":"echo")") != std::string::npos);
  CHECK(own->body.find("alpha") == std::string::npos);

  const auto page = co_await house.send("POST", "/mcp", modern_fields("tools/list"),
                                        modern_body("1", "tools/list", R"("cursor":"abc")"));
  CHECK(json::find(page->body, "error", "code") == "-32602");
  co_await house.close();
}

TEST_CASE("lists are those of the endpoint; a cursor nobody gave out is invalid",
          "[req:pagination-invalid-cursor-32602][req:caching-server-must-hint]") {
  on_shard(lists);
}

Task<void> unknown_things(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const auto tool = co_await house.send("POST", "/mcp", modern_fields("tools/call", "alpha__ecko"),
                                        modern_body("1", "tools/call", R"("name":"alpha__ecko")"));
  INFO(tool->body);
  CHECK(json::find(tool->body, "error", "code") == "-32602");
  CHECK(tool->body.find("did you mean 'alpha__echo'?") != std::string::npos);

  const auto bare = co_await house.send("POST", "/mcp", modern_fields("tools/call", "add"),
                                        modern_body("1", "tools/call", R"("name":"add")"));
  CHECK(bare->body.find("did you mean 'alpha__add'?") != std::string::npos);

  const auto resource =
      co_await house.send("POST", "/mcp", modern_fields("resources/read", "nope://x"),
                          modern_body("1", "resources/read", R"("uri":"nope://x")"));
  CHECK(json::find(resource->body, "error", "code") == "-32602");
  CHECK(json::find(resource->body, "error", "data", "uri") == R"("nope://x")");
  co_await house.close();
}

TEST_CASE("what is not there is named, with what was probably meant",
          "[req:tools-error-unknown-tool-protocol]") {
  on_shard(unknown_things);
}

Task<void> notifications(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const FieldList fields = with(kPlain, {{"MCP-Protocol-Version", "2026-07-28"}});
  const auto note = co_await house.send(
      "POST", "/mcp", fields,
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  CHECK(note->status == 202);
  CHECK(note->body.empty());
  const auto response =
      co_await house.send("POST", "/mcp", fields, R"({"jsonrpc":"2.0","id":1,"result":{}})");
  CHECK(response->status == 400);
  const FieldList stream = {{"Accept", "text/event-stream"},
                            {"MCP-Protocol-Version", "2026-07-28"}};
  const auto get = co_await house.send("GET", "/mcp", stream, "");
  CHECK(get->status == 405);
  CHECK(get->field("Allow") == "POST");
  co_await house.close();
}

TEST_CASE("2026-07-28 has neither GET streams nor responses from clients",
          "[req:streamable-http-server-202-for-non-request]"
          "[req:streamable-http-modern-only-server-legacy-traffic]") {
  on_shard(notifications);
}

}  // namespace
}  // namespace mcpx::test
