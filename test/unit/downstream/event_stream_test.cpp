// EventStream and Replays by themselves: numbers, readers, bounds.
#include "downstream/event_stream.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "downstream/replays.hpp"
#include "json/json.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::downstream {
namespace {

using Kind = EventStream::Kind;
using Next = EventStream::Next;

std::shared_ptr<Session> session_named(std::string id) {
  auto session = std::make_shared<Session>();
  session->id = std::move(id);
  return session;
}

std::function<ReplayLimits()> limits_of(std::size_t events, std::size_t bytes, std::size_t total) {
  ReplayLimits limits;
  limits.events = events;
  limits.bytes = bytes;
  limits.total_bytes = total;
  return [limits] { return limits; };
}

std::vector<std::string> texts(const EventStream::Batch& batch) {
  std::vector<std::string> out;
  for (const EventStream::Event& event : batch.events)
    out.push_back(*event.text);
  return out;
}
using Texts = std::vector<std::string>;

TEST_CASE("event ids name the run, the shard, the stream and the event",
          "[req:streamable-http-event-id-encodes-stream]") {
  const auto id = parse_event_id("1f3a5c79-c2.1b.a0");
  REQUIRE(id);
  CHECK(id->run == "1f3a5c79");
  CHECK(id->kind == EventId::Kind::call);
  CHECK(id->shard == 2);
  CHECK(id->stream == 0x1b);
  CHECK(id->event == 0xa0);
  for (const char* wrong :
       {"", "-", "1f-", "1f-c", "1f-c0", "1f-c0.1", "1f-c0.1.", "1f-c0..1", "1f-x0.1.1",
        "1f-c0.1.1 ", "1f-c0.1.g", "1f-c-1.1.1", "1f-c0.1.11111111111111111"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_event_id(wrong));
  }
}

Task<void> kept_stream(runtime::Shard& shard) {
  Replays replays(shard, "run", limits_of(4, 1000, 1000));
  const auto session = session_named("a");
  const auto other = session_named("b");
  auto stream = std::make_shared<EventStream>(shard);
  replays.keep(stream, session, EventId::Kind::call, "7");
  CHECK(stream->id_of(3) == "run-c0.1.3");
  const auto first = stream->attach(0);
  for (const char* text : {"1", "2", "3"})
    stream->add(text, Kind::notification);
  EventStream::Batch batch = co_await stream->next(first);
  CHECK(texts(batch) == Texts{"1", "2", "3"});
  stream->leave(first);

  EventId id;
  id.stream = 1;
  id.event = 1;
  CHECK(replays.find(id, *session) == stream);
  CHECK_FALSE(replays.find(id, *other));  // another session's client gets nothing of it
  id.event = 9;
  CHECK_FALSE(replays.find(id, *session));

  // What was missed comes again to a second reader; the first, though it did not go, gets no more.
  const auto second = stream->attach(1);
  const auto third = stream->attach(2);
  batch = co_await stream->next(second);
  CHECK(batch.next == Next::superseded);
  stream->add("answer", Kind::response);
  stream->close();
  batch = co_await stream->next(third);
  CHECK(texts(batch) == Texts{"3", "answer"});
  batch = co_await stream->next(third);
  CHECK(batch.next == Next::complete);
  CHECK(replays.size() == 1);  // the client may not have read it yet
  replays.end_session(*session);
  CHECK(replays.size() == 0);
  CHECK(replays.bytes() == 0);
  CHECK(session->live.replay_events == 0);
  CHECK(session->live.replay_bytes == 0);
}

TEST_CASE("a kept stream is read again from any event on, by one reader at a time",
          "[req:streamable-http-server-no-cross-stream-replay][req:streamable-http-no-broadcast]") {
  test::on_shard(kept_stream);
}

Task<void> bounds(runtime::Shard& shard) {
  Replays replays(shard, "run", limits_of(4, 100, 150));
  const auto session = session_named("a");
  const auto other = session_named("b");
  auto older = std::make_shared<EventStream>(shard);
  auto newer = std::make_shared<EventStream>(shard);
  auto foreign = std::make_shared<EventStream>(shard);
  replays.keep(older, session, EventId::Kind::call, "1");
  replays.keep(newer, session, EventId::Kind::call, "2");
  replays.keep(foreign, other, EventId::Kind::call, "3");
  for (int i = 0; i < 3; ++i)
    older->add("old", Kind::notification);
  for (int i = 0; i < 3; ++i)
    newer->add("new", Kind::notification);
  CHECK(older->size() == 1);  // four events for the session, the oldest went
  CHECK(newer->size() == 3);
  newer->add(std::string(99, 'x'), Kind::notification);
  CHECK(older->empty());
  CHECK(session->live.replay_bytes == newer->bytes());
  CHECK(newer->bytes() <= 100);
  foreign->add(std::string(90, 'y'), Kind::notification);
  CHECK(replays.bytes() <= 150);  // over all sessions
  CHECK(foreign->size() == 1);
  co_return;
}

TEST_CASE("what is kept is bounded per session and in all, and the oldest goes first") {
  test::on_shard(bounds);
}

Task<void> large_answer(runtime::Shard& shard) {
  Replays replays(shard, "run", limits_of(100, 500, 10'000));
  const auto session = session_named("a");
  auto watched = std::make_shared<EventStream>(shard);
  replays.keep(watched, session, EventId::Kind::call, "1");
  const auto reader = watched->attach(0);
  watched->add(std::string(2'000, 'x'), Kind::response);
  watched->close();
  EventStream::Batch batch = co_await watched->next(reader);
  REQUIRE(batch.events.size() == 1);
  CHECK(batch.events.front().text->size() ==
        2'000);  // to a client that is there, whatever its size

  auto alone = std::make_shared<EventStream>(shard);
  replays.keep(alone, session, EventId::Kind::call, "\"seven\"");
  alone->add("progress", Kind::notification);
  alone->add(std::string(2'000, 'x'), Kind::response);
  alone->close();
  CHECK(session->live.replay_bytes <= 500);
  const auto late = alone->attach(1);
  batch = co_await alone->next(late);
  REQUIRE(batch.events.size() == 1);
  const std::string text = *batch.events.front().text;
  CHECK(json::find(text, "id") == "\"seven\"");
  CHECK(json::find(text, "error", "data") ==
        R"({"code":"replay.too_large","remedy":"call again, or raise limits.replay"})");
}

TEST_CASE("an answer too large to be kept for a client that is away becomes an error") {
  test::on_shard(large_answer);
}

Task<void> slow_reader(runtime::Shard& shard) {
  auto stream = std::make_shared<EventStream>(shard);
  const auto reader = stream->attach(0);
  stream->add("answer one", Kind::response);
  for (int i = 0; i < 1'000; ++i)
    stream->add(std::to_string(i), Kind::notification);
  CHECK(stream->size() <= EventStream::kWaitingEvents);
  const std::string large(1'000'000, 'x');
  for (int i = 0; i < 100; ++i)
    stream->add(large, Kind::notification);
  CHECK(stream->bytes() <= EventStream::kWaitingBytes);
  stream->add("answer two", Kind::response);
  stream->close();
  std::vector<std::string> all;
  while (true) {
    const EventStream::Batch batch = co_await stream->next(reader);
    if (batch.next == Next::complete) break;
    for (std::string& text : texts(batch))
      all.push_back(std::move(text));
  }
  CHECK(all.front() == "answer one");
  CHECK(all.back() == "answer two");
  CHECK(stream->empty());  // nothing stays of a stream that is not kept
}

TEST_CASE("what waits for a slow reader is bounded, and loses notifications, never a response") {
  test::on_shard(slow_reader);
}

}  // namespace
}  // namespace mcpx::downstream
