#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "http1/decoder.hpp"
#include "unit/http1/feeding.hpp"

using namespace mcpx;
using namespace mcpx::http1;

namespace {

const Limits kLimits{16 * 1024, 64};

struct Good {
  const char* name;
  std::string bytes;
  unsigned status;
  std::string reason, body;
  bool keep_alive = true;
  bool until_close = false;
  std::size_t left = 0;
};

const std::vector<Good>& good() {
  static const std::vector<Good> table = {
      {"length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP", 200, "OK", "hi", true, false,
       4},
      {"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 200,
       "OK", "hi"},
      {"until close", "HTTP/1.1 200 Fine\r\n\r\nhi", 200, "Fine", "hi", false, true},
      {"until close, 1.0", "HTTP/1.0 404 Not Found\r\n\r\n", 404, "Not Found", "", false, true},
      {"no content", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nHTTP", 204, "No Content",
       "", true, false, 4},
      {"not modified", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", 304,
       "Not Modified", ""},
      {"no reason", "HTTP/1.1 202 \r\nContent-Length: 0\r\n\r\n", 202, "", ""},
      {"no reason and no space", "HTTP/1.1 202\r\nContent-Length: 1\r\n\r\nx", 202, "", "x"},
      {"close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 200, "OK", "",
       false},
      {"1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
       200, "OK", "x"},
      {"chunked in 1.0",
       "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
       "1\r\nx\r\n0\r\n\r\n",
       200, "OK", "x", false},
      {"after interim ones",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\nContent-Length: 9\r\n"
       "\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
       200, "OK", "x"},
  };
  return table;
}

struct Bad {
  const char* name;
  std::string bytes;
};

std::string ok(const std::string& fields, const std::string& body = "") {
  return "HTTP/1.1 200 OK\r\n" + fields + "\r\n" + body;
}

const std::vector<Bad>& bad() {
  static const std::vector<Bad> table = {
      {"not HTTP", "SSH-2.0-x\r\n"},
      {"blank line first", "\r\nHTTP/1.1 200 OK\r\n\r\n"},
      {"version 2", "HTTP/2.0 200 OK\r\n\r\n"},
      {"status of two digits", "HTTP/1.1 20 OK\r\n\r\n"},
      {"status 099", "HTTP/1.1 099 OK\r\n\r\n"},
      {"status 600", "HTTP/1.1 600 OK\r\n\r\n"},
      {"upgrade not asked for", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"},
      {"endless interim",
       [] {
         std::string all;
         for (int i = 0; i < 20; ++i)
           all += "HTTP/1.1 100 Continue\r\n\r\n";
         return all;
       }()},
      {"bare LF", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"},
      {"folded", ok("A: b\r\n c\r\n")},
      {"lengths differ", ok("Content-Length: 1\r\nContent-Length: 2\r\n", "xx")},
      {"length and chunked", ok("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n")},
      {"gzip, chunked", ok("Transfer-Encoding: gzip, chunked\r\n")},
      {"gzip", ok("Transfer-Encoding: gzip\r\n")},
      {"bad chunk", ok("Transfer-Encoding: chunked\r\n", "x\r\n")},
      {"long status line", "HTTP/1.1 200 " + std::string(2000, 'a')},
      {"long head", ok("A: " + std::string(17000, 'a') + "\r\n")},
      {"length over the limit", ok("Content-Length: 65\r\n")},
      {"chunk over the limit", ok("Transfer-Encoding: chunked\r\n", "41\r\n")},
      {"too much until close", ok("", std::string(65, 'a'))},
  };
  return table;
}

void feed(ResponseDecoder& decoder, const std::vector<std::string_view>& pieces,
          std::size_t& used) {
  for (const auto piece : pieces) {
    used += decoder.feed(piece);
    if (decoder.done() || decoder.refusal()) break;
  }
}

}  // namespace

TEST_CASE("a response is read the same however it is split") {
  for (const auto& c : good()) {
    DYNAMIC_SECTION(c.name) {
      ResponseDecoder decoder(kLimits);
      for (const auto& pieces : test::splits(c.bytes)) {
        decoder.reset();
        CHECK_FALSE(decoder.started());
        std::size_t used = 0;
        feed(decoder, pieces, used);
        REQUIRE(decoder.refusal() == nullptr);
        CHECK(decoder.done() == !c.until_close);
        if (c.until_close) decoder.end_of_stream();
        REQUIRE(decoder.done());
        CHECK(used == c.bytes.size() - c.left);
        CHECK(decoder.head().status == c.status);
        CHECK(decoder.head().reason == c.reason);
        CHECK(decoder.head().keep_alive == c.keep_alive);
        CHECK(decoder.take_body().view() == c.body);
      }
    }
  }
}

TEST_CASE("a response that cannot be trusted is refused however it is split") {
  for (const auto& c : bad()) {
    DYNAMIC_SECTION(c.name) {
      for (const auto& pieces : test::splits(c.bytes)) {
        ResponseDecoder decoder(kLimits);
        std::size_t used = 0;
        feed(decoder, pieces, used);
        REQUIRE(decoder.refusal() != nullptr);
        CHECK_FALSE(decoder.done());
        CHECK_FALSE(decoder.refusal()->error.message.empty());
      }
    }
  }
}

TEST_CASE("only a close that a body has no other end for ends it well") {
  ResponseDecoder decoder(kLimits);
  SECTION("before anything: not a malformed response") {
    decoder.end_of_stream();
    CHECK(decoder.refusal() == nullptr);
    CHECK_FALSE(decoder.started());
    CHECK_FALSE(decoder.done());
  }
  SECTION("in the head") {
    decoder.feed("HTTP/1.1 200");
    decoder.end_of_stream();
    REQUIRE(decoder.refusal() != nullptr);
    CHECK(decoder.refusal()->error.code == "http.closed");
  }
  SECTION("after an interim response") {
    decoder.feed("HTTP/1.1 100 Continue\r\n\r\n");
    decoder.end_of_stream();
    CHECK(decoder.refusal() != nullptr);
  }
  SECTION("in a body of known length") {
    decoder.feed(ok("Content-Length: 3\r\n", "ab"));
    decoder.end_of_stream();
    CHECK(decoder.refusal() != nullptr);
  }
  SECTION("in a chunked body") {
    decoder.feed(ok("Transfer-Encoding: chunked\r\n", "3\r\nab"));
    decoder.end_of_stream();
    CHECK(decoder.refusal() != nullptr);
  }
  SECTION("after the end") {
    decoder.feed(ok("Content-Length: 0\r\n"));
    decoder.end_of_stream();
    CHECK(decoder.done());
    CHECK(decoder.refusal() == nullptr);
  }
}

TEST_CASE("the limit bounds what of an event stream is held, not what passes") {
  for (const char* framing : {"Transfer-Encoding: chunked\r\n", "Content-Length: 1000\r\n", ""}) {
    DYNAMIC_SECTION("framing: " << framing) {
      ResponseDecoder decoder(kLimits);
      const bool chunked = std::string_view(framing).substr(0, 1) == "T";
      decoder.feed(ok(std::string("Content-Type: text/event-stream;charset=utf-8\r\n") + framing));
      REQUIRE(decoder.head_done());
      if (chunked) decoder.feed("3E8\r\n");
      for (int i = 0; i < 20; ++i) {
        decoder.feed(std::string(50, 'x'));
        REQUIRE(decoder.refusal() == nullptr);
        CHECK(decoder.take_body().size() == 50);
      }
      if (chunked) decoder.feed("\r\n0\r\n\r\n");
      decoder.end_of_stream();
      CHECK(decoder.done());
      CHECK(decoder.take_body().empty());
    }
  }
  SECTION("what is not taken is held") {
    ResponseDecoder decoder(kLimits);
    decoder.feed(ok("Content-Type: text/event-stream\r\n", std::string(40, 'x')));
    decoder.feed(std::string(40, 'x'));
    CHECK(decoder.refusal() != nullptr);
  }
}

TEST_CASE("the fields of an interim response are not those of the response") {
  ResponseDecoder decoder(kLimits);
  decoder.feed("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n");
  CHECK_FALSE(decoder.head_done());
  decoder.feed(ok("X: y\r\nContent-Length: 0\r\n"));
  REQUIRE(decoder.done());
  CHECK_FALSE(decoder.head().fields.find("link").has_value());
  CHECK(decoder.head().fields.find("x") == std::string_view("y"));
}
