// Streams of a legacy server over HTTP: the one that is listened to, and those that break.
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
using test::call_into;
using Box = runtime::Mailbox<std::string>;

constexpr const char* kCall = R"({"name":"echo","arguments":{}})";

std::string event_of(std::string_view json) {
  return "event: message\ndata: " + std::string(json) + "\n\n";
}
std::string note(std::string_view method, std::string_view params = {}) {
  std::string out;
  rpc::append_notification(out, method, params);
  return event_of(out);
}
std::string answer_to(const std::string& id) {
  std::string out;
  rpc::append_result(out, id, R"({"content":[]})");
  return event_of(out);
}

// Keeps what a caller is told.
class Sink final : public call::NotificationSink {
 public:
  void notify(std::string json) override { told.push_back(std::move(json)); }
  std::vector<std::string> told;
};

Task<void> from_box(std::vector<std::unique_ptr<Box>>& boxes, Talk& talk) {
  boxes.push_back(std::make_unique<Box>(64));
  Box& box = *boxes.back();
  co_await talk.begin_stream();
  co_await talk.stream_from(box);
}

// A scene whose GET streams a test feeds.
struct Listening : Scene {
  explicit Listening(runtime::Shard& shard) : Scene(shard) {
    legacy.get = [this](const Seen&, Talk& talk) { return from_box(boxes, talk); };
  }
  Task<void> open(runtime::Shard& shard) {
    server(shard).start();
    co_await http.until("GET", 1);
    co_await http.until("tools/list", 1);
  }
  void close_boxes() {
    for (auto& box : boxes)
      box->close();
  }
  std::vector<std::unique_ptr<Box>> boxes;
};

Task<void> changed_body(runtime::Shard& shard) {
  Listening scene(shard);
  co_await scene.open(shard);
  REQUIRE(scene.boxes.at(0)->push(note("notifications/tools/list_changed")));
  co_await scene.http.until("tools/list", 2);
  scene.close_boxes();
  co_await scene.end();
}

TEST_CASE("a change announced on the GET stream is read") {
  test::on_shard(changed_body);
}

Task<void> asked_body(runtime::Shard& shard) {
  Listening scene(shard);
  scene.house.config.roots = {{"file:///work", "work"}};
  co_await scene.open(shard);
  const std::vector<std::string> questions = {
      R"({"jsonrpc":"2.0","id":"p-1","method":"ping"})",
      R"({"jsonrpc":"2.0","id":"r-1","method":"roots/list"})",
      R"([{"jsonrpc":"2.0","id":"e-1","method":"elicitation/create","params":{}}])",
  };
  for (const std::string& question : questions)
    REQUIRE(scene.boxes.at(0)->push(event_of(question)));
  co_await scene.http.until("(answer)", 3);
  for (const Seen& seen : scene.http.seen) {
    if (seen.method != "(answer)") continue;
    CHECK(seen.session == "session-1");
    CHECK(seen.version == "2025-11-25");
    if (seen.id == "\"p-1\"") CHECK(seen.answer == "{}");
    if (seen.id == "\"r-1\"") CHECK(seen.answer.find("file:///work") != std::string::npos);
    if (seen.id == "\"e-1\"") CHECK(seen.answer.find("-32601") != std::string::npos);
  }
  scene.close_boxes();
  co_await scene.end();
}

TEST_CASE("what a server asks on the GET stream is answered in a POST of its own",
          "[req:ping-receiver-responds-promptly-empty]"
          "[req:streamable-http-client-post-every-message]") {
  test::on_shard(asked_body);
}

Task<void> not_offered_body(runtime::Shard& shard) {
  Scene scene(shard);
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  for (int i = 0; i < 3; ++i) {
    call::Outcome outcome = co_await server.call(call);
    REQUIRE(outcome.ok());
  }
  co_await scene.http.until("GET", 1);
  co_await scene.http.until("tools/list", 1);
  co_await scene.end();
  REQUIRE(scene.http.count("GET") == 1);
}

TEST_CASE("a server without a GET stream is asked for one once") {
  test::on_shard(not_offered_body);
}

