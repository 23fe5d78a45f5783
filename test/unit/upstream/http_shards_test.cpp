// Calls from another shard than the server's own: what the home shard hears finds them there.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "runtime/hop.hpp"
#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/scripted_http.hpp"

namespace mcpx::upstream {
namespace {

using scripted::call_of;
using scripted::code_of;
using scripted::Scene;
using scripted::ScriptedServer;
using scripted::Seen;
using scripted::Talk;
using Box = runtime::Mailbox<std::string>;

constexpr const char* kCall = R"({"name":"echo","arguments":{}})";

class Sink final : public call::NotificationSink {
 public:
  void notify(std::string json) override {
    on_own_shard = on_own_shard && runtime::Shard::current().index() == 1;
    told.push_back(std::move(json));
  }
  std::vector<std::string> told;
  bool on_own_shard = true;
};

// What one call came to, seen from the test's shard once it is over.
struct Came {
  std::string code;  // "ok", or that of the error
  std::vector<std::string> told;
  bool on_own_shard = false;
};

Task<Came> call_there(runtime::Shard& other, Server& server, runtime::CancelSource* cancel) {
  auto sink = std::make_shared<Sink>();
  call::Call call = call_of(other, kCall);
  call.caller.sink = sink;
  call.caller.progress_token = "\"mine\"";
  call.caller.log_level = "info";
  call.caller.cancel = cancel;
  call::Outcome outcome = co_await server.call(call);
  Came came;
  came.code = outcome.ok() ? "ok" : code_of(outcome);
  came.told = sink->told;
  came.on_own_shard = sink->on_own_shard;
  co_return came;
}

Task<void> call_over(runtime::Shard& other, Server& server, runtime::CancelSource* cancel,
                     Came& came) {
  const std::function<Task<Came>()> there = [&other, &server, cancel] {
    return call_there(other, server, cancel);
  };
  came = co_await runtime::run_on<Came>(other, there);
}

// A second shard on a thread of its own, for as long as a test's body runs.
class Other {
 public:
  Other() { shard.start(); }
  ~Other() {
    shard.finish();
    shard.join();
  }
  runtime::Shard shard{1};
};

std::string event(std::string_view method, const std::string& params) {
  std::string out;
  rpc::append_notification(out, method, params);
  return "data: " + out + "\n\n";
}

Task<void> feed(Box& box, Talk& talk, std::string first) {
  co_await talk.begin_stream();
  if (!first.empty()) co_await talk.event(std::move(first));
  co_await talk.stream_from(box);
}

Task<void> wait_then_answer(Box& release, const Seen& seen, Talk& talk) {
  auto go = co_await release.pop();
  static_cast<void>(go);
  co_await talk.result(seen, R"({"content":[]})");
}

Task<void> heard_body(runtime::Shard& shard) {
  Other other;
  Scene scene(shard);
  scene.house.environment.shards = {&shard, &other.shard};
  Box box(16);
  Box release(1);
  scene.legacy.get = [&](const Seen&, Talk& talk) { return feed(box, talk, std::string()); };
  scene.legacy.call = [&](const Seen& seen, Talk& talk) {
    return wait_then_answer(release, seen, talk);
  };
  Server& server = scene.server(shard);
  server.start();
  co_await scene.http.until("GET", 1);
  co_await scene.http.until("tools/list", 1);
  Came came;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_over(other.shard, server, nullptr, came));
  co_await scene.http.until("tools/call", 1);
  const std::string token = scene.http.last("tools/call").token;
  const bool pushed = box.push(event("notifications/progress",
                                     R"({"progress":1,"progressToken":)" + token + "}")) &&
                      box.push(event("notifications/message", R"({"level":"error","data":1})")) &&
                      box.push(event("notifications/tools/list_changed", "{}"));
  REQUIRE(pushed);
  co_await scene.http.until("tools/list", 2);
  REQUIRE(release.push("go"));
  co_await group.join();
  CHECK(came.code == "ok");
  CHECK(came.told.size() == 2);
  CHECK(came.on_own_shard);
  box.close();
  co_await scene.end();
}

TEST_CASE("what a GET stream says reaches a call on another shard") {
  test::on_shard(heard_body);
}

// HTTP+SSE: the stream and every POST live on the home shard.
struct OldScene {
  explicit OldScene(runtime::Shard& shard)
      : http(shard, [this](const Seen& seen, Talk& talk) { return serve(seen, talk); }),
        house(shard, http.url("/sse")) {
    house.config.http_transport = config::HttpTransport::sse_only;
  }
  Task<void> serve(const Seen& seen, Talk& talk) {
    if (seen.http == "GET") return feed(box, talk, "event: endpoint\ndata: /post\n\n");
    return take(seen, talk);
  }
  Task<void> take(const Seen& seen, Talk& talk) {
    co_await talk.accepted();
    if (seen.id.empty() || seen.method == silent) co_return;
    std::string raw = R"({"content":[]})";
    if (seen.method == "initialize") raw = scripted::initialized("2024-11-05");
    if (seen.method == "tools/list") raw = R"({"tools":[]})";
    std::string out;
    rpc::append_result(out, seen.id, raw);
    if (seen.method == "tools/call") {
      const std::string params = R"({"progress":1,"progressToken":)" + seen.token + "}";
      const bool told = box.push(event("notifications/progress", params));
      CHECK(told);
    }
    const bool answered = box.push("data: " + out + "\n\n");
    CHECK(answered);
  }
  std::string silent;
  Box box{64};
  ScriptedServer http;
  scripted::House house;
};

Task<void> cancel_there(runtime::Shard& other, runtime::CancelSource& source) {
  const std::function<Task<bool>()> there = [&source]() -> Task<bool> {
    source.cancel("enough");
    return []() -> Task<bool> { co_return true; }();
  };
  const bool done = co_await runtime::run_on<bool>(other, there);
  static_cast<void>(done);
}

Task<void> old_body(runtime::Shard& shard) {
  Other other;
  OldScene scene(shard);
  scene.house.environment.shards = {&shard, &other.shard};
  Server server(shard, scene.house.config, scene.house.environment);
  server.start();
  co_await scene.http.until("tools/list", 1);
  Came came;
  co_await call_over(other.shard, server, nullptr, came);
  CHECK(came.code == "ok");
  CHECK(came.told.size() == 1);
  CHECK(came.on_own_shard);

  scene.silent = "tools/call";
  runtime::CancelSource source;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_over(other.shard, server, &source, came));
  co_await scene.http.until("tools/call", 2);
  co_await cancel_there(other.shard, source);
  co_await group.join();
  CHECK(came.code == "request.cancelled");
  co_await scene.http.until("notifications/cancelled", 1);
  co_await server.stop(Clock::now() + Milliseconds(5000));
  scene.box.close();
  co_await scene.http.stop();
}

TEST_CASE("over HTTP+SSE a call on another shard is answered, told and cancelled") {
  test::on_shard(old_body);
}

}  // namespace
}  // namespace mcpx::upstream
