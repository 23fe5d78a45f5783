#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "json/json.hpp"

namespace mcpx::json {
namespace {

TEST_CASE("append_string escapes what must be escaped and nothing else") {
  CHECK(quoted("") == "\"\"");
  CHECK(quoted("a/b \x7f \xC3\xA9 \xF0\x9F\x98\x80") == "\"a/b \x7f \xC3\xA9 \xF0\x9F\x98\x80\"");
  CHECK(quoted("\"\\\b\f\n\r\t") == R"("\"\\\b\f\n\r\t")");
  CHECK(quoted(std::string("\0\x01\x1f", 3)) == R"("\u0000\u0001\u001f")");
  std::string out = "x:";
  append_string(out, "y");
  CHECK(out == "x:\"y\"");
}

TEST_CASE("bytes that are not UTF-8 are written as U+FFFD, so the text stays valid") {
  CHECK(quoted("a\x80z") == "\"a\xEF\xBF\xBDz\"");
  CHECK(quoted("\xC3") == "\"\xEF\xBF\xBD\"");
  std::string every;
  for (int i = 0; i < 256; ++i)
    every.push_back(static_cast<char>(i));
  CHECK(validate(quoted(every), Limits{}).has_value());
}

TEST_CASE("every single byte survives quoting and decoding when it is ASCII") {
  for (int i = 0; i < 128; ++i) {
    const std::string text(1, static_cast<char>(i));
    CAPTURE(i);
    CHECK(decode_string(quoted(text)) == text);
    CHECK(boost::json::parse(quoted(text)).as_string() == boost::json::string(text));
  }
}

TEST_CASE("ObjectBuilder joins members and can be used again after take") {
  ObjectBuilder object;
  CHECK(ObjectBuilder().take() == "{}");
  object.string("s", "a\"b").integer("min", std::numeric_limits<std::int64_t>::min());
  object.boolean("t", true).boolean("f", false).raw("r", "1.0").raw("absent", {});
  CHECK(object.take() == R"({"s":"a\"b","min":-9223372036854775808,"t":true,"f":false,"r":1.0})");
  CHECK(object.integer("k\n", 1).take() == R"({"k\n":1})");
}

}  // namespace
}  // namespace mcpx::json
