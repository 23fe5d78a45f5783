// Streamable HTTP of the legacy revisions, as a client: sessions, streams, resumption, cancels.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/scripted_http.hpp"

namespace mcpx::upstream {
namespace {

using scripted::call_of;
using scripted::code_of;
using scripted::message_of;
using scripted::Scene;
using scripted::Seen;
using scripted::Talk;

constexpr const char* kCall = R"({"name":"echo","arguments":{}})";

// --- What requests carry

struct Version {
  const char* negotiated;
  const char* header;
};

Task<void> hold(const Seen&, Talk& talk) {
  co_await talk.begin_stream();
  co_await talk.until_gone();
}

Task<void> headers_body(runtime::Shard& shard, Version version) {
  Scene scene(shard);
  scene.legacy.version = version.negotiated;
  scene.legacy.get = hold;
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  CHECK(outcome.ok());
  CHECK(mcp::text(outcome.from) == version.negotiated);
  co_await scene.http.until("GET", 1);
  co_await scene.end();
  for (const Seen& seen : scene.http.seen) {
    INFO(seen.http << " " << seen.method);
    CHECK(seen.authorization == "Bearer top-secret");
    if (seen.method == "server/discover") continue;
    const bool opens = seen.method == "initialize";
    CHECK(seen.session == (opens ? "" : "session-1"));
    CHECK(seen.version == (opens ? "" : version.header));
    CHECK(seen.mcp_method.empty());
    if (seen.http == "GET") CHECK(seen.accept == "text/event-stream");
    if (seen.http == "POST") CHECK(seen.accept == "application/json, text/event-stream");
  }
  CHECK(scene.http.count("notifications/initialized") == 1);
  CHECK(scene.http.seen.back().http == "DELETE");
}

TEST_CASE("every request after initialize carries the session and the version agreed on",
          "[req:streamable-http-client-echoes-session][req:lifecycle-http-protocol-version-header]"
          "[req:streamable-http-protocol-version-header-is-negotiated]"
          "[req:streamable-http-client-delete-session][req:streamable-http-get-accept-sse]"
          "[req:streamable-http-client-may-get][req:streamable-http-client-post-every-message]"
          "[req:lifecycle-client-sends-initialized-after-init]") {
  for (const Version version :
       {Version{"2024-11-05", ""}, Version{"2025-03-26", ""}, Version{"2025-06-18", "2025-06-18"},
        Version{"2025-11-25", "2025-11-25"}}) {
    DYNAMIC_SECTION(version.negotiated) {
      test::on_shard([=](runtime::Shard& shard) { return headers_body(shard, version); });
    }
  }
}

Task<void> bad_session_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.legacy.session = "caf\xC3\xA9";
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(code_of(outcome) == "upstream.handshake");
  REQUIRE(scene.http.count("tools/call") == 0);
  co_await scene.end();
}

TEST_CASE("a session id that is not visible ASCII is refused") {
  test::on_shard(bad_session_body);
}

// --- A session that is gone

struct Expiry {
  const char* name;
  unsigned status;
  const char* type;
  const char* body;  // "ID" becomes the request's
};

Task<void> refuse_old(const Expiry& expiry, Scene& scene, const Seen& seen, Talk& talk) {
  if (seen.session == scene.legacy.session) return scene.legacy.usual(seen, talk);
  std::string body = expiry.body;
  if (const auto at = body.find("ID"); at != std::string::npos) body.replace(at, 2, seen.id);
  return talk.respond(expiry.status, expiry.type, std::move(body));
}

Task<void> expiry_body(runtime::Shard& shard, const Expiry& expiry) {
  Scene scene(shard);
  const auto serve = [&](const Seen& seen, Talk& talk) {
    return refuse_old(expiry, scene, seen, talk);
  };
  scene.legacy.call = serve;
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  co_await scene.http.until("tools/list", 1);
  scene.legacy.session = "session-2";  // the server restarts
  outcome = co_await server.call(call);
  CHECK(outcome.ok());
  CHECK(scene.legacy.initialized == 2);
  CHECK(scene.http.count("tools/call") == 3);
  CHECK(scene.http.last("initialize").session.empty());
  CHECK(scene.http.last("tools/call").session == "session-2");
  co_await scene.end();
}

TEST_CASE("C20: an expired session is opened anew and the call repeated, however it is said",
          "[req:streamable-http-client-reinit-on-404]") {
  const std::vector<Expiry> cases = {
      {"404", 404, "", ""},
      {"404 in text", 404, "text/plain", "no such session"},
      {"404 in JSON-RPC", 404, "application/json",
       R"({"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"Session not found"}})"},
      {"400 in text", 400, "text/plain", "Bad Request: invalid session"},
      {"400 in JSON-RPC without id", 400, "application/json",
       R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}})"},
      {"400 in JSON-RPC", 400, "application/json",
       R"({"jsonrpc":"2.0","id":ID,"error":{"code":-32600,"message":"Session expired"}})"},
      {"200 with -32600", 200, "application/json",
       R"({"jsonrpc":"2.0","id":ID,"error":{"code":-32600,"message":"session not found"}})"},
      {"200 with -32000", 200, "application/json",
       R"({"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"Session not found"}})"},
      {"200 with -32001", 200, "application/json",
       R"({"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"invalid session id"}})"},
      {"200 as a stream", 200, "text/event-stream",
       "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"error\":{\"code\":-32001,"
       "\"message\":\"Session not found\"}}\n\n"},
  };
  for (const Expiry& expiry : cases) {
    DYNAMIC_SECTION(expiry.name) {
      test::on_shard([&](runtime::Shard& shard) { return expiry_body(shard, expiry); });
    }
  }
}

