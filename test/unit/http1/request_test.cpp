#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "http1/decoder.hpp"
#include "unit/http1/feeding.hpp"

using namespace mcpx;
using namespace mcpx::http1;

namespace {

// Feeds the pieces as a connection would: what a decoder leaves over is counted, not fed again.
std::size_t feed(RequestDecoder& decoder, const std::vector<std::string_view>& pieces) {
  std::size_t used = 0;
  for (const auto piece : pieces) {
    used += decoder.feed(piece);
    if (decoder.done() || decoder.refusal()) break;
  }
  return used;
}

struct Good {
  const char* name;
  std::string bytes;
  std::string method, target, authority, body;
  bool keep_alive = true;
  std::size_t left = 0;  // bytes of the next message
};

const std::vector<Good>& good() {
  static const std::vector<Good> table = {
      {"get", "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n", "GET", "/a?b=c", "h", ""},
      {"content length", "POST / HTTP/1.1\r\nHost: h:1\r\nContent-Length: 5\r\n\r\nhello", "POST",
       "/", "h:1", "hello"},
      {"pipelined", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhiGET", "POST", "/",
       "h", "hi", true, 3},
      {"same length twice",
       "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi", "POST",
       "/", "h", "hi"},
      {"chunked",
       "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
       "5\r\nhello\r\n00A;x=\"y;\"\r\n0123456789\r\n0\r\n\r\nGET",
       "POST", "/", "h", "hello0123456789", true, 3},
      {"no chunk but the last",
       "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "POST", "/",
       "h", ""},
      {"chunked, case and trailers",
       "POST / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: ChUnKeD \r\n\r\n"
       "1 \r\nx\r\n0\r\nDigest: a b\r\nX:\r\n\r\n",
       "POST", "/", "h", "x"},
      {"absolute form", "GET http://real:8/x?y HTTP/1.1\r\nHost: other\r\n\r\n", "GET", "/x?y",
       "real:8", ""},
      {"absolute form without a path", "GET HTTPS://real HTTP/1.1\r\nHost: other\r\n\r\n", "GET",
       "/", "real", ""},
      {"absolute form with only a query", "GET http://real?q HTTP/1.1\r\nHost: other\r\n\r\n",
       "GET", "/?q", "real", ""},
      {"1.0 closes", "GET / HTTP/1.0\r\n\r\n", "GET", "/", "", "", false},
      {"1.0 keeps alive when asked", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET", "/",
       "", "", true},
      {"close", "GET / HTTP/1.1\r\nHost: h\r\nConnection: foo, close\r\n\r\n", "GET", "/", "h", "",
       false},
      {"blank line first", "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET", "/", "h", ""},
      {"IPv6 host", "GET / HTTP/1.1\r\nHost: [::1]:7332\r\n\r\n", "GET", "/", "[::1]:7332", ""},
      {"empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET", "/", "", ""},
      {"unknown method", "BREW /pot HTTP/1.1\r\nHost: h\r\n\r\n", "BREW", "/pot", "h", ""},
  };
  return table;
}

struct Bad {
  const char* name;
  std::string bytes;
  unsigned status;
};

std::string with(const std::string& fields, const std::string& body = "") {
  return "POST /mcp HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + body;
}
std::string chunks(const std::string& body) {
  return with("Transfer-Encoding: chunked\r\n", body);
}

// Limits of the tables: small enough that a row can pass them.
const Limits kLimits{16 * 1024, 64};

const std::vector<Bad>& bad() {
  static const std::vector<Bad> table = {
      {"binary", std::string("\x16\x03\x01\x02\x00", 5), 400},
      {"space first", " GET / HTTP/1.1\r\n", 400},
      {"three blank lines", "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"half a blank line", "\rGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"bare LF", "GET / HTTP/1.1\nHost: h\n\n", 400},
      {"bare LF in the fields", "GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", 400},
      {"bare CR", "GET / HTTP/1.1\r\nHost: h\r\nA: b\rX: y\r\n\r\n", 400},
      {"no version", "GET /\r\n\r\n", 400},
      {"short version", "GET / HTTP\r\n\r\n", 400},
      {"version is nothing", "GET / \r\n\r\n", 400},
      {"misspelled version", "GET / HTTX/1.1\r\nHost: h\r\n\r\n", 400},
      {"space after version", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
      {"HTTP/0.9 spelled out", "GET / HTTP/0.9\r\n\r\n", 505},
      {"no host", "GET / HTTP/1.1\r\nA: b\r\n\r\n", 400},
      {"no host, absolute form", "GET http://h/ HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET / HTTP/1.1\r\nHost: h\r\nhost: h\r\n\r\n", 400},
      {"two hosts in one", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400},
      {"host with user", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400},
      {"host with path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
      {"asterisk", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"authority form", "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"relative target", "GET mcp HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"other scheme", "GET file:///x HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"absolute form with user", "GET http://a@b/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"absolute form without host", "GET http:///x HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"control in target", "GET /a\x01 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"long method", std::string(40, 'M') + " / HTTP/1.1\r\nHost: h\r\n\r\n", 501},
      {"long target", "GET /" + std::string(8192, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", 414},
      {"endless target", "GET /" + std::string(9000, 'a'), 414},
      {"long head", with("A: " + std::string(17000, 'a') + "\r\n"), 431},
      {"endless head", with("A: " + std::string(17000, 'a')).substr(0, 16 * 1024 + 1), 431},
      {"many fields", with([] {
         std::string fields;
         for (int i = 0; i < 300; ++i)
           fields += "A:\r\n";
         return fields;
       }()),
       431},
      {"space before colon", with("A : b\r\n"), 400},
      {"empty name", with(": b\r\n"), 400},
      {"no colon", with("Ab\r\n"), 400},
      {"folded", with("A: b\r\n c\r\n"), 400},
      {"folded with tab", with("A: b\r\n\tc\r\n"), 400},
      {"space before the first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
      {"NUL in value", with(std::string("A: b\0c\r\n", 8)), 400},
      {"DEL in value", with("A: b\x7f\r\n"), 400},
      {"length not a number", with("Content-Length: x\r\n"), 400},
      {"length signed", with("Content-Length: +5\r\n", "hello"), 400},
      {"length negative", with("Content-Length: -5\r\n", "hello"), 400},
      {"length hexadecimal", with("Content-Length: 0x5\r\n", "hello"), 400},
      {"length empty", with("Content-Length:\r\n"), 400},
      {"length beyond 64 bits", with("Content-Length: 18446744073709551616\r\n"), 400},
      {"lengths differ", with("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"), 400},
      {"lengths differ in one", with("Content-Length: 5, 6\r\n", "hello"), 400},
      {"length over the limit", with("Content-Length: 65\r\n"), 413},
      {"length far over the limit", with("Content-Length: 18446744073709551615\r\n"), 413},
      {"length and chunked", with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"chunked and length", with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400},
      {"unknown coding", with("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 501},
      {"unknown coding and length",
       with("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n", "hello"), 501},
      {"gzip before chunked", with("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
      {"chunked before identity", with("Transfer-Encoding: chunked, identity\r\n"), 501},
      {"chunked with a parameter", with("Transfer-Encoding: chunked;q=1\r\n"), 501},
      {"quoted chunked", with("Transfer-Encoding: \"chunked\"\r\n"), 501},
      {"vertical tab chunked",
       with("Transfer-Encoding: \x0b"
            "chunked\r\n"),
       400},
      {"chunked twice in one", with("Transfer-Encoding: chunked, chunked\r\n"), 400},
      {"chunked twice", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"identity and chunked",
       with("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"empty coding", with("Transfer-Encoding:\r\n"), 400},
      {"chunked in 1.0",
       "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"unknown expectation", with("Expect: the-unexpected\r\n"), 417},
      {"chunk size missing", chunks("\r\nhello"), 400},
      {"chunk size not hex", chunks("5g\r\nhello"), 400},
      {"chunk size prefixed", chunks("0x5\r\nhello"), 400},
      {"chunk size negative", chunks("-1\r\n"), 400},
      {"chunk size of 17 digits", chunks("00000000000000005\r\n"), 400},
      {"chunk size line bare LF", chunks("5\nhello"), 400},
      {"chunk longer than said", chunks("5\r\nhellox\r\n"), 400},
      {"chunk without CR", chunks("5\r\nhello\n0\r\n\r\n"), 400},
      {"chunk over the limit", chunks("41\r\n"), 413},
      {"chunk far over the limit", chunks("ffffffffffffffff\r\n"), 413},
      {"chunks over the limit", chunks("20\r\n" + std::string(32, 'a') + "\r\n21\r\n"), 413},
      {"long extension", chunks("1;" + std::string(300, 'a') + "\r\n"), 400},
      {"NUL in extension", chunks(std::string("1;\0\r\n", 5)), 400},
      {"long trailers", chunks("0\r\nA: " + std::string(9000, 'a')), 400},
      {"folded trailer", chunks("0\r\nA: b\r\n c\r\n\r\n"), 400},
      {"trailer without a name", chunks("0\r\n: b\r\n\r\n"), 400},
      {"trailer without a colon", chunks("0\r\nab\r\n\r\n"), 400},
      {"trailer bare LF", chunks("0\r\nA: b\n\r\n"), 400},
      {"end bare LF", chunks("0\r\n\n"), 400},
  };
  return table;
}

}  // namespace

TEST_CASE("a request is read the same however it is split") {
  for (const auto& c : good()) {
    DYNAMIC_SECTION(c.name) {
      RequestDecoder decoder(kLimits);
      for (const auto& pieces : test::splits(c.bytes)) {
        decoder.reset();
        CHECK_FALSE(decoder.started());
        const std::size_t used = feed(decoder, pieces);
        REQUIRE(decoder.refusal() == nullptr);
        REQUIRE(decoder.done());
        CHECK(decoder.head_done());
        CHECK(used == c.bytes.size() - c.left);
        CHECK(decoder.head().method == c.method);
        CHECK(decoder.head().target == c.target);
        CHECK(decoder.head().authority == c.authority);
        CHECK(decoder.head().keep_alive == c.keep_alive);
        CHECK(decoder.take_body().view() == c.body);
      }
    }
  }
}

TEST_CASE("no proper prefix of a request is a request") {
  for (const auto& c : good()) {
    DYNAMIC_SECTION(c.name) {
      const std::string message = c.bytes.substr(0, c.bytes.size() - c.left);
      for (std::size_t size = 0; size < message.size(); ++size) {
        RequestDecoder decoder(kLimits);
        CHECK(decoder.feed(message.substr(0, size)) == size);
        CHECK_FALSE(decoder.done());
        CHECK(decoder.refusal() == nullptr);
      }
    }
  }
}

TEST_CASE("a hostile request is refused with the same status however it is split") {
  for (const auto& c : bad()) {
    DYNAMIC_SECTION(c.name) {
      for (const auto& pieces : test::splits(c.bytes)) {
        RequestDecoder decoder(kLimits);
        feed(decoder, pieces);
        REQUIRE(decoder.refusal() != nullptr);
        CHECK(decoder.refusal()->status == c.status);
        CHECK_FALSE(decoder.refusal()->error.remedy.empty());
        CHECK_FALSE(decoder.refusal()->error.message.empty());
        CHECK_FALSE(decoder.done());
        CHECK_FALSE(decoder.expects_continue());
        CHECK(decoder.feed("GET / HTTP/1.1\r\nHost: h\r\n\r\n") == 0);
        decoder.reset();
        decoder.feed("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        CHECK(decoder.done());
      }
    }
  }
}

TEST_CASE("an expectation is reported until the body arrives") {
  RequestDecoder decoder(kLimits);
  const std::string head = with("Expect: 100-Continue\r\nContent-Length: 2\r\n");
  decoder.feed(std::string_view(head).substr(0, 30));
  CHECK_FALSE(decoder.expects_continue());
  decoder.feed(std::string_view(head).substr(30));
  CHECK(decoder.head_done());
  CHECK(decoder.expects_continue());
  decoder.feed("h");
  CHECK_FALSE(decoder.expects_continue());
  decoder.feed("i");
  CHECK(decoder.done());

  SECTION("not without a body") {
    decoder.reset();
    decoder.feed(with("Expect: 100-continue\r\n"));
    CHECK(decoder.done());
    CHECK_FALSE(decoder.expects_continue());
  }
  SECTION("not for a body that is refused") {
    decoder.reset();
    decoder.feed(with("Expect: 100-continue\r\nContent-Length: 99\r\n"));
    CHECK(decoder.refusal() != nullptr);
    CHECK_FALSE(decoder.expects_continue());
  }
  SECTION("not in HTTP/1.0") {
    decoder.reset();
    decoder.feed("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    CHECK(decoder.head_done());
    CHECK_FALSE(decoder.expects_continue());
  }
}

TEST_CASE("fields keep their order, are found without case and leave no trace after reset") {
  RequestDecoder decoder(kLimits);
  decoder.feed(with("Mcp-Session-Id:  s1 \r\nX-A: 1\r\nx-a: 2\r\nEmpty:\r\n"));
  const Fields& fields = decoder.head().fields;
  REQUIRE(fields.size() == 5);
  CHECK(fields.find("mcp-session-id") == std::string_view("s1"));
  CHECK(fields.find("X-a") == std::string_view("1"));
  CHECK(fields.count("X-A") == 2);
  CHECK(fields.find("empty") == std::string_view(""));
  CHECK_FALSE(fields.find("absent").has_value());
  CHECK(fields.name_at(3) == "x-a");
  CHECK(fields.value_at(3) == "2");
  decoder.reset();
  decoder.feed("GET / HTTP/1.0\r\n\r\n");
  CHECK(decoder.done());
  CHECK(decoder.head().fields.size() == 0);
  CHECK(decoder.head().authority.empty());
}

TEST_CASE("path and query are the parts of the target") {
  RequestHead head;
  head.target = "/mcp/x?a=b?c";
  CHECK(head.path() == "/mcp/x");
  CHECK(head.query() == "a=b?c");
  head.target = "/mcp";
  CHECK(head.path() == "/mcp");
  CHECK(head.query().empty());
}

TEST_CASE("a body is not set aside on its announced length alone") {
  RequestDecoder decoder(Limits{16 * 1024, std::size_t{1} << 40U});
  decoder.feed(with("Content-Length: 999999999999\r\n", "x"));
  REQUIRE(decoder.refusal() == nullptr);
  CHECK(decoder.take_body().capacity() <= 2U << 20U);
}
