#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "mcp/header_codec.hpp"

namespace mcpx::mcp {
namespace {

TEST_CASE("a value that HTTP cannot carry travels in the Base64 sentinel",
          "[req:streamable-http-mcp-name-base64][req:streamable-http-param-value-encoding]") {
  struct Case {
    const char *value, *header;
  };
  const Case cases[] = {
      {"us-west1", "us-west1"},
      {"two words", "two words"},
      {"", ""},
      {"Hello, \xE4\xB8\x96\xE7\x95\x8C", "=?base64?SGVsbG8sIOS4lueVjA==?="},
      {" padded ", "=?base64?IHBhZGRlZCA=?="},
      {"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
      {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
  };
  for (const auto& c : cases) {
    CAPTURE(c.value);
    REQUIRE(encode_header(c.value) == c.header);
    REQUIRE(decode_header(c.header) == c.value);
  }
}

TEST_CASE("broken Base64 inside the sentinel is no value; an incomplete sentinel is literal") {
  for (const char* broken : {"=?base64?SGVsbG8?=", "=?base64?SGV!bG8=?=", "=?base64?SG=sbG8=?=",
                             "=?base64?SGVs bG8?=", "=?base64?====?="}) {
    CAPTURE(broken);
    REQUIRE_FALSE(decode_header(broken).has_value());
  }
  for (const char* literal : {"=?base64?SGVsbG8=", "SGVsbG8=?=", "=?base64?=", "=?BASE64?SGVs?="}) {
    REQUIRE(decode_header(literal) == literal);
  }
  REQUIRE(decode_header(" \t spaced value\t ") == "spaced value");
  REQUIRE(decode_header("=?base64?"
                        "?=") == "");
}

TEST_CASE("any bytes come back, and what is sent is visible ASCII") {
  std::mt19937 random(2243);
  std::uniform_int_distribution<int> byte(0, 255), size(0, 40);
  for (int i = 0; i < 2000; ++i) {
    std::string value;
    for (int n = size(random); n > 0; --n)
      value += static_cast<char>(byte(random));
    const std::string header = encode_header(value);
    REQUIRE(decode_header(header) == value);
    for (const char c : header)
      REQUIRE((c >= 0x20 && c < 0x7f));
  }
}

}  // namespace
}  // namespace mcpx::mcp
