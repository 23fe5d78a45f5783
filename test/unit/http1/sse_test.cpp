#include "http1/sse.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unit/http1/feeding.hpp"

using namespace mcpx;
using namespace mcpx::http1;

namespace {

struct Expected {
  std::string type, data;
  std::optional<std::string> id = std::nullopt;
  std::optional<unsigned> retry = std::nullopt;
};

struct Case {
  const char* name;
  std::string bytes;
  std::vector<Expected> events;
};

std::vector<SseEvent> parse(const std::vector<std::string_view>& pieces) {
  SseParser parser(4096);
  std::vector<SseEvent> all;
  for (const auto piece : pieces) {
    parser.feed(piece);
    while (auto event = parser.next())
      all.push_back(*event);
  }
  CHECK_FALSE(parser.overflowed());
  return all;
}

const std::vector<Case>& cases() {
  using V = std::vector<Expected>;
  static const std::vector<Case> table = {
      {"LF", "event: message\ndata: {}\n\n", V{{"message", "{}"}}},
      {"CRLF", "event: message\r\ndata: {}\r\n\r\ndata: 2\r\n\r\n",
       V{{"message", "{}"}, {"message", "2"}}},
      {"CR", "data: 1\r\rdata: 2\r\r", V{{"message", "1"}, {"message", "2"}}},
      {"line ends mixed", "data: 1\r\n\rdata: 2\n\r\ndata: 3\r\r",
       V{{"message", "1"}, {"message", "2"}, {"message", "3"}}},
      {"byte order mark",
       "\xEF\xBB\xBF"
       "data: 1\n\n",
       V{{"message", "1"}}},
      {"only one byte order mark",
       "\xEF\xBB\xBF\xEF\xBB\xBF"
       "data: 1\n\ndata: 2\n\n",
       V{{"message", "2"}}},
      {"a mark later is data",
       "data: 1\n\n\xEF\xBB\xBF"
       "data: 2\n\ndata: \xEF\xBB\xBF\n\n",
       V{{"message", "1"}, {"message", "\xEF\xBB\xBF"}}},
      {"not quite a mark", "\xEF\xBB: x\ndata: 1\n\n", V{{"message", "1"}}},
      {"comments", ": hi\n:\n\ndata: 1\n: inside\ndata: 2\n\n: bye\n\n", V{{"message", "1\n2"}}},
      {"multi-line data", "data: a\ndata:\ndata:  b\n\n", V{{"message", "a\n\n b"}}},
      {"empty data", "data\n\ndata\ndata\n\ndata:", V{{"message", ""}, {"message", "\n"}}},
      {"no data, no event", "event: x\n\ndata: 1\n\n", V{{"message", "1"}}},
      {"other type", "event: endpoint\ndata: /m?x\n\ndata: 2\n\n",
       V{{"endpoint", "/m?x"}, {"message", "2"}}},
      {"empty type", "event: x\nevent:\ndata: 1\n\n", V{{"message", "1"}}},
      {"no space after colon", "data:a\ndata:b:c\n\n", V{{"message", "a\nb:c"}}},
      {"id", "id: 7\ndata: 1\n\ndata: 2\n\n", V{{"message", "1", "7"}, {"message", "2"}}},
      {"empty id", "id\ndata: 1\n\n", V{{"message", "1", ""}}},
      {"id with NUL", std::string("id: 1\nid: a\0b\ndata: 1\n\n", 23), V{{"message", "1", "1"}}},
      {"id without data", "id: 7\n\n", V{{"message", "", "7"}}},
      {"priming event", "id: 7\ndata:\n\n", V{{"message", "", "7"}}},
      {"retry", "retry: 1500\n\n", V{{"message", "", std::nullopt, 1500U}}},
      {"retry not a number", "retry: 1s\nretry: -1\nretry:\nretry: 1 \ndata: 1\n\n",
       V{{"message", "1"}}},
      {"retry beyond measure", "retry: 99999999999999999999\n\n",
       V{{"message", "", std::nullopt, 4294967295U}}},
      {"unknown fields", "foo: bar\nData: 2\n data: 3\ndata: 1\n\n", V{{"message", "1"}}},
      {"cut off", "data: 1\n\ndata: 2\n", V{{"message", "1"}}},
      {"nothing", "", V{}},
      {"blank lines", "\n\n\r\n\r\r", V{}},
  };
  return table;
}

}  // namespace

TEST_CASE("C37: an event stream is read the same however it is split",
          "[req:streamable-http-sse-comment-keepalive]") {
  for (const auto& c : cases()) {
    DYNAMIC_SECTION(c.name) {
      for (const auto& pieces : test::splits(c.bytes)) {
        const auto events = parse(pieces);
        REQUIRE(events.size() == c.events.size());
        for (std::size_t i = 0; i < events.size(); ++i) {
          CHECK(events[i].type == c.events[i].type);
          CHECK(events[i].data == c.events[i].data);
          CHECK(events[i].id == c.events[i].id);
          CHECK(events[i].retry_ms == c.events[i].retry);
        }
      }
    }
  }
}

TEST_CASE("an event that ends in CR does not wait for the byte after it") {
  SseParser parser(100);
  parser.feed("data: 1\r\r");
  const auto event = parser.next();
  REQUIRE(event.has_value());
  CHECK(event->data == "1");
  parser.feed("\ndata: 2\r\n\r\n");
  const auto second = parser.next();
  REQUIRE(second.has_value());
  CHECK(second->data == "2");
}

TEST_CASE("an event over the limit ends the stream however it is split") {
  const std::string fits = "data: " + std::string(90, 'x') + "\n\n";
  const std::string too_long = "data: " + std::string(60, 'x') + "\ndata: " + std::string(60, 'x');
  for (const std::string& tail : {too_long, ": " + std::string(200, 'c'), too_long + "\n\n"}) {
    const std::string bytes = fits + fits + tail;
    for (const auto& pieces : test::splits(bytes)) {
      SseParser parser(100);
      std::size_t events = 0;
      for (const auto piece : pieces) {
        parser.feed(piece);
        while (parser.next())
          ++events;
      }
      CHECK(parser.overflowed());
      CHECK(events == 2);
      parser.feed("data: 1\n\n");
      CHECK_FALSE(parser.next().has_value());
    }
  }
}

TEST_CASE("C37: what is written always says event: message",
          "[req:http-sse-server-messages-as-sse-events]") {
  std::string out;
  append_sse_event(out, "{\"a\":1}");
  CHECK(out == "event: message\ndata: {\"a\":1}\n\n");
  out.clear();
  append_sse_event(out, "{}", "s-1");
  CHECK(out == "event: message\nid: s-1\ndata: {}\n\n");
  out.clear();
  append_sse_event(out, "", "s-1");
  CHECK(out == "event: message\nid: s-1\ndata: \n\n");
}

TEST_CASE("data with line ends stays one event") {
  std::string out;
  append_sse_event(out, "a\nb\r\nc\rd\n", "x\ny");
  const auto events = parse({out});
  REQUIRE(events.size() == 1);
  CHECK(events[0].data == "a\nb\nc\nd\n");
  CHECK_FALSE(events[0].id.has_value());
}

TEST_CASE("keep-alive is no event") {
  CHECK(parse({kSseKeepAlive}).empty());
}
