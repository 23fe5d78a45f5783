#include "http1/encode.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "http1/decoder.hpp"
#include "http1/message.hpp"

using namespace mcpx;
using namespace mcpx::http1;

TEST_CASE("a response head says its length and whether the connection stays") {
  std::string out;
  const std::array<Field, 1> extra = {{{"Mcp-Session-Id", "s"}}};
  append_response_head(out, 200, "application/json", 12, extra, true);
  CHECK(out ==
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n"
        "Mcp-Session-Id: s\r\n\r\n");
  out.clear();
  append_response_head(out, 202, "", 0, {}, false);
  CHECK(out == "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST_CASE("responses without a body by nature say no length") {
  for (const unsigned status : {100U, 204U}) {
    std::string out;
    append_response_head(out, status, "", 0, {}, true);
    CHECK(out.find("Content-Length") == std::string::npos);
  }
}

TEST_CASE("a chunk is never the last one by accident") {
  std::string out;
  append_chunk(out, "");
  CHECK(out.empty());
  append_chunk(out, std::string(26, 'x'));
  CHECK(out == "1a\r\n" + std::string(26, 'x') + "\r\n");
}

TEST_CASE("no value can end its header line") {
  std::string out;
  const std::array<Field, 1> extra = {{{"X", "a\r\nSet-Cookie: b\n\r\nbody"}}};
  append_response_head(out, 200, "text/plain\r\nEvil: 1", 0, extra, true);
  ResponseDecoder response{Limits{}};
  response.feed(out);
  REQUIRE(response.done());
  CHECK(response.head().fields.size() == 3);
  CHECK_FALSE(response.head().fields.find("set-cookie").has_value());
  CHECK_FALSE(response.head().fields.find("evil").has_value());

  out.clear();
  append_request_head(out, "GET", "/a b\r\nX: y", "h\r\nEvil: 1", extra, 0);
  CHECK(out.substr(0, out.find('\r')) == "GET /a%20b%0D%0AX:%20y HTTP/1.1");
  CHECK(out.find("\r\nEvil") == std::string::npos);
  CHECK(out.find("\r\nSet-Cookie") == std::string::npos);
}

TEST_CASE("what is written is read back") {
  std::string out;
  const std::array<Field, 2> fields = {{{"Accept", "text/event-stream"}, {"X", ""}}};
  append_request_head(out, "POST", "/mcp?x", "h:1", fields, 2);
  out += "{}";
  RequestDecoder request{Limits{}};
  CHECK(request.feed(out) == out.size());
  REQUIRE(request.done());
  CHECK(request.head().method == "POST");
  CHECK(request.head().target == "/mcp?x");
  CHECK(request.head().authority == "h:1");
  CHECK(request.head().fields.find("accept") == std::string_view("text/event-stream"));
  CHECK(request.take_body().view() == "{}");

  out.clear();
  append_chunked_response_head(out, 200, "text/event-stream", {});
  append_chunk(out, "hello ");
  append_chunk(out, "world");
  out += kLastChunk;
  ResponseDecoder response{Limits{}};
  CHECK(response.feed(out) == out.size());
  REQUIRE(response.done());
  CHECK(response.take_body().view() == "hello world");
}

TEST_CASE("a request says its length where its method has a body") {
  for (const char* method : {"GET", "DELETE"}) {
    std::string out;
    append_request_head(out, method, "", "h", {}, 0);
    CHECK(out == std::string(method) + " / HTTP/1.1\r\nHost: h\r\n\r\n");
  }
  std::string out;
  append_request_head(out, "POST", "/", "h", {}, 0);
  CHECK(out == "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
}
