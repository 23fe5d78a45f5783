// Legacy clients: handshake, sessions, ids, batches, and the HTTP around them.
#include <string>
#include <vector>

#include "unit/downstream/house.hpp"

namespace mcpx::test {
namespace {

FieldList in_session(const std::string& id) {
  return with(kPlain, FieldList(1, {"Mcp-Session-Id", id}));
}

std::string request(const std::string& id, const std::string& method,
                    const std::string& params = "{}") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":)" + params +
         "}";
}

std::string initialize(const std::string& params) {
  return request("1", "initialize", params);
}

Task<void> negotiation(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  struct Row {
    const char* params;
    const char* version;
  };
  const std::vector<Row> rows = {
      {R"({"protocolVersion":"2024-11-05"})", "2024-11-05"},
      {R"({"protocolVersion":"2025-03-26"})", "2025-03-26"},
      {R"({"protocolVersion":"2025-06-18"})", "2025-06-18"},
      {R"({"protocolVersion":"2025-11-25"})", "2025-11-25"},
      {R"({"protocolVersion":"2026-07-28"})", "2025-11-25"},
      {R"({"protocolVersion":"1999-01-01"})", "2025-11-25"},
      {R"({"protocolVersion":7})", "2025-11-25"},
  };
  for (const Row& row : rows) {
    INFO(row.params);
    const std::string body = initialize(row.params);
    const auto exchange = co_await house.send("POST", "/mcp", kPlain, body);
    CHECK(exchange->status == 200);
    const auto result = json::find(exchange->body, "result");
    REQUIRE(result);
    CHECK(json::find_string(*result, "protocolVersion") == row.version);
    CHECK(json::find(*result, "serverInfo", "name") == R"("mcpx")");
    CHECK(json::find(*result, "serverInfo", "version"));
    CHECK(json::find(*result, "capabilities", "tools"));
    CHECK_FALSE(json::find(*result, "resultType"));
    const std::string id = exchange->field("Mcp-Session-Id");
    CHECK(id.size() == 32);
    CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  }
  CHECK(house.service().sessions() == rows.size());
  co_await house.close();
}

TEST_CASE("initialize is answered by a result, whatever version it asks for",
          "[req:lifecycle-server-echoes-supported-version]"
          "[req:lifecycle-server-counteroffers-version]"
          "[req:lifecycle-server-counteroffers-latest]"
          "[req:lifecycle-server-responds-caps-and-info]"
          "[req:streamable-http-session-id-visible-ascii]"
          "[req:streamable-http-session-id-secure]") {
  on_shard(negotiation);
}

Task<void> session_rules(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string id = co_await house.open_session("2025-06-18");
  const std::string ping = request("7", "ping");
  struct Row {
    const char* name;
    const char* target;
    FieldList fields;
    unsigned status;
  };
  const FieldList good = in_session(id);
  const std::vector<Row> rows = {
      {"in the session", "/mcp", good, 200},
      {"with a trailing slash", "/mcp/", good, 200},
      {"without a session", "/mcp", kPlain, 400},
      {"an unknown session", "/mcp", in_session("00"), 404},
      {"a session of another endpoint", "/mcp/alpha", good, 404},
      {"C59: another known version", "/mcp", with(good, {{"MCP-Protocol-Version", "2024-11-05"}}),
       200},
      {"C59: an unknown version", "/mcp", with(good, {{"MCP-Protocol-Version", "2024-13-99"}}),
       400},
      {"a modern version without _meta", "/mcp",
       with(good, {{"MCP-Protocol-Version", "2026-07-28"}}), 400},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto exchange = co_await house.send("POST", row.target, row.fields, ping);
    INFO(exchange->body);
    CHECK(exchange->status == row.status);
    CHECK(json::find(exchange->body, "id") == "7");
    CHECK(json::find(exchange->body, row.status == 200 ? "result" : "error"));
  }
  co_await house.close();
}

TEST_CASE("C59: a legacy request needs its session; header versions are checked, not compared",
          "[req:streamable-http-server-400-missing-session]"
          "[req:streamable-http-server-404-terminated-session]"
          "[req:streamable-http-server-400-unsupported-version-header]") {
  on_shard(session_rules);
}

Task<void> deletion(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string id = co_await house.open_session("2025-11-25", "/mcp/alpha");
  REQUIRE(house.service().sessions() == 1);
  const FieldList fields = in_session(id);
  const auto elsewhere = co_await house.send("DELETE", "/mcp", fields, "");
  CHECK(elsewhere->status == 404);
  const auto none = co_await house.send("DELETE", "/mcp/alpha", kPlain, "");
  CHECK(none->status == 400);
  const auto gone = co_await house.send("DELETE", "/mcp/alpha", fields, "");
  CHECK(gone->status == 200);
  CHECK(house.service().sessions() == 0);
  const auto again = co_await house.send("DELETE", "/mcp/alpha", fields, "");
  CHECK(again->status == 404);
  const auto after = co_await house.send("POST", "/mcp/alpha", fields, request("1", "ping"));
  CHECK(after->status == 404);
  co_await house.close();
}

TEST_CASE("DELETE ends a session; its id is 404 from then on",
          "[req:streamable-http-server-404-terminated-session]") {
  on_shard(deletion);
}

Task<void> ids(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string session = co_await house.open_session("2025-11-25");
  const std::vector<std::string> tokens = {
      "7", R"("7")", "9007199254740993", R"("")", "\"" + std::string(300, 'x') + "\"", R"("é\n")"};
  for (const std::string& token : tokens) {
    INFO(token);
    const auto legacy = co_await house.send(
        "POST", "/mcp", in_session(session),
        request(token, "tools/call", R"({"name":"alpha__echo","arguments":{}})"));
    CHECK(json::find(legacy->body, "id") == token);
    const auto modern =
        co_await house.send("POST", "/mcp", modern_fields("tools/call", "alpha__echo"),
                            modern_body(token, "tools/call", R"("name":"alpha__echo")"));
    CHECK(json::find(modern->body, "id") == token);
    const auto error =
        co_await house.send("POST", "/mcp", in_session(session), request(token, "no/such"));
    CHECK(json::find(error->body, "id") == token);
    CHECK(json::find(error->body, "error", "code") == "-32601");
    CHECK(error->status == 200);
  }
  const auto null_id =
      co_await house.send("POST", "/mcp", in_session(session), request("null", "ping"));
  CHECK(null_id->status == 400);
  co_await house.close();
}

TEST_CASE("C34: request ids are echoed as they were written",
          "[req:messages-result-response-same-id][req:messages-response-same-id]"
          "[req:messages-error-response-same-id-unless-unreadable]"
          "[req:messages-request-id-not-null]") {
  on_shard(ids);
}

Task<void> methods(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string session = co_await house.open_session("2025-06-18");
  const FieldList fields = in_session(session);
  const auto ping = co_await house.send("POST", "/mcp", fields, request("1", "ping"));
  CHECK(ping->body == R"({"jsonrpc":"2.0","id":1,"result":{}})");
  const auto level = co_await house.send("POST", "/mcp", fields,
                                         request("2", "logging/setLevel", R"({"level":"error"})"));
  CHECK(level->body == R"({"jsonrpc":"2.0","id":2,"result":{}})");
  const auto bad = co_await house.send("POST", "/mcp", fields,
                                       request("3", "logging/setLevel", R"({"level":"loud"})"));
  CHECK(json::find(bad->body, "error", "code") == "-32602");
  const auto modern = co_await house.send("POST", "/mcp", fields, request("4", "server/discover"));
  CHECK(json::find(modern->body, "error", "code") == "-32601");
  const auto subscribe = co_await house.send(
      "POST", "/mcp", fields, request("5", "resources/subscribe", R"({"uri":"test://a/1"})"));
  CHECK(json::find(subscribe->body, "error", "code") == "-32601");
  const auto missing = co_await house.send("POST", "/mcp", fields,
                                           request("6", "resources/read", R"({"uri":"x://y"})"));
  CHECK(json::find(missing->body, "error", "code") == "-32002");
  for (const char* text :
       {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
        R"({"jsonrpc":"2.0","id":1,"result":{}})",
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}})",
        R"({"jsonrpc":"2.0","method":"notifications/unheard/of","params":{}})"}) {
    INFO(text);
    const auto accepted = co_await house.send("POST", "/mcp", fields, text);
    CHECK(accepted->status == 202);
    CHECK(accepted->body.empty());
  }
  co_await house.close();
}

TEST_CASE("a legacy session is served by its revision's methods",
          "[req:ping-receiver-responds-promptly-empty]"
          "[req:streamable-http-server-202-for-non-request]") {
  on_shard(methods);
}

Task<void> http_rules(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string body = initialize(R"({"protocolVersion":"2025-11-25"})");
  struct Row {
    const char* name;
    const char* method;
    const char* target;
    FieldList fields;
    std::string body;
    unsigned status;
  };
  const FieldList both = {{"Accept", "application/json, text/event-stream"}};
  const std::vector<Row> rows = {
      {"no content type", "POST", "/mcp", both, body, 415},
      {"another content type", "POST", "/mcp", with(both, {{"Content-Type", "text/plain"}}), body,
       415},
      {"a content type with parameters", "POST", "/mcp",
       with(both, {{"Content-Type", "Application/JSON; charset=utf-8"}}), body, 200},
      {"nothing we can write",
       "POST",
       "/mcp",
       {{"Content-Type", "application/json"}, {"Accept", "text/html"}},
       body,
       406},
      {"no Accept at all", "POST", "/mcp", {{"Content-Type", "application/json"}}, body, 200},
      {"no JSON", "POST", "/mcp", kPlain, "{", 400},
      {"an empty body", "POST", "/mcp", kPlain, "", 400},
      {"no JSON-RPC", "POST", "/mcp", kPlain, R"({"hello":1})", 400},
      {"PUT", "PUT", "/mcp", kPlain, body, 405},
      {"an unknown server", "POST", "/mcp/nobody", kPlain, body, 404},
      {"a disabled server", "POST", "/mcp/off", kPlain, body, 404},
      {"a deeper path", "POST", "/mcp/alpha/x", kPlain, body, 404},
      {"a browser's GET", "GET", "/mcp", {{"Accept", "text/html"}}, "", 405},
      {"a stream without a session", "GET", "/mcp", {{"Accept", "text/event-stream"}}, "", 400},
      {"a stream of an unknown session",
       "GET",
       "/mcp",
       {{"Accept", "text/event-stream"}, {"Mcp-Session-Id", "00"}},
       "",
       404},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto exchange = co_await house.send(row.method, row.target, row.fields, row.body);
    INFO(exchange->body);
    CHECK(exchange->status == row.status);
    CHECK(exchange->content_type == "application/json");
    if (row.status != 200) CHECK(json::find(exchange->body, "error", "message"));
    CHECK_FALSE(json::find(exchange->body, "id") == "null");
  }
  const auto lost = co_await house.send("POST", "/mcp/nobody", kPlain, body);
  CHECK(json::find(lost->body, "error", "data", "endpoints") ==
        R"(["/mcp","/mcp/alpha","/mcp/beta"])");
  co_await house.close();
}

TEST_CASE("what is not a legacy or modern request is refused with JSON that says why",
          "[req:streamable-http-server-error-status-if-rejected]"
          "[req:streamable-http-get-sse-or-405]") {
  on_shard(http_rules);
}

Task<void> batches(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string old_one = co_await house.open_session("2025-03-26");
  const std::string new_one = co_await house.open_session("2025-06-18");
  const FieldList fields = in_session(old_one);
  const std::string batch =
      "[" + request("1", "ping") + R"(,{"jsonrpc":"2.0","method":"notifications/initialized"},)" +
      request("\"b\"", "tools/call", R"({"name":"beta__echo"})") + "," + request("3", "no/such") +
      "," + request("4", "initialize") + R"(,{"jsonrpc":"2.0","id":5,"method":7}])";
  const auto answer = co_await house.send("POST", "/mcp", fields, batch);
  REQUIRE(answer->status == 200);
  INFO(answer->body);
  std::vector<std::string> elements;
  json::Elements items(answer->body);
  while (const auto item = items.next())
    elements.emplace_back(*item);
  REQUIRE(elements.size() == 5);
  CHECK(elements[0] == R"({"jsonrpc":"2.0","id":1,"result":{}})");
  CHECK(elements[1] ==
        R"({"jsonrpc":"2.0","id":"b","result":{"content":[{"type":"text","text":"beta"}]}})");
  CHECK(json::find(elements[2], "error", "code") == "-32601");
  CHECK(json::find(elements[3], "error", "code") == "-32600");
  CHECK(json::find(elements[4], "error", "code") == "-32600");

  // 2025-03-26 has no error without an id beside other answers.
  const auto nameless =
      co_await house.send("POST", "/mcp", fields, R"([7,)" + request("6", "ping") + "]");
  CHECK(nameless->status == 400);
  CHECK(json::find(nameless->body, "error", "code") == "-32600");
  const auto quiet = co_await house.send(
      "POST", "/mcp", fields, R"([{"jsonrpc":"2.0","method":"notifications/initialized"}])");
  CHECK(quiet->status == 202);
  const auto empty = co_await house.send("POST", "/mcp", fields, "[]");
  CHECK(empty->status == 400);
  const auto broken = co_await house.send("POST", "/mcp", fields, R"([{"jsonrpc":"2.0"},)");
  CHECK(json::find(broken->body, "error", "code") == "-32700");
  const auto newer = co_await house.send("POST", "/mcp", in_session(new_one), batch);
  CHECK(newer->status == 400);
  CHECK(json::find(newer->body, "error", "code") == "-32600");
  const auto lone = co_await house.send("POST", "/mcp", kPlain, batch);
  CHECK(lone->status == 400);
  co_await house.close();
}

TEST_CASE("batches are for sessions of 2025-03-26 alone",
          "[req:messages-batch-may-send-must-receive][req:lifecycle-initialize-not-in-batch]") {
  on_shard(batches);
}

Task<void> bounded_sessions(runtime::Shard& shard) {
  House house(shard, 3);
  co_await house.open();
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    const std::string id = co_await house.open_session("2025-11-25");
    ids.push_back(id);
  }
  // The first is used again, so the second is the one idle longest.
  const auto used = co_await house.send("POST", "/mcp", in_session(ids[0]), request("1", "ping"));
  CHECK(used->status == 200);
  const std::string fourth = co_await house.open_session("2025-11-25");
  CHECK(house.service().sessions() == 3);
  const auto kept = co_await house.send("POST", "/mcp", in_session(ids[0]), request("1", "ping"));
  CHECK(kept->status == 200);
  const auto dropped =
      co_await house.send("POST", "/mcp", in_session(ids[1]), request("1", "ping"));
  CHECK(dropped->status == 404);
  const auto newest = co_await house.send("POST", "/mcp", in_session(fourth), request("1", "ping"));
  CHECK(newest->status == 200);
  co_await house.close();
}

TEST_CASE("the session idle longest makes room when the limit is reached") {
  on_shard(bounded_sessions);
}

Task<unsigned> status_for(House& house, std::string method, std::string session,
                          std::string principal) {
  FakeExchange exchange(house.shard(), method, "/mcp", in_session(session),
                        method == "POST" ? request("1", "ping") : std::string());
  exchange.principal_name = std::move(principal);
  co_await house.serve(exchange);
  co_return exchange.status;
}

Task<void> owned_session(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  FakeExchange opening(shard, "POST", "/mcp", kPlain,
                       initialize(R"({"protocolVersion":"2025-11-25"})"));
  opening.principal_name = "laptop";
  co_await house.serve(opening);
  const std::string id = opening.field("Mcp-Session-Id");
  for (const char* stranger : {"phone", ""}) {
    INFO(stranger);
    const unsigned posted = co_await status_for(house, "POST", id, stranger);
    CHECK(posted == 404);
    const unsigned ended = co_await status_for(house, "DELETE", id, stranger);
    CHECK(ended == 404);
  }
  const unsigned own = co_await status_for(house, "POST", id, "laptop");
  CHECK(own == 200);
  CHECK(house.service().sessions() == 1);
  co_await house.close();
}

TEST_CASE("a session is found by the token that opened it, and by no other") {
  on_shard(owned_session);
}

}  // namespace
}  // namespace mcpx::test