Task<void> reopened_body(runtime::Shard& shard) {
  Listening scene(shard);
  co_await scene.open(shard);
  REQUIRE(scene.boxes.at(0)->push("retry: 5\ndata:\n\n"));
  scene.boxes.at(0)->close();
  co_await scene.http.until("GET", 2);
  REQUIRE(scene.http.last("GET").last_event_id.empty());
  co_await scene.http.until("tools/list", 2);  // what was said meanwhile is lost

  REQUIRE(scene.boxes.at(1)->push("id: seven\nretry: 5\ndata:\n\n"));
  scene.boxes.at(1)->close();
  co_await scene.http.until("GET", 3);
  REQUIRE(scene.http.last("GET").last_event_id == "seven");
  REQUIRE(scene.boxes.at(2)->push(note("notifications/tools/list_changed")));
  co_await scene.http.until("tools/list", 3);
  scene.close_boxes();
  co_await scene.end();
  REQUIRE(scene.legacy.initialized == 1);
}

TEST_CASE("a GET stream that ends is opened again: resumed by its last id, else with a re-list",
          "[req:streamable-http-client-resume-with-last-event-id]"
          "[req:streamable-http-client-respects-retry]") {
  test::on_shard(reopened_body);
}

Task<void> progress_then_wait(std::string& token, Box& release, const Seen& seen, Talk& talk) {
  token = seen.token;
  auto go = co_await release.pop();
  static_cast<void>(go);
  co_await talk.result(seen, R"({"content":[]})");
}

Task<void> elsewhere_body(runtime::Shard& shard) {
  Listening scene(shard);
  std::string token;
  Box release(1);
  scene.legacy.call = [&](const Seen& seen, Talk& talk) {
    return progress_then_wait(token, release, seen, talk);
  };
  co_await scene.open(shard);
  auto sink = std::make_shared<Sink>();
  call::Call call = call_of(shard, kCall);
  call.caller.sink = sink;
  call.caller.progress_token = "\"mine\"";
  call.caller.log_level = "info";
  call::Outcome outcome;
  runtime::TaskGroup group(shard);
  group.spawn("call", call_into(*scene.upstream, call, outcome));
  co_await scene.http.until("tools/call", 1);
  REQUIRE_FALSE(token.empty());
  Box& box = *scene.boxes.at(0);
  REQUIRE(box.push(
      note("notifications/progress", R"({"progressToken":)" + token + R"(,"progress":1})")));
  REQUIRE(box.push(note("notifications/progress", R"({"progressToken":"none","progress":1})")));
  REQUIRE(box.push(note("notifications/message", R"({"level":"error","data":"x"})")));
  REQUIRE(box.push(note("notifications/tools/list_changed")));
  co_await scene.http.until("tools/list", 2);  // all of it was read
  REQUIRE(release.push("go"));
  co_await group.join();
  REQUIRE(outcome.ok());
  REQUIRE(sink->told.size() == 2);
  REQUIRE(sink->told[0].find(R"("progressToken":"mine")") != std::string::npos);
  REQUIRE(sink->told[1].find(R"("level":"error")") != std::string::npos);
  scene.close_boxes();
  co_await scene.end();
}

TEST_CASE("progress and log messages on the GET stream reach the call they are for") {
  test::on_shard(elsewhere_body);
}

// --- A stream that breaks before the answer

enum class Ending { clean, cut };

struct Break {
  Ending ending = Ending::clean;
  std::string before = "id: e-1\nretry: 20\ndata:\n\n";  // on the POST's stream
  int rounds = 1;                                        // GETs until the answer
  unsigned status = 200;                                 // of a GET
  std::string call_id;
  TimePoint ended, asked;
  int gets = 0;
};

Task<void> break_off(Break& b, const Seen& seen, Talk& talk) {
  b.call_id = seen.id;
  co_await talk.begin_stream();
  co_await talk.event(b.before);
  if (b.ending == Ending::clean) co_await talk.end_stream();
  b.ended = Clock::now();
  if (b.ending == Ending::cut) talk.cut();
}

Task<void> go_on(Break& b, const Seen& seen, Talk& talk) {
  if (seen.last_event_id.empty()) {
    co_await talk.respond(405, "", "");
    co_return;
  }
  ++b.gets;
  b.asked = Clock::now();
  if (b.status != 200) {
    co_await talk.respond(b.status, "", "");
    co_return;
  }
  CHECK(seen.last_event_id == "e-" + std::to_string(b.gets));
  CHECK(seen.accept == "text/event-stream");
  CHECK(seen.session == "session-1");
  co_await talk.begin_stream();
  if (b.gets < b.rounds) {
    co_await talk.event("id: e-" + std::to_string(b.gets + 1) + "\nretry: 1\ndata:\n\n");
  } else {
    co_await talk.event(note("notifications/tools/list_changed") + answer_to(b.call_id));
  }
  co_await talk.end_stream();
}