Task<void> bad_request(const Seen&, Talk& talk) {
  return talk.respond(400, "text/plain", "session? what session");
}

Task<void> no_session_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.legacy.session.clear();
  scene.legacy.call = bad_request;
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(code_of(outcome) == "upstream.http_status");
  REQUIRE(scene.legacy.initialized == 1);
  REQUIRE(scene.http.count("tools/call") == 1);
  co_await scene.end();
  REQUIRE(scene.http.count("DELETE") == 0);
}

TEST_CASE("a server without sessions has none that could expire") {
  test::on_shard(no_session_body);
}

// --- Bodies

struct Body {
  const char* name;
  unsigned status;
  const char* type;
  std::string body;   // "ID" becomes the request's
  const char* found;  // "ok", or the code of the error
};

Task<void> answer_with(const Body& with, const Seen& seen, Talk& talk) {
  std::string body = with.body;
  for (auto at = body.find("ID"); at != std::string::npos; at = body.find("ID"))
    body.replace(at, 2, seen.id);
  return talk.respond(with.status, with.type, std::move(body));
}

Task<void> bodies_body(runtime::Shard& shard, const Body& with) {
  Scene scene(shard);
  scene.legacy.call = [&](const Seen& seen, Talk& talk) { return answer_with(with, seen, talk); };
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  CHECK((outcome.ok() ? "ok" : code_of(outcome)) == with.found);
  if (outcome.ok()) CHECK(outcome.result == R"({"n":1.0})");
  CHECK(outcome.error.size() < 1000);
  CHECK(outcome.error.find("top-secret") == std::string_view::npos);
  if (!outcome.ok()) CHECK(outcome.error.find("\"remedy\":\"") != std::string_view::npos);
  if (!outcome.ok()) CHECK(message_of(outcome).find("remote") != std::string::npos);
  scene.legacy.call = nullptr;
  outcome = co_await server.call(call);  // the link is none the worse for it
  CHECK(outcome.ok());
  CHECK(scene.legacy.initialized == 1);
  co_await scene.end();
}

