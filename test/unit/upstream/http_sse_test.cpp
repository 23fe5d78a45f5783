// HTTP+SSE (2024-11-05), as a client: one stream down, POSTs up.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/scripted_http.hpp"

namespace mcpx::upstream {
namespace {

using scripted::call_of;
using scripted::code_of;
using scripted::House;
using scripted::message_of;
using scripted::ScriptedServer;
using scripted::Seen;
using scripted::Talk;
using test::call_into;

constexpr const char* kCall = R"({"name":"echo","arguments":{}})";

// A server of 2024-11-05: GET /sse opens the stream, POSTs go to what its first event says.
struct OldServer {
  explicit OldServer(runtime::Shard& shard)
      : http(shard, [this](const Seen& seen, Talk& talk) { return serve(seen, talk); }),
        house(shard, http.url("/sse")) {}

  Task<void> serve(const Seen& seen, Talk& talk) {
    if (seen.http == "GET") {
      boxes.push_back(std::make_unique<runtime::Mailbox<std::string>>(64));
      auto& box = *boxes.back();
      co_await talk.begin_stream();
      if (!endpoint.empty()) co_await talk.event("event: endpoint\ndata: " + endpoint + "\n\n");
      co_await talk.stream_from(box);
    } else if (seen.target == "/sse") {
      co_await talk.respond(405, "text/plain", "Method Not Allowed");
    } else if (post_status != 202) {
      co_await talk.respond(post_status, "text/plain", "no such session");
    } else {
      co_await talk.accepted();
      reply(seen);
    }
  }
  void reply(const Seen& seen) {
    if (seen.id.empty() || seen.method == "(answer)" || seen.method == silent) return;
    std::string raw = R"({"content":[]})";
    if (seen.method == "initialize") raw = scripted::initialized("2024-11-05");
    if (seen.method == "tools/list") raw = R"({"tools":[{"name":"echo"}]})";
    std::string text;
    rpc::append_result(text, seen.id, raw);
    push(text);
  }
  void push(const std::string& json) {
    REQUIRE(boxes.back()->push("event: message\ndata: " + json + "\n\n"));
  }
  Task<void> end() {
    if (upstream) co_await upstream->stop(Clock::now() + Milliseconds(5000));
    for (auto& box : boxes)
      box->close();
    co_await http.stop();
  }
  Server& server(runtime::Shard& shard) {
    upstream = std::make_unique<Server>(shard, house.config, house.environment);
    return *upstream;
  }

  std::string endpoint = "/messages?sessionId=42";
  std::string silent;  // the method it does not answer
  unsigned post_status = 202;
  std::vector<std::unique_ptr<runtime::Mailbox<std::string>>> boxes;
  ScriptedServer http;
  House house;
  std::unique_ptr<Server> upstream;
};

Task<void> found_body(runtime::Shard& shard) {
  OldServer old(shard);
  Server& server = old.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(outcome.from == mcp::Revision::r2024_11_05);
  REQUIRE(old.http.count("GET") == 1);
  REQUIRE(old.http.count("initialize") == 2);  // refused at the URL, answered on the stream
  for (const Seen& seen : old.http.seen) {
    INFO(seen.http << " " << seen.target << " " << seen.method);
    CHECK(seen.authorization == "Bearer top-secret");
    CHECK(seen.session.empty());
    if (seen.method != "server/discover") CHECK(seen.version.empty());
    if (seen.http == "GET") CHECK(seen.accept == "text/event-stream");
    const bool probe = seen.target == "/sse";
    if (!probe) CHECK(seen.target == "/messages?sessionId=42");
  }
  REQUIRE(old.http.last("tools/call").target == "/messages?sessionId=42");
  co_await old.end();
}

TEST_CASE("a server that takes no POST at its URL is spoken to over HTTP+SSE",
          "[req:http-sse-client-post-to-endpoint][req:http-sse-client-backcompat-probe-any-4xx]"
          "[req:http-sse-client-backcompat-probe-400-404-405]") {
  test::on_shard(found_body);
}

Task<void> configured_body(runtime::Shard& shard) {
  OldServer old(shard);
  old.house.config.http_transport = config::HttpTransport::sse_only;
  Server& server = old.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(old.http.seen.front().http == "GET");
  REQUIRE(old.http.count("initialize") == 1);
  REQUIRE(old.http.count("server/discover") == 0);
  co_await old.end();
}

TEST_CASE("type: sse opens the stream first") {
  test::on_shard(configured_body);
}

Task<void> refused_body(runtime::Shard& shard, std::string endpoint) {
  OldServer old(shard);
  old.endpoint = std::move(endpoint);
  if (old.endpoint.empty()) old.house.config.start_timeout = Milliseconds(200);
  Server& server = old.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  CHECK(code_of(outcome) == "upstream.http_status");
  CHECK(message_of(outcome).find("405") != std::string::npos);
  CHECK(message_of(outcome).find("endpoint event") != std::string::npos);
  CHECK(old.http.count("tools/call") == 0);
  co_await old.end();
}

TEST_CASE("an endpoint of another origin is refused") {
  test::on_shard(
      [](runtime::Shard& shard) { return refused_body(shard, "http://evil.example/messages"); });
}
TEST_CASE("a stream without an endpoint event is no HTTP+SSE") {
  test::on_shard([](runtime::Shard& shard) { return refused_body(shard, std::string()); });
}

Task<void> lost_body(runtime::Shard& shard) {
  OldServer old(shard);
  Server& server = old.server(shard);
  server.start();
  co_await old.http.until("tools/list", 1);
  old.silent = "tools/call";
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, call, outcome));
  co_await old.http.until("tools/call", 1);
  old.boxes.back()->close();
  co_await group.join();
  REQUIRE(code_of(outcome) == "upstream.disconnected");
  old.silent.clear();
  outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(old.http.count("GET") == 2);
  co_await old.end();
}

TEST_CASE(
    "when the stream is lost so is the session: what waits is answered, the next call opens one") {
  test::on_shard(lost_body);
}

Task<void> forgotten_body(runtime::Shard& shard) {
  OldServer old(shard);
  Server& server = old.server(shard);
  server.start();
  co_await old.http.until("tools/list", 1);
  old.post_status = 400;
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(code_of(outcome) == "upstream.http_status");
  co_await old.end();
}

TEST_CASE("a POST that is refused answers its call at once") {
  test::on_shard(forgotten_body);
}

Task<void> unasked_body(runtime::Shard& shard) {
  OldServer old(shard);
  Server& server = old.server(shard);
  server.start();
  co_await old.http.until("tools/list", 1);
  old.push(R"({"jsonrpc":"2.0","id":"p","method":"ping"})");
  co_await old.http.until("(answer)", 1);
  REQUIRE(old.http.last("(answer)").target == "/messages?sessionId=42");
  old.push(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
  co_await old.http.until("tools/list", 2);

  old.silent = "tools/call";
  runtime::CancelSource source;
  call::Call call = call_of(shard, kCall);
  call.caller.cancel = &source;
  call::Outcome outcome;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, call, outcome));
  co_await old.http.until("tools/call", 1);
  source.cancel("enough");
  co_await group.join();
  REQUIRE(code_of(outcome) == "request.cancelled");
  co_await old.http.until("notifications/cancelled", 1);
  co_await old.end();
}

TEST_CASE("over HTTP+SSE requests are answered, changes read, cancels sent") {
  test::on_shard(unasked_body);
}

}  // namespace
}  // namespace mcpx::upstream
