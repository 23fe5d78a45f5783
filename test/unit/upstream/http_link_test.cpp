// Server over HTTP: scripted servers behind a real listener on loopback.
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.hpp"
#include "mcp/self.hpp"
#include "rpc/message.hpp"
#include "unit/http/loopback.hpp"
#include "unit/runtime/on_shard.hpp"
#include "upstream/server.hpp"

namespace mcpx::upstream {
namespace {

struct Answer {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
  std::string session;
};

// A server that answers each POST by a function of the message, and keeps what it saw.
class ScriptedHttp final : public http::Handler {
 public:
  struct Seen {
    std::string http_method, method, version, session, mcp_method, mcp_name, authorization;
  };
  std::function<Answer(const rpc::Message&, const Seen&)> answer;
  std::vector<Seen> seen;

  Task<void> handle(http::Exchange& exchange) override {
    const http1::Fields& fields = exchange.head().fields;
    Seen now;
    now.http_method = exchange.head().method;
    now.version = fields.find("MCP-Protocol-Version").value_or("");
    now.session = fields.find("Mcp-Session-Id").value_or("");
    now.mcp_method = fields.find("Mcp-Method").value_or("");
    now.mcp_name = fields.find("Mcp-Name").value_or("");
    now.authorization = fields.find("Authorization").value_or("");
    auto parsed = rpc::parse(exchange.take_body(), json::Limits());
    Answer reply;
    if (parsed) {
      now.method = parsed->method;
      reply = answer(*parsed, now);
    }
    seen.push_back(now);
    const std::string_view body = reply.body;
    std::vector<http1::Field> extra;
    if (!reply.session.empty()) extra.emplace_back("Mcp-Session-Id", reply.session);
    Result<void> sent =
        co_await exchange.respond(reply.status, reply.type, std::span(&body, 1), extra);
    static_cast<void>(sent);
  }
  std::size_t count(std::string_view method) const {
    std::size_t n = 0;
    for (const Seen& one : seen)
      n += one.method == method;
    return n;
  }
};

std::string result(const rpc::Message& message, std::string_view raw) {
  std::string out;
  rpc::append_result(out, message.id, raw);
  return out;
}

constexpr std::string_view kInitialized =
    R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"h","version":"1"}})";

Answer json_answer(std::string body) {
  Answer answer;
  answer.body = std::move(body);
  return answer;
}
Answer status_answer(unsigned status) {
  Answer answer;
  answer.status = status;
  answer.type = "text/plain";
  answer.body = status == 202 ? "" : "no";
  return answer;
}

// A legacy server with sessions; `live` is the session it knows.
Answer legacy(const rpc::Message& message, const ScriptedHttp::Seen& seen, std::string& live,
              int& sessions) {
  if (message.method == "initialize") {
    live = "session-" + std::to_string(++sessions);
    Answer answer = json_answer(result(message, kInitialized));
    answer.session = live;
    return answer;
  }
  if (seen.session.empty()) return status_answer(400);  // plain text, as many do
  if (seen.session != live) return status_answer(404);
  if (message.kind != rpc::Kind::request) return status_answer(202);
  if (message.method == "tools/list") {
    return json_answer(result(message, R"({"tools":[{"name":"echo"}]})"));
  }
  return json_answer(result(message, R"({"content":[],"n":1.0})"));
}

struct House {
  House(runtime::Shard& shard, ScriptedHttp& handler) : loopback(shard, options(), handler) {
    config.name = "remote";
    config.url = "http://127.0.0.1:" + std::to_string(loopback.port()) + "/mcp";
    config.headers = {{"Authorization", "Bearer top-secret"}};
    environment.client_info = mcp::kSelf;
    environment.shards = {&shard};
    environment.redactor = std::make_shared<const Redactor>(std::vector<std::string>{"top-secret"});
  }
  static http::ServerOptions options() { return {}; }

  http::Loopback loopback;
  config::Server config;
  Environment environment;
};

call::Call call_of(runtime::Shard& shard, std::string_view params) {
  call::Call call;
  call.method = mcp::Method::tools_call;
  call.method_name = "tools/call";
  call.params = params;
  call.caller.shard = &shard;
  return call;
}

std::string code_of(const call::Outcome& outcome) {
  return json::find_string(json::find(outcome.error, "data").value_or("{}"), "code").value_or("");
}

Task<void> end(Server& server, House& house) {
  co_await server.stop(Clock::now() + Milliseconds(2000));
  co_await house.loopback.stop(Milliseconds(2000));
}

Task<void> legacy_body(runtime::Shard& shard) {
  ScriptedHttp handler;
  std::string live;
  int sessions = 0;
  handler.answer = [&](const rpc::Message& message, const ScriptedHttp::Seen& seen) {
    return legacy(message, seen, live, sessions);
  };
  House house(shard, handler);
  Server server(shard, house.config, house.environment);
  const call::Call call = call_of(shard, R"({"name":"echo"})");
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(outcome.result == R"({"content":[],"n":1.0})");
  REQUIRE(outcome.from == mcp::Revision::r2025_06_18);
  for (const auto& seen : handler.seen) {
    REQUIRE(seen.authorization == "Bearer top-secret");
    if (seen.method == "server/discover") continue;
    REQUIRE(seen.version == (seen.method == "initialize" ? "" : "2025-06-18"));
    REQUIRE(seen.session == (seen.method == "initialize" ? "" : "session-1"));
    REQUIRE(seen.mcp_method.empty());
  }

  // The server restarts: the old session is 404, so one re-initialize and one retry.
  live = "forgotten";
  outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(sessions == 2);
  co_await end(server, house);
  REQUIRE(handler.seen.back().http_method == "DELETE");
}

