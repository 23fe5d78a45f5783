// What a server over HTTP says while it works on a call, and the level of logging it is told.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/scripted_http.hpp"

namespace mcpx::upstream {
namespace {

using scripted::call_of;
using scripted::Scene;
using scripted::Seen;
using scripted::Talk;

constexpr const char* kCall = R"({"name":"echo","arguments":{}})";

struct Recorder final : call::NotificationSink {
  void notify(std::string json) override { got.push_back(std::move(json)); }
  std::vector<std::string> got;
};

std::string notification(const std::string& method, const std::string& params) {
  return R"(data: {"jsonrpc":"2.0","method":"notifications/)" + method + R"(","params":)" + params +
         "}\n\n";
}
std::string progress(const std::string& token, const std::string& number) {
  return notification("progress",
                      R"({"progressToken":)" + token + R"(,"progress":)" + number + "}");
}

Task<void> counting(const Seen& seen, Talk& talk) {
  co_await talk.begin_stream();
  std::string events = progress("999", "50");
  for (const char* number : {"1", "2.0", "2", "1", "3"})
    events += progress(seen.token, number);
  std::string answer;
  rpc::append_result(answer, seen.id, "{}");
  co_await talk.event(events + "data: " + answer + "\n\n");
  co_await talk.end_stream();
}

Task<void> progress_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.legacy.call = counting;
  Server& server = scene.server(shard);
  const auto sink = std::make_shared<Recorder>();
  call::Call call = call_of(shard, kCall);
  call.caller.sink = sink;
  call.caller.progress_token = "\"mine\"";
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(sink->got.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<std::string> numbers = {"1", "2.0", "3"};
    CHECK(json::find(sink->got[i], "params", "progress") == numbers[i]);
    CHECK(json::find(sink->got[i], "params", "progressToken") == "\"mine\"");
  }

  // One that did not ask gets none, but the server is asked all the same: for the deadline.
  const call::Call silent = call_of(shard, kCall);
  outcome = co_await server.call(silent);
  REQUIRE(outcome.ok());
  REQUIRE(sink->got.size() == 3);
  for (const Seen& seen : scene.http.seen)
    if (seen.method == "tools/call") CHECK(seen.token == seen.id);
  co_await scene.end();
}

TEST_CASE("progress over HTTP is passed on while it increases, and only the call's own",
          "[req:progress-must-increase][req:progress-token-unique-sender]") {
  test::on_shard(progress_body);
}

Task<void> logging(const Seen& seen, Talk& talk) {
  co_await talk.begin_stream();
  std::string answer;
  rpc::append_result(answer, seen.id, "{}");
  co_await talk.event(notification("message", R"({"level":"info","data":1})") +
                      notification("message", R"({"level":"error","data":2})") + "data: " + answer +
                      "\n\n");
  co_await talk.end_stream();
}

Task<void> level_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.legacy.call = logging;
  Server& server = scene.server(shard);
  const auto sink = std::make_shared<Recorder>();
  call::Call call = call_of(shard, kCall);
  call.caller.revision = mcp::Revision::r2025_11_25;
  call.caller.sink = sink;
  for (const std::string_view level : {"", "error", "warning", "error"}) {
    call.caller.log_level = level;
    call::Outcome outcome = co_await server.call(call);
    REQUIRE(outcome.ok());
  }
  REQUIRE(sink->got.size() == 2 + 1 + 1 + 1);
  REQUIRE(scene.http.count("logging/setLevel") == 2);
  REQUIRE(json::find_string(scene.http.last("logging/setLevel").params, "level") == "warning");

  // A session of its own knows nothing of it.
  scene.legacy.session = "session-2";
  scene.legacy.call = [](const Seen& seen, Talk& talk) {
    return seen.session == "session-2" ? logging(seen, talk) : talk.respond(404, "", "");
  };
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(scene.legacy.initialized == 2);
  REQUIRE(scene.http.count("logging/setLevel") == 3);
  REQUIRE(scene.http.last("logging/setLevel").session == "session-2");
  co_await scene.end();
}

TEST_CASE("a legacy server over HTTP is told the least level asked for, in each session",
          "[req:logging-client-may-setlevel]") {
  test::on_shard(level_body);
}

}  // namespace
}  // namespace mcpx::upstream
