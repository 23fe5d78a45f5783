// Calls over HTTP that their caller, their deadline or a stop ends before the answer.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>

#include "runtime/one_shot.hpp"
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

constexpr const char* kCall = R"({"name":"echo","arguments":{}})";

Task<void> say_nothing(const Seen&, Talk& talk) {
  return talk.until_gone();
}
Task<void> say_nothing_in_a_stream(const Seen&, Talk& talk) {
  co_await talk.begin_stream();
  co_await talk.event("id: 1\nretry: 60000\ndata:\n\n");
  co_await talk.until_gone();
}
Task<void> end_for_long(const Seen&, Talk& talk) {
  co_await talk.begin_stream();
  co_await talk.event("id: 1\nretry: 60000\ndata:\n\n");
  co_await talk.end_stream();
}

Task<void> cancel_body(runtime::Shard& shard, scripted::ScriptedServer::Serve serve) {
  Scene scene(shard);
  scene.legacy.call = std::move(serve);
  Server& server = scene.server(shard);
  runtime::CancelSource source;
  call::Call call = call_of(shard, kCall);
  call.caller.cancel = &source;
  call::Outcome outcome;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, call, outcome));
  co_await scene.http.until("tools/call", 1);
  source.cancel("enough of it");
  co_await group.join();
  CHECK(code_of(outcome) == "request.cancelled");
  co_await scene.http.until("notifications/cancelled", 1);
  const Seen& cancelled = scene.http.last("notifications/cancelled");
  CHECK(cancelled.params.find(R"("requestId":)" + scene.http.last("tools/call").id) !=
        std::string::npos);
  CHECK(cancelled.params.find("enough of it") != std::string::npos);
  CHECK(cancelled.session == "session-1");
  scene.legacy.call = nullptr;
  call.caller.cancel = nullptr;
  outcome = co_await server.call(call);  // case C23
  CHECK(outcome.ok());
  CHECK(scene.legacy.initialized == 1);
  co_await scene.end();
}

TEST_CASE("C23: a cancelled call is cancelled by a notification in a POST of its own",
          "[req:streamable-http-client-cancel-by-notification]"
          "[req:streamable-http-disconnect-not-cancel]") {
  for (auto* serve : {say_nothing, say_nothing_in_a_stream, end_for_long}) {
    test::on_shard([=](runtime::Shard& shard) { return cancel_body(shard, serve); });
  }
}

using Gate = runtime::OneShot<bool>;

// Answers, and keeps the stream and then the connection open for as long as the test and the client
// want.
Task<void> answer_and_linger(Gate& go_on, Gate& gone, const Seen& seen, Talk& talk) {
  co_await talk.begin_stream("Connection: close\r\n");
  std::string answer;
  rpc::append_result(answer, seen.id, R"({"content":[]})");
  co_await talk.event("data: " + answer + "\n\n");
  co_await go_on.wait();
  co_await talk.end_stream();
  co_await talk.until_gone();
  gone.set(true);
}

// Subscriptions have numbers, which start anew with each source: `shift` uses one up.
void shift(runtime::CancelSource& source) {
  const auto used = source.subscribe([](const std::string&) {});
}

// As a connection does it: what cancels one call is made anew for the next, in the same place.
Task<void> next_call_body(runtime::Shard& shard, int number) {
  Scene scene(shard);
  Gate go_on, gone;
  scene.legacy.call = [&](const Seen& seen, Talk& talk) {
    return answer_and_linger(go_on, gone, seen, talk);
  };
  Server& server = scene.server(shard);
  std::optional<runtime::CancelSource> source(std::in_place);
  call::Call call = call_of(shard, kCall);
  call.caller.cancel = &*source;
  if (number == 1) shift(*source);
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  source.emplace();
  if (number == 2) shift(*source);
  scene.legacy.call = say_nothing;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, call, outcome));
  co_await scene.http.until("tools/call", 2);
  go_on.set(true);
  co_await gone.wait();
  source->cancel("enough of it");
  co_await group.join();
  CHECK(code_of(outcome) == "request.cancelled");
  co_await scene.end();
}

TEST_CASE("what is left of a stream after its answer has nothing to do with the next call") {
  for (const int number : {0, 1, 2}) {
    test::on_shard([=](runtime::Shard& shard) { return next_call_body(shard, number); });
  }
}

Task<void> timeout_body(runtime::Shard& shard, scripted::ScriptedServer::Serve serve) {
  Scene scene(shard);
  scene.house.config.call_timeout = Milliseconds(200);
  scene.legacy.call = std::move(serve);
  Server& server = scene.server(shard);
  server.start();
  co_await scene.http.until("tools/list", 1);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  CHECK(code_of(outcome) == "upstream.timeout");
  co_await scene.http.until("notifications/cancelled", 1);
  scene.legacy.call = nullptr;
  outcome = co_await server.call(call);
  CHECK(outcome.ok());
  CHECK(scene.legacy.initialized == 1);
  co_await scene.end();
}

TEST_CASE("C23: a call that runs out of time is cancelled, and the next one works",
          "[req:lifecycle-timeouts-cancel-on-expiry]") {
  for (auto* serve : {say_nothing, say_nothing_in_a_stream, end_for_long}) {
    test::on_shard([=](runtime::Shard& shard) { return timeout_body(shard, serve); });
  }
}

Task<void> stop_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.house.config.stop_grace = Milliseconds(1);
  scene.legacy.call = end_for_long;
  scene.legacy.get = say_nothing;  // not even a head
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(server, call, outcome));
  co_await scene.http.until("tools/call", 1);
  co_await scene.http.until("GET", 1);
  co_await scene.end();
  co_await group.join();
  REQUIRE_FALSE(outcome.ok());
}

TEST_CASE("a stop ends the GET stream, and calls between two streams") {
  test::on_shard(stop_body);
}

}  // namespace
}  // namespace mcpx::upstream
