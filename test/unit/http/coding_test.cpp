// Answers that come packed although nobody asked for it (case C38), and what else an answer may be.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unit/http/scripted_server.hpp"
#include "unit/http1/deflated.hpp"

namespace mcpx::http {
namespace {

using test::deflated;
using test::Form;

struct CodingCase {
  const char* name;
  std::string answer;
  std::string expected;
};

std::string chunked(std::string_view head, const std::vector<std::string>& parts) {
  std::string text(head);
  text += "Transfer-Encoding: chunked\r\n\r\n";
  for (const std::string& part : parts)
    http1::append_chunk(text, part);
  return text.append(http1::kLastChunk);
}

std::vector<std::string> bytes_of(const std::string& text) {
  std::vector<std::string> all;
  for (const char c : text)
    all.emplace_back(1, c);
  return all;
}

constexpr std::size_t kLimit = 100'000;

Task<void> coding_body(runtime::Shard& shard, const CodingCase& c) {
  ScriptedServer server(shard, one_answer(c.answer));
  {
    Client::Options options;
    options.limits.body_bytes = kLimit;
    Client client(shard, server.origin(), options);
    const Ask what;
    const std::string got = co_await ask(client, what);
    CHECK((got == c.expected));
  }
  co_await server.stop();
}

TEST_CASE("C38: a packed answer is unpacked, or refused by name") {
  const std::string json = R"({"jsonrpc":"2.0","id":1,"result":{}})";
  const std::string gzip = deflated(json, Form::gzip);
  const std::string large(kLimit, 'x');
  const std::string bomb(50 * kLimit, 'x');
  const std::string start = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n";
  const CodingCase cases[] = {
      {"gzip", ok(gzip, "Content-Encoding: gzip\r\n"), "200 " + json},
      {"x-gzip", ok(gzip, "Content-Encoding: x-gzip\r\n"), "200 " + json},
      {"deflate", ok(deflated(json, Form::zlib), "content-encoding: Deflate\r\n"), "200 " + json},
      {"deflate without its head", ok(deflated(json, Form::raw), "Content-Encoding: deflate\r\n"),
       "200 " + json},
      {"identity", ok(json, "Content-Encoding: identity\r\n"), "200 " + json},
      {"gzip in chunks of one byte", chunked(start, bytes_of(gzip)), "200 " + json},
      {"gzip until the connection ends", start + "\r\n" + gzip, "200 " + json},
      {"gzip of an error",
       "HTTP/1.1 404 Not Found\r\nContent-Encoding: gzip\r\nContent-Length: " +
           std::to_string(gzip.size()) + "\r\n\r\n" + gzip,
       "404 " + json},
      {"no body at all", ok("", "Content-Encoding: gzip\r\n"), "200 "},
      {"no body, unknown coding", ok("", "Content-Encoding: br\r\n"), "200 "},
      {"just within the limit", ok(deflated(large, Form::gzip), "Content-Encoding: gzip\r\n"),
       "200 " + large},
      {"just over the limit", ok(deflated(large + "x", Form::gzip), "Content-Encoding: gzip\r\n"),
       "<http.too_large>"},
      {"a bomb", ok(deflated(bomb, Form::gzip), "Content-Encoding: gzip\r\n"), "<http.too_large>"},
      {"cut short", ok(gzip.substr(0, gzip.size() - 3), "Content-Encoding: gzip\r\n"),
       "<http.bad_response>"},
      {"cut short by the connection", start + "\r\n" + gzip.substr(0, 20), "<http.bad_response>"},
      {"not gzip", ok(json, "Content-Encoding: gzip\r\n"), "<http.bad_response>"},
      {"an unknown coding", ok("\x0b\x02\x80", "Content-Encoding: br\r\n"), "<http.encoding>"},
      {"packed twice", ok(deflated(gzip, Form::gzip), "Content-Encoding: gzip, gzip\r\n"),
       "<http.encoding>"},
  };
  for (const CodingCase& c : cases) {
    DYNAMIC_SECTION(c.name) {
      test::on_shard([&c](runtime::Shard& shard) { return coding_body(shard, c); });
    }
  }
}

Task<void> message_body(runtime::Shard& shard) {
  ScriptedServer server(shard, one_answer(ok("xyz", "Content-Encoding: br\r\n")));
  {
    Client client(shard, server.origin(), Client::Options());
    const Ask what;
    Result<std::unique_ptr<Response>> response = co_await client.send(what.request);
    REQUIRE(response.has_value());
    REQUIRE((*response)->head().status == 200);  // the head is there all the same
    Result<PaddedBuffer> body = co_await (*response)->body();
    REQUIRE(body.error().code == "http.encoding");
    REQUIRE(body.error().message.find("\"br\"") != std::string::npos);
    REQUIRE_FALSE(body.error().remedy.empty());
  }
  co_await server.stop();
}
TEST_CASE("an unknown content coding is named") {
  test::on_shard(message_body);
}

// All events' data, then how the stream ended.
Task<std::string> events_of(Client& client) {
  const Ask what;
  Result<std::unique_ptr<Response>> response = co_await client.send(what.request);
  if (!response) co_return "<" + response.error().code + ">";
  std::string text;
  while (true) {
    auto event = co_await (*response)->next_event(Clock::now() + kPatience);
    if (!event) co_return text + "<" + event.error().code + ">";
    if (!*event) co_return text + "end";
    text += (*event)->data.substr(0, 10) + ' ';
  }
}

Task<void> events_body(runtime::Shard& shard, const CodingCase& c) {
  ScriptedServer server(shard, one_answer(c.answer));
  {
    Client::Options options;
    options.limits.body_bytes = kLimit;
    Client client(shard, server.origin(), options);
    const std::string got = co_await events_of(client);
    CHECK(got == c.expected);
  }
  co_await server.stop();
}

TEST_CASE("C38: a packed event stream is read event by event") {
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: ";
  const std::vector<std::string> events = {"data: 1\n\n", "data: 2\n\n: note\n\n", "data: 3\n\n"};
  const std::string all = events[0] + events[1] + events[2];
  // Far more than the limit in all, though no event is.
  std::string long_stream;
  std::string long_expected;
  for (int i = 0; i < 60; ++i) {
    long_stream += "data: " + std::string(kLimit / 2, 'x') + "\n\n";
    long_expected += "xxxxxxxxxx ";
  }
  const std::string one_event = "data: " + std::string(50 * kLimit, 'x') + "\n\n";
  const std::string gzip = deflated(all, Form::gzip);
  const CodingCase cases[] = {
      {"gzip, flushed", chunked(head + "gzip\r\n", test::deflated_parts(events, Form::gzip)),
       "1 2 3 end"},
      {"deflate, flushed", chunked(head + "deflate\r\n", test::deflated_parts(events, Form::raw)),
       "1 2 3 end"},
      {"byte by byte", chunked(head + "gzip\r\n", bytes_of(gzip)), "1 2 3 end"},
      {"until the connection ends", head + "gzip\r\n\r\n" + gzip, "1 2 3 end"},
      {"more than the limit in all",
       chunked(head + "gzip\r\n", {deflated(long_stream, Form::gzip)}), long_expected + "end"},
      {"one event over the limit", chunked(head + "gzip\r\n", {deflated(one_event, Form::gzip)}),
       "<http.too_large>"},
      {"cut short", chunked(head + "gzip\r\n", {gzip.substr(0, gzip.size() - 4)}),
       "1 2 3 <http.bad_response>"},
      {"not gzip", chunked(head + "gzip\r\n", events), "<http.bad_response>"},
      {"an unknown coding", chunked(head + "zstd\r\n", events), "<http.encoding>"},
  };
  for (const CodingCase& c : cases) {
    DYNAMIC_SECTION(c.name) {
      test::on_shard([&c](runtime::Shard& shard) { return events_body(shard, c); });
    }
  }
}

Task<void> redirect_body(runtime::Shard& shard) {
  ScriptedServer server(
      shard, one_answer("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
                        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\n"
                        "Content-Length: 1\r\n\r\n-"));
  {
    Client client(shard, server.origin(), Client::Options());
    const Ask what;
    const std::string got = co_await ask(client, what);
    CHECK(got == "307 -");
  }
  co_await server.stop();
}
TEST_CASE("a redirect is given as it is, and hints before it are skipped") {
  test::on_shard(redirect_body);
}

}  // namespace
}  // namespace mcpx::http
