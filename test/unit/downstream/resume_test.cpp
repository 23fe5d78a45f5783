// Streams of calls that break off: the call goes on, and Last-Event-ID gets the rest of it.
#include <string>
#include <vector>

#include "unit/downstream/house.hpp"

namespace mcpx::test {
namespace {

using call::Outcome;

const std::string kCall =
    R"({"jsonrpc":"2.0","id":"c1","method":"tools/call","params":{"name":"alpha__echo",)"
    R"("_meta":{"progressToken":1}}})";
const std::string kQuietCall =
    R"({"jsonrpc":"2.0","id":"c1","method":"tools/call","params":{"name":"alpha__echo"}})";

FieldList call_fields(const std::string& session) {
  return with(kPlain, FieldList(1, {"Mcp-Session-Id", session}));
}

FieldList rest_fields(const std::string& session, const std::string& last) {
  FieldList fields = {{"Accept", "text/event-stream"}};
  fields.emplace_back("Mcp-Session-Id", session);
  fields.emplace_back("Last-Event-ID", last);
  return fields;
}

// A call that says what the test has it say, until it is let go.
struct Scripted {
  std::shared_ptr<call::NotificationSink> sink;
  runtime::Latch called, go;
};
Scripted* scripted = nullptr;

Task<Outcome> until_told(const call::Call& call) {
  scripted->sink = call.caller.sink;
  scripted->called.open();
  co_await scripted->go.wait();
  co_return Outcome::of_result(R"({"content":[]})", mcp::kLatestLegacy);
}

Task<Outcome> until_cancelled(const call::Call& call) {
  runtime::Latch cancelled;
  const auto subscription =
      call.caller.cancel->subscribe([&](const std::string&) { cancelled.open(); });
  call.caller.sink->notify("said");
  co_await cancelled.wait();
  co_return Outcome::of_failure(-31011, Error("request.cancelled", "cancelled"));
}

// The answer that `until_told` gives.
const std::string kAnswer = R"({"jsonrpc":"2.0","id":"c1","result":{"content":[]}})";

Task<void> broken_off(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  Scripted script_state;
  scripted = &script_state;
  script("alpha").call = until_told;
  const std::string session = co_await house.open_session("2025-11-25");
  FakeExchange post(shard, "POST", "/mcp", call_fields(session), kCall);
  house.tasks.spawn("call", house.serve(post));
  co_await script_state.called.wait();
  script_state.sink->notify("one");
  const auto one = co_await post.arrived.pop();
  CHECK(one == "one");
  REQUIRE(post.framed.size() == 1);  // the priming event stands first
  CHECK(post.framed.front().find("\ndata: \n\n") != std::string::npos);
  CHECK(post.framed.front().find("\nretry: ") != std::string::npos);

  post.leave();
  script_state.sink->notify("two");
  script_state.go.open();
  co_await house.tasks.join();
  CHECK(post.events.size() == 1);

  const std::string last = post.ids.front();
  FakeExchange rest(shard, "GET", "/mcp", rest_fields(session, last));
  co_await house.serve(rest);
  CHECK(rest.events == std::vector<std::string>{"two", kAnswer});
  CHECK(rest.ended);
  CHECK(rest.ids[0] != last);
  CHECK(rest.ids[1] != rest.ids[0]);

  // Once more, from the very start: what was written may not have arrived.
  const std::string start = last.substr(0, last.rfind('.')) + ".0";
  FakeExchange again(shard, "GET", "/mcp", rest_fields(session, start));
  co_await house.serve(again);
  CHECK(again.events == std::vector<std::string>{"one", "two", kAnswer});

  const std::string stranger = co_await house.open_session("2025-11-25");
  FakeExchange theirs(shard, "GET", "/mcp", rest_fields(stranger, last));
  co_await house.serve(theirs);
  CHECK(theirs.status == 400);
  CHECK(json::find(theirs.body, "error", "data", "code") == R"("stream.unknown")");
  co_await house.close();
}

TEST_CASE("a call whose connection breaks goes on, and its client fetches the rest",
          "[req:streamable-http-disconnect-not-cancel][req:streamable-http-server-may-resume]"
          "[req:streamable-http-sse-priming-event][req:streamable-http-event-id-unique]"
          "[req:streamable-http-server-no-cross-stream-replay]") {
  on_shard(broken_off);
}

Task<void> taken_over(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  Scripted script_state;
  scripted = &script_state;
  script("alpha").call = until_told;
  const std::string session = co_await house.open_session("2025-06-18");
  FakeExchange post(shard, "POST", "/mcp", call_fields(session), kCall);
  house.tasks.spawn("call", house.serve(post));
  co_await script_state.called.wait();
  script_state.sink->notify("one");
  const auto one = co_await post.arrived.pop();
  CHECK(one == "one");
  CHECK(post.framed.empty());  // a revision that does not know events without data

  // The network is gone for the client, but not yet for us.
  FakeExchange rest(shard, "GET", "/mcp", rest_fields(session, post.ids.front()));
  house.tasks.spawn("rest", house.serve(rest));
  co_await house.pause();
  CHECK(post.ended);
  script_state.sink->notify("two");
  const auto two = co_await rest.arrived.pop();
  CHECK(two == "two");
  script_state.go.open();
  co_await house.tasks.join();
  CHECK(rest.events == std::vector<std::string>{"two", kAnswer});
  CHECK(rest.ended);
  CHECK(post.events.size() == 1);
  co_await house.close();
}

TEST_CASE("a client that resumes takes the stream over, and no event goes both ways",
          "[req:streamable-http-no-broadcast]") {
  on_shard(taken_over);
}

Task<void> slow_calls(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  for (const char* revision : {"2025-11-25", "2025-06-18"}) {
    CAPTURE(revision);
    Scripted script_state;
    scripted = &script_state;
    script("alpha").call = until_told;
    const std::string session = co_await house.open_session(revision);
    FakeExchange post(shard, "POST", "/mcp", call_fields(session), kQuietCall);
    house.tasks.spawn("call", house.serve(post));
    runtime::Timer timer(shard);
    const TimePoint until = Clock::now() + Milliseconds(5'000);
    while (post.framed.empty() && revision == std::string("2025-11-25") && Clock::now() < until) {
      co_await timer.sleep_for(Milliseconds(10));
    }
    script_state.go.open();
    co_await house.tasks.join();
    CHECK(post.response() == kAnswer);
    if (revision == std::string("2025-11-25")) {
      CHECK(post.framed.size() == 1);
      CHECK_FALSE(post.ids.front().empty());
      CHECK(post.ended);
    } else {
      CHECK(post.content_type == "application/json");
    }
  }
  co_await house.close();
}

TEST_CASE("a call that takes its time gives its client an event to resume from",
          "[req:streamable-http-sse-priming-event]") {
  on_shard(slow_calls);
}

Task<void> cancelled(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = until_cancelled;
  const std::string session = co_await house.open_session("2025-11-25");
  FakeExchange post(shard, "POST", "/mcp", call_fields(session), kCall);
  house.tasks.spawn("call", house.serve(post));
  const auto said = co_await post.arrived.pop();
  CHECK(said == "said");
  const auto noted = co_await house.send(
      "POST", "/mcp", call_fields(session),
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c1"}})");
  CHECK(noted->status == 202);
  co_await house.tasks.join();
  CHECK(post.ended);
  FakeExchange rest(shard, "GET", "/mcp", rest_fields(session, post.ids.front()));
  co_await house.serve(rest);
  CHECK(rest.status == 400);  // else a client would come back for an answer that never comes
  co_await house.close();
}

TEST_CASE("a cancelled call has no rest to fetch") {
  on_shard(cancelled);
}

Task<void> modern(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  Scripted script_state;
  scripted = &script_state;
  script("alpha").call = until_told;
  const std::string body =
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"alpha__echo","_meta":{)"
      R"("progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
      R"("io.modelcontextprotocol/clientCapabilities":{}}}})";
  FakeExchange post(shard, "POST", "/mcp", modern_fields("tools/call", "alpha__echo"), body);
  house.tasks.spawn("call", house.serve(post));
  co_await script_state.called.wait();
  script_state.sink->notify("one");
  script_state.go.open();
  co_await house.tasks.join();
  REQUIRE(post.events.size() == 2);
  CHECK(post.ids == std::vector<std::string>{"", ""});
  CHECK(post.framed.empty());
  co_await house.close();
}

TEST_CASE("modern streams have no event ids", "[req:streamable-http-no-resumability]") {
  on_shard(modern);
}

// Answers when `n` calls are under way, so only where they are served at once.
int under_way = 0;
runtime::Latch* both = nullptr;

Task<Outcome> when_both(const call::Call& call) {
  call.caller.sink->notify("said by one");
  if (++under_way == 2) both->open();
  co_await both->wait();
  co_return Outcome::of_result(R"({"content":[]})", mcp::kLatestLegacy);
}

Task<void> batched(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  runtime::Latch latch;
  both = &latch;
  under_way = 0;
  script("alpha").call = when_both;
  const std::string session = co_await house.open_session("2025-03-26");
  const std::string body = "[" + kCall + R"(,{"jsonrpc":"2.0","method":"notifications/x"},)" +
                           R"({"jsonrpc":"2.0","id":7,"method":"ping"},)" + kCall + "]";
  const auto post = co_await house.send("POST", "/mcp", call_fields(session), body);
  REQUIRE(post->events.size() == 3);
  CHECK(post->events[0] == "said by one");
  CHECK(post->events[1] == "said by one");
  CHECK(post->events[2] ==
        "[" + kAnswer + R"(,{"jsonrpc":"2.0","id":7,"result":{}},)" + kAnswer + "]");
  CHECK(post->ended);

  FieldList stranger = call_fields("0000");
  const auto lost = co_await house.send("POST", "/mcp", stranger, body);
  CHECK(lost->status == 404);
  co_await house.close();
}

TEST_CASE(
    "elements of a batch are served at once, and what is said of them comes before the answers",
    "[req:messages-batch-may-send-must-receive]") {
  on_shard(batched);
}

const std::string kToolsChanged =
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";

FieldList stream_fields(const std::string& session) {
  FieldList fields = {{"Accept", "text/event-stream"}};
  fields.emplace_back("Mcp-Session-Id", session);
  return fields;
}

Task<void> own_stream(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string session = co_await house.open_session("2025-11-25");
  FakeExchange first(shard, "GET", "/mcp", stream_fields(session));
  house.tasks.spawn("first", house.serve(first));
  house.offer("beta", {"one"}, {}, {});
  const auto told = co_await first.arrived.pop();
  CHECK(told == kToolsChanged);
  REQUIRE(first.framed.size() == 1);
  first.leave();
  co_await house.tasks.join();

  // Nobody is there: what changes twice is told once, to whoever comes back.
  house.offer("beta", {"two"}, {}, {});
  co_await house.until_published();
  house.offer("beta", {"three"}, {}, {});
  co_await house.until_published();
  co_await house.pause();
  FakeExchange second(shard, "GET", "/mcp", rest_fields(session, first.ids.front()));
  house.tasks.spawn("second", house.serve(second));
  const auto missed = co_await second.arrived.pop();
  CHECK(missed == kToolsChanged);
  co_await house.pause();
  CHECK(second.events.size() == 1);
  CHECK(second.ids.front() != first.ids.front());
  second.leave();
  co_await house.tasks.join();

  // A client that does not ask for the rest gets a new stream, and the old one is forgotten.
  FakeExchange third(shard, "GET", "/mcp", stream_fields(session));
  house.tasks.spawn("third", house.serve(third));
  house.offer("beta", {"four"}, {}, {});
  const auto news = co_await third.arrived.pop();
  CHECK(news == kToolsChanged);
  third.leave();
  co_await house.tasks.join();
  FakeExchange fourth(shard, "GET", "/mcp", rest_fields(session, second.ids.front()));
  house.tasks.spawn("fourth", house.serve(fourth));
  co_await house.pause();
  CHECK(fourth.status == 200);
  CHECK(fourth.events.empty());  // what the old stream said is gone with it
  co_await house.close();
  CHECK(fourth.ended);
}

TEST_CASE("a session's own stream waits for its client, and coalesces what it missed",
          "[req:streamable-http-server-may-resume][req:streamable-http-get-close-any-time]") {
  on_shard(own_stream);
}

}  // namespace
}  // namespace mcpx::test
