// What becomes of sessions and of calls that were given up, over legacy Streamable HTTP.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/scripted_http.hpp"

namespace mcpx::upstream {
namespace {

using scripted::call_of;
using scripted::code_of;
using scripted::Scene;
using scripted::Seen;
using scripted::Talk;
using test::call_into;
using Box = runtime::Mailbox<std::string>;

constexpr const char* kCall = R"({"name":"echo","arguments":{}})";

Task<void> say_nothing(const Seen&, Talk& talk) {
  return talk.until_gone();
}

Task<void> silent_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.house.config.protocol = config::Protocol::legacy;
  scene.house.config.start_timeout = Milliseconds(100);
  scene.legacy.other = say_nothing;
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  CHECK(code_of(outcome) == "upstream.start_timeout");
  co_await scene.end();
  CHECK(scene.http.count("initialize") >= 1);
  CHECK(scene.http.count("notifications/cancelled") == 0);
}

TEST_CASE("an initialize that is not answered is given up, never cancelled",
          "[req:cancellation-client-must-not-cancel-initialize]"
          "[req:lifecycle-cancel-not-initialize]") {
  test::on_shard(silent_body);
}

// Streams to who names the session it knows; 404 to who names another.
Task<void> stream_of_session(Scene& scene, Box& box, const Seen& seen, Talk& talk) {
  if (seen.session != scene.legacy.session) {
    co_await talk.respond(404, "text/plain", "no such session");
    co_return;
  }
  co_await talk.begin_stream();
  co_await talk.event("retry: 1\ndata:\n\n");
  co_await talk.stream_from(box);
}

Task<void> noticed_body(runtime::Shard& shard) {
  Scene scene(shard);
  Box first(4);
  Box second(4);
  scene.legacy.get = [&](const Seen& seen, Talk& talk) {
    return stream_of_session(scene, scene.legacy.initialized > 1 ? second : first, seen, talk);
  };
  Server& server = scene.server(shard);
  server.start();
  co_await scene.http.until("GET", 1);
  co_await scene.http.until("tools/list", 1);
  scene.legacy.session = "session-2";  // it restarts while nobody calls
  first.close();
  co_await scene.http.until("initialize", 2);
  co_await scene.http.until("tools/list", 2);
  co_await scene.http.until("GET", 3);
  CHECK(scene.http.last("GET").session == "session-2");
  second.close();
  co_await scene.end();
  CHECK(scene.http.last("DELETE").session == "session-2");
}

TEST_CASE("C20: a session that expired is noticed by the GET stream, before the next call",
          "[req:streamable-http-client-reinit-on-404]") {
  test::on_shard(noticed_body);
}

Task<void> answer_late(Box& release, const Seen& seen, Talk& talk) {
  co_await talk.begin_stream();
  auto go = co_await release.pop();
  static_cast<void>(go);
  std::string late;
  rpc::append_result(late, seen.id, R"({"late":true})");
  co_await talk.event("data: " + late + "\n\n");
  co_await talk.end_stream();
}

Task<void> from_box(Box& box, Talk& talk) {
  co_await talk.begin_stream();
  co_await talk.stream_from(box);
}

Task<void> late_body(runtime::Shard& shard) {
  Scene scene(shard);
  Box heard(4);
  Box release(1);
  scene.legacy.get = [&](const Seen&, Talk& talk) { return from_box(heard, talk); };
  scene.legacy.call = [&](const Seen& seen, Talk& talk) {
    return answer_late(release, seen, talk);
  };
  Server& server = scene.server(shard);
  server.start();
  co_await scene.http.until("GET", 1);
  co_await scene.http.until("tools/list", 1);
  runtime::CancelSource source;
  call::Call call = call_of(shard, kCall);
  call.caller.cancel = &source;
  call::Outcome outcome;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, call, outcome));
  co_await scene.http.until("tools/call", 1);
  source.cancel("enough");
  co_await group.join();
  CHECK(code_of(outcome) == "request.cancelled");
  REQUIRE(release.push("go"));
  std::string late;
  rpc::append_result(late, scene.http.last("tools/call").id, R"({"late":true})");
  REQUIRE(heard.push("data: " + late + "\n\n"));  // and once more where it does not belong
  REQUIRE(heard.push(
      "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"));
  co_await scene.http.until("tools/list", 2);
  scene.legacy.call = nullptr;
  call.caller.cancel = nullptr;
  outcome = co_await server.call(call);
  CHECK(outcome.ok());
  CHECK(outcome.result == R"({"content":[],"n":1.0})");
  heard.close();
  co_await scene.end();
}

TEST_CASE("C23: an answer that comes after the cancel is ignored",
          "[req:cancellation-sender-ignore-late-response][req:cancellation-handle-races]") {
  test::on_shard(late_body);
}

// --- The answer on the stream that was only to be listened to

Task<void> forget_the_stream(Seen& call, const Seen& seen, Talk& talk) {
  call = seen;
  co_await talk.begin_stream();
  co_await talk.event("id: 1\nretry: 60000\ndata:\n\n");
  co_await talk.end_stream();
}

Task<void> stray_body(runtime::Shard& shard) {
  Scene scene(shard);
  Box heard(4);
  Seen asked;
  scene.legacy.get = [&](const Seen&, Talk& talk) { return from_box(heard, talk); };
  scene.legacy.call = [&](const Seen& seen, Talk& talk) {
    return forget_the_stream(asked, seen, talk);
  };
  Server& server = scene.server(shard);
  server.start();
  co_await scene.http.until("GET", 1);
  co_await scene.http.until("tools/list", 1);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, call, outcome));
  co_await scene.http.until("tools/call", 1);
  std::string answer;
  rpc::append_result(answer, asked.id, R"({"content":[],"stray":1})");
  REQUIRE(heard.push("data: " + answer + "\n\n"));
  co_await group.join();
  CHECK(outcome.ok());
  CHECK(outcome.result == R"({"content":[],"stray":1})");
  CHECK(scene.http.count("GET") == 1);
  heard.close();
  co_await scene.end();
}

TEST_CASE("an answer that comes on the GET stream finds the request it is for") {
  test::on_shard(stray_body);
}

}  // namespace
}  // namespace mcpx::upstream