Task<void> end_soon(std::string& id, const Seen& seen, Talk& talk) {
  id = seen.id;
  co_await talk.begin_stream();
  co_await talk.event("id: 1\nretry: 1\ndata:\n\n");
  co_await talk.end_stream();
}

Task<void> listened_to(Box& box, Talk& talk) {
  co_await talk.begin_stream();
  co_await talk.stream_from(box);
}

Task<void> break_body(runtime::Shard& shard, Break& b, std::string& found) {
  Scene scene(shard);
  scene.house.config.call_timeout = Milliseconds(20'000);
  scene.legacy.call = [&](const Seen& seen, Talk& talk) { return break_off(b, seen, talk); };
  scene.legacy.get = [&](const Seen& seen, Talk& talk) { return go_on(b, seen, talk); };
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome = co_await server.call(call);
  found = outcome.ok() ? "ok" : code_of(outcome);
  if (!outcome.ok()) CHECK(outcome.error.find("\"remedy\":\"") != std::string_view::npos);
  CHECK(scene.http.count("tools/call") == 1);
  scene.legacy.call = nullptr;
  outcome = co_await server.call(call);
  CHECK(outcome.ok());
  CHECK(scene.legacy.initialized == 1);
  co_await scene.end();
}

std::string broken(Break& b) {
  std::string found;
  test::on_shard([&](runtime::Shard& shard) { return break_body(shard, b, found); });
  return found;
}

TEST_CASE(
    "a stream that ends before the answer is asked for again, not before its time",
    "[req:streamable-http-client-polls-after-close][req:streamable-http-client-respects-retry]"
    "[req:streamable-http-client-resume-with-last-event-id]") {
  Break b;
  b.ending = GENERATE(Ending::clean, Ending::cut);
  SECTION("and brings the answer") {
    REQUIRE(broken(b) == "ok");
    REQUIRE(b.gets == 1);
    REQUIRE(b.asked - b.ended >= Milliseconds(20));
  }
  SECTION("as often as the server wants") {
    b.rounds = 4;
    REQUIRE(broken(b) == "ok");
    REQUIRE(b.gets == 4);
  }
}

TEST_CASE("a stream that cannot be resumed fails its call at once") {
  Break b;
  SECTION("no event had an id") {
    b.before = "data:\n\n";
    b.ending = Ending::cut;
    REQUIRE(broken(b) == "upstream.disconnected");
    REQUIRE(b.gets == 0);
  }
  SECTION("no event had an id, and it ended as if complete") {
    b.before = "retry: 1\ndata:\n\n";
    REQUIRE(broken(b) == "upstream.disconnected");
    REQUIRE(b.gets == 0);
  }
  SECTION("the server does not offer GET") {
    b.status = 405;
    REQUIRE(broken(b) == "upstream.disconnected");
    REQUIRE(b.gets == 1);
  }
  SECTION("the server has forgotten the session: the call may have been carried out") {
    b.status = 404;
    REQUIRE(broken(b) == "upstream.disconnected");
    REQUIRE(b.gets == 1);
  }
}

Task<void> answered_elsewhere_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.house.config.call_timeout = Milliseconds(600'000);
  auto box = std::make_unique<Box>(64);
  std::string id;
  scene.legacy.call = [&id](const Seen& seen, Talk& talk) { return end_soon(id, seen, talk); };
  scene.legacy.get = [&](const Seen& seen, Talk& talk) {
    return seen.last_event_id.empty() ? listened_to(*box, talk) : talk.until_gone();
  };
  Server& server = scene.server(shard);
  server.start();
  co_await scene.http.until("GET", 1);
  const call::Call call = call_of(shard, kCall);
  call::Outcome outcome;
  runtime::TaskGroup calls(shard);
  calls.spawn("call", call_into(server, call, outcome));
  co_await scene.http.until("GET", 2);
  REQUIRE(box->push(answer_to(id)));
  co_await calls.join();
  REQUIRE(outcome.ok());
  box->close();
  co_await scene.end();
}

TEST_CASE("an answer on the stream that is listened to ends the wait for the resumed one") {
  test::on_shard(answered_elsewhere_body);
}

}  // namespace
}  // namespace mcpx::upstream