TEST_CASE("C20: a legacy server is found by its refusal, and an expired session is opened anew",
          "[req:versioning-dual-era-http-detect][req:streamable-http-client-echoes-session]"
          "[req:streamable-http-client-delete-session]") {
  test::on_shard(legacy_body);
}

Task<void> modern_body(runtime::Shard& shard) {
  ScriptedHttp handler;
  handler.answer = [&](const rpc::Message& message, const ScriptedHttp::Seen&) {
    if (message.method == "server/discover") {
      return json_answer(
          result(message, R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},)"
                          R"("resultType":"complete","ttlMs":0,"cacheScope":"public"})"));
    }
    if (message.method == "tools/list") {
      return json_answer(result(message, R"({"tools":[],"resultType":"complete"})"));
    }
    std::string progress;
    rpc::append_notification(progress, "notifications/progress",
                             R"({"progressToken":0,"progress":1})");
    Answer answer;
    answer.type = "text/event-stream";
    // A priming event, a comment, a request of the server's own, then the answer.
    answer.body =
        "id: 1\ndata:\n\n: hello\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n\n"
        "data: " +
        progress + "\n\nevent: message\ndata: " +
        result(message, R"({"content":[],"resultType":"complete"})") + "\n\n";
    return answer;
  };
  House house(shard, handler);
  Server server(shard, house.config, house.environment);
  const call::Call call = call_of(shard, "{\"name\":\"caf\u00e9\"}");
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(outcome.from == mcp::Revision::r2026_07_28);
  bool called = false;
  for (const auto& seen : handler.seen) {
    REQUIRE(seen.version == "2026-07-28");
    REQUIRE(seen.session.empty());
    if (seen.method != "tools/call") continue;
    called = true;
    REQUIRE(seen.mcp_method == "tools/call");
    REQUIRE(seen.mcp_name == "=?base64?Y2Fmw6k=?=");
  }
  REQUIRE(called);
  REQUIRE(handler.count("initialize") == 0);
  co_await end(server, house);
}

TEST_CASE(
    "a modern server gets every mirrored header, and its event stream is read to the answer") {
  test::on_shard(modern_body);
}

Task<void> wrong_body(runtime::Shard& shard) {
  ScriptedHttp handler;
  std::string live;
  int sessions = 0;
  std::deque<Answer> script;
  handler.answer = [&](const rpc::Message& message, const ScriptedHttp::Seen& seen) {
    if (message.method != "tools/call") return legacy(message, seen, live, sessions);
    Answer answer = script.front();
    script.pop_front();
    return answer;
  };
  House house(shard, handler);
  Server server(shard, house.config, house.environment);
  const call::Call call = call_of(shard, R"({"name":"echo"})");
  struct Case {
    Answer answer;
    const char* code;
  };
  Answer cut_stream;
  cut_stream.type = "text/event-stream";
  cut_stream.body = "data: {\n\n";
  const std::vector<Case> cases = {
      {status_answer(500), "upstream.http_status"},
      {status_answer(401), "upstream.http_status"},
      {json_answer("not json"), "upstream.bad_frame"},
      {json_answer(R"({"jsonrpc":"2.0","id":"foreign","result":{}})"), "upstream.bad_frame"},
      {status_answer(202), "upstream.http_status"},
      {cut_stream, "upstream.disconnected"},
  };
  for (const Case& c : cases) {
    script.push_back(c.answer);
    call::Outcome outcome = co_await server.call(call);
    INFO(c.answer.status << " " << c.answer.body);
    REQUIRE(code_of(outcome) == c.code);
    REQUIRE(outcome.error.find("top-secret") == std::string_view::npos);
    REQUIRE(outcome.error.find("remote") != std::string_view::npos);
  }
  co_await end(server, house);
}

TEST_CASE("what is not an answer is an error that names the server") {
  test::on_shard(wrong_body);
}

Task<void> forgetful_body(runtime::Shard& shard) {
  ScriptedHttp handler;
  std::string live;
  int sessions = 0;
  handler.answer = [&](const rpc::Message& message, const ScriptedHttp::Seen& seen) {
    if (message.method == "tools/list") return status_answer(404);
    return legacy(message, seen, live, sessions);
  };
  House house(shard, handler);
  Server server(shard, house.config, house.environment);
  Result<void> listed = co_await server.refresh();
  REQUIRE(listed.has_error());
  Status status = co_await server.status();
  REQUIRE(status.state == State::failed);
  REQUIRE(status.error->code == "upstream.session_expired");
  REQUIRE(status.retry_in_ms > 0);
  REQUIRE(sessions == 1);
  co_await end(server, house);
}

TEST_CASE("a server that forgets its session at once is left alone for a while") {
  test::on_shard(forgetful_body);
}

Task<void> unreachable_body(runtime::Shard& shard) {
  ScriptedHttp handler;
  House house(shard, handler);
  co_await house.loopback.stop(Milliseconds(100));
  house.loopback.listener.reset();
  Server server(shard, house.config, house.environment);
  const call::Call call = call_of(shard, R"({"name":"echo"})");
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(code_of(outcome) == "upstream.unreachable");
  co_await server.stop(Clock::now() + Milliseconds(1000));
}

TEST_CASE("a server that cannot be reached says so at once") {
  test::on_shard(unreachable_body);
}

}  // namespace
}  // namespace mcpx::upstream
