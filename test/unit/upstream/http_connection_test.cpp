// Connections of an HTTP link: how they are made, kept and how long they are waited on.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "runtime/timer.hpp"
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
using Box = runtime::Mailbox<std::string>;

constexpr const char* kCall = R"({"name":"echo","arguments":{}})";

std::string answer_to(const Seen& seen) {
  std::string out;
  rpc::append_result(out, seen.id, R"({"content":[]})");
  return "data: " + out + "\n\n";
}

Task<void> stream_answer(const Seen& seen, Talk& talk) {
  co_await talk.begin_stream();
  co_await talk.event(answer_to(seen));
  co_await talk.event(": the end follows\n\n");
  co_await talk.end_stream();
}

Task<void> kept_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.legacy.call = stream_answer;
  Server& server = scene.server(shard);
  server.start();
  co_await scene.http.until("tools/list", 1);
  co_await scene.http.until("GET", 1);
  const call::Call call = call_of(shard, kCall);
  for (int i = 0; i < 20; ++i) {
    call::Outcome outcome = co_await server.call(call);
    REQUIRE(outcome.ok());
  }
  CHECK(scene.http.connections < 10);
  co_await scene.end();
}

TEST_CASE("the connection of a stream that gave its answer serves again") {
  test::on_shard(kept_body);
}

Task<void> no_authority_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.house.config.url = "https://127.0.0.1:1/mcp";
  scene.house.config.tls.ca = "/no/such/authority.pem";
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  CHECK(code_of(outcome) == "upstream.tls");
  CHECK(message_of(outcome).find("remote") != std::string::npos);
  CHECK(message_of(outcome).find("/no/such/authority.pem") != std::string::npos);
  co_await scene.end();
}

TEST_CASE("a certificate file that cannot be read is an error of the server it is for") {
  test::on_shard(no_authority_body);
}

Task<void> proxy_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.house.config.proxy = scene.http.url("");
  scene.house.config.url = "http://upstream.invalid/mcp";
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  CHECK(outcome.ok());
  CHECK(scene.http.last("tools/call").target == "/mcp");
  co_await scene.end();
}

TEST_CASE("a configured proxy is asked instead of the server") {
  test::on_shard(proxy_body);
}

// --- Progress that comes another way than the answer

Task<void> from_box(Box& box, Talk& talk) {
  co_await talk.begin_stream();
  co_await talk.stream_from(box);
}

// Works for longer than call_timeout, and says on the GET stream that it does.
Task<void> work_slowly(runtime::Shard& shard, Box& box, const Seen& seen, Talk& talk) {
  runtime::Timer timer(shard);
  co_await talk.begin_stream();
  for (int i = 1; i <= 15; ++i) {
    const bool slept = co_await timer.sleep_for(Milliseconds(100));
    std::string note;
    rpc::append_notification(
        note, "notifications/progress",
        R"({"progressToken":)" + seen.token + R"(,"progress":)" + std::to_string(i) + "}");
    const bool pushed = box.push("data: " + note + "\n\n");
    CHECK(slept);
    CHECK(pushed);
  }
  co_await talk.event(answer_to(seen));
  co_await talk.end_stream();
}

class Sink final : public call::NotificationSink {
 public:
  void notify(std::string) override { ++told; }
  int told = 0;
};

Task<void> moved_body(runtime::Shard& shard) {
  Scene scene(shard);
  Box box(16);
  scene.house.config.call_timeout = Milliseconds(1'000);
  scene.legacy.get = [&](const Seen&, Talk& talk) { return from_box(box, talk); };
  scene.legacy.call = [&](const Seen& seen, Talk& talk) {
    return work_slowly(shard, box, seen, talk);
  };
  Server& server = scene.server(shard);
  server.start();
  co_await scene.http.until("GET", 1);
  auto sink = std::make_shared<Sink>();
  call::Call call = call_of(shard, kCall);
  call.caller.sink = sink;
  call.caller.progress_token = "7";
  call::Outcome outcome = co_await server.call(call);
  CHECK(outcome.ok());
  CHECK(sink->told >= 10);  // the last ones may come after the answer, another way
  box.close();
  co_await scene.end();
}

TEST_CASE("progress on the GET stream moves the deadline of a call whose own stream is read",
          "[req:lifecycle-timeouts-may-reset-on-progress]") {
  test::on_shard(moved_body);
}

}  // namespace
}  // namespace mcpx::upstream