TEST_CASE("C37: whatever a body or a stream holds, the call gets its answer or an error",
          "[req:streamable-http-client-supports-json-and-sse]") {
  const std::string ok = R"({"jsonrpc":"2.0","id":ID,"result":{"n":1.0}})";
  const std::string other = R"({"jsonrpc":"2.0","id":"other","result":{}})";
  const std::string note = R"({"jsonrpc":"2.0","method":"notifications/x"})";
  const std::string request = R"({"jsonrpc":"2.0","id":ID,"method":"ping"})";
  const char* const json = "application/json";
  const char* const sse = "text/event-stream";
  const std::vector<Body> cases = {
      {"JSON", 200, json, ok, "ok"},
      {"JSON as text/plain", 200, "text/plain", ok, "ok"},
      {"JSON without a type", 200, "", ok, "ok"},
      {"a batch", 200, json, "[" + note + "," + request + "," + ok + "]", "ok"},
      {"one message a line", 200, json, note + "\n" + ok + "\n", "ok"},
      {"two answers", 200, json, "[" + ok + "," + ok + "]", "ok"},
      {"another's answer first", 200, json, "[" + other + "," + ok + "]", "ok"},
      {"another's answer", 200, json, other, "upstream.bad_frame"},
      {"a request as the answer", 200, json, request, "upstream.bad_frame"},
      {"a notification as the answer", 200, json, note, "upstream.bad_frame"},
      {"nothing", 200, json, "", "upstream.bad_frame"},
      {"202", 202, "", "", "upstream.http_status"},
      {"204", 204, "", "", "upstream.http_status"},
      {"a web page", 200, "text/html", "<html>top-secret" + std::string(100000, 'x') + "</html>",
       "upstream.bad_frame"},
      {"500 with a web page", 500, "text/html", "<html>top-secret</html>", "upstream.http_status"},
      {"a redirect", 307, "", "", "upstream.http_status"},
      {"an error of the server", 500, json,
       R"({"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"remote","data":)"
       R"({"code":"own","remedy":"its own"}}})",
       "own"},
      {"a stream", 200, sse, "data: " + ok + "\n\n", "ok"},
      {"a stream with parameters", 200, "Text/Event-Stream; charset=utf-8", "data: " + ok + "\n\n",
       "ok"},
      {"CR LF, a comment, a mark, another type", 200, sse,
       "\xEF\xBB\xBF: hi\r\n\r\nevent: x\r\ndata:" + ok + "\r\n\r\n", "ok"},
      {"data in two lines", 200, sse,
       "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\ndata: \"result\":{\"n\":1.0}}\n\n", "ok"},
      {"a batch in a stream", 200, sse, "data: [" + note + "," + ok + "]\n\n", "ok"},
      {"junk before the answer", 200, sse, "data: hello\n\ndata: " + ok + "\n\n", "ok"},
      {"two answers in a stream", 200, sse, "data: " + ok + "\n\ndata: " + ok + "\n\n", "ok"},
      {"another's answer in a stream", 200, sse, "data: " + other + "\n\n",
       "upstream.disconnected"},
      {"a stream without its last newline", 200, sse, "data: " + ok, "upstream.disconnected"},
      {"an empty stream", 200, sse, "", "upstream.disconnected"},
  };
  for (const Body& with : cases) {
    DYNAMIC_SECTION(with.name) {
      test::on_shard([&](runtime::Shard& shard) { return bodies_body(shard, with); });
    }
  }
}

Task<void> huge_body(runtime::Shard& shard, const char* type, std::string before) {
  Scene scene(shard);
  scene.house.environment.limits.message_bytes = 64 * 1024;
  const Body with{"", 200, type, before + std::string(200 * 1024, 'x'), ""};
  scene.legacy.call = [&](const Seen& seen, Talk& talk) { return answer_with(with, seen, talk); };
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  CHECK(code_of(outcome) == "upstream.too_large");
  scene.legacy.call = nullptr;
  outcome = co_await server.call(call);
  CHECK(outcome.ok());
  co_await scene.end();
}

TEST_CASE("C14: an answer over the limit fails its own call only") {
  test::on_shard([](runtime::Shard& shard) { return huge_body(shard, "application/json", "\""); });
  test::on_shard(
      [](runtime::Shard& shard) { return huge_body(shard, "text/event-stream", "data: "); });
}

// --- Connections

Task<void> idle_body(runtime::Shard& shard) {
  Scene scene(shard);
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  co_await scene.http.until("tools/list", 1);
  scene.http.cut_all();
  runtime::Timer timer(shard);
  const bool heard = co_await timer.sleep_for(Milliseconds(0));  // the loop looks at descriptors
  REQUIRE(heard);
  outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(scene.legacy.initialized == 1);
  REQUIRE(scene.http.count("tools/call") == 2);
  co_await scene.end();
}

TEST_CASE("C24: a connection the server closed while idle is dialled anew on use") {
  test::on_shard(idle_body);
}

}  // namespace
}  // namespace mcpx::upstream
