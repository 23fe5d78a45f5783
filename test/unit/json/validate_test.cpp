#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "json/grammar.hpp"
#include "json/json.hpp"
#include "unit/json/random_json.hpp"

namespace mcpx::json {
namespace {

using namespace std::string_literals;

std::string code_of(const std::string& text, std::size_t depth = 256) {
  const auto result = validate(text, Limits{depth});
  return result ? "ok" : result.error().code;
}

std::string nested(std::size_t levels, const std::string& leaf) {
  return std::string(levels, '[') + leaf + std::string(levels, ']');
}

TEST_CASE("valid documents are accepted, numbers beyond every machine type included") {
  const std::vector<std::string> texts = {"{}",
                                          "[]",
                                          "null",
                                          "true",
                                          "false",
                                          "0",
                                          "\"\"",
                                          " \t\r\n{ } ",
                                          "[1 , 2]",
                                          "-0",
                                          "1E+2",
                                          "1e400",
                                          "-1e-400",
                                          "1.0",
                                          "9007199254740993",
                                          "18446744073709551616",
                                          std::string(40, '7'),
                                          std::string(4000, '7'),
                                          "0." + std::string(500, '3'),
                                          R"({"a":{"a":1e999999,"a":[[],{},""]}})",
                                          R"("\ud83d\ude00")",
                                          R"("\u0000")",
                                          "\"\x7f\"",
                                          "\"\xEF\xBB\xBF\"",
                                          "\"\xF4\x8F\xBF\xBF\"",
                                          R"("\/\b\f\n\r\t\"\\")",
                                          R"({"":{"\"":"}]"}})"};
  for (const std::string& text : texts) {
    DYNAMIC_SECTION(text.substr(0, 60)) {
      CHECK(code_of(text) == "ok");
      CHECK_FALSE(check_grammar(text, 256));
    }
  }
}

TEST_CASE("an escape of a lone surrogate is valid text, but decodes to nothing") {
  for (const std::string text : {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\ud800x")",
                                 R"({"\udfff":[1e400,"\uD83D"]})"}) {
    CHECK(code_of(text) == "ok");
  }
  CHECK_FALSE(decode_string(R"("\ud800")"));
  CHECK_FALSE(decode_string(R"("\udc00\ud800")"));
  CHECK_FALSE(decode_string(R"("\ud800\u0041")"));
}

TEST_CASE("what RFC 8259 does not allow is refused", "[req:transport-jsonrpc-utf8]") {
  struct Case {
    std::string text, code;
  };
  const std::vector<Case> cases = {
      {"", "json.empty"},
      {" \n\t", "json.empty"},
      {"\xEF\xBB\xBF{}", "json.syntax"},
      {"{\"a\":1]", "json.syntax"},
      {"[1,2}", "json.syntax"},
      {"tru", "json.syntax"},
      {"nulll", "json.syntax"},
      {"01", "json.syntax"},
      {"-", "json.syntax"},
      {"+1", "json.syntax"},
      {"1.", "json.syntax"},
      {".5", "json.syntax"},
      {"1e", "json.syntax"},
      {"1e400x", "json.syntax"},
      {"[1e400,]", "json.syntax"},
      {"[1e400 1]", "json.syntax"},
      {"NaN", "json.syntax"},
      {"[1,]", "json.syntax"},
      {"{\"a\":1,}", "json.syntax"},
      {"{a:1}", "json.syntax"},
      {"{\"a\" 1}", "json.syntax"},
      {"{\"a\"}", "json.syntax"},
      {"{1:2}", "json.syntax"},
      {"{} {}", "json.syntax"},
      {"1e400 2", "json.syntax"},
      {"[", "json.syntax"},
      {"{\"a\":", "json.syntax"},
      {"]", "json.syntax"},
      {"\"abc", "json.syntax"},
      {"\"abc\\\"", "json.syntax"},
      {"\"\\q\"", "json.syntax"},
      {"\"\\u12G4\"", "json.syntax"},
      {"\"\\u12", "json.syntax"},
      {"\"\\ud800\\q\"", "json.syntax"},
      {"'a'", "json.syntax"},
      {"// c\n1", "json.syntax"},
      {"\"a\nb\"", "json.syntax"},
      {"\"a\0b\""s, "json.syntax"},
      {"{}\0"s, "json.syntax"},
      {"\0{}"s, "json.syntax"},
      {"\x0C{}", "json.syntax"},
      {"\"\x80\"", "json.utf8"},
      {"\"\xC0\xAF\"", "json.utf8"},
      {"\"\xC3\"", "json.utf8"},
      {"\"\xED\xA0\x80\"", "json.utf8"},
      {"\"\xF4\x90\x80\x80\"", "json.utf8"},
      {"\"\xE0\x80\x80\"", "json.utf8"},
      {"\"\xF8\x88\x80\x80\x80\"", "json.utf8"},
      {"[1e400,\"\xFF\"]", "json.utf8"},
  };
  std::size_t number = 0;  // the texts hold bytes that a report in XML cannot
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.code << " " << ++number) {
      CHECK(code_of(c.text) == c.code);
    }
  }
}

TEST_CASE("a refusal names the byte that does not fit") {
  const auto result = validate("{\"a\" 1}", Limits{});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message == "invalid JSON at byte 5: expected ':' after a key");
}

TEST_CASE("depth is limited alike on the fast and on the grammar path") {
  for (const std::string leaf : {"1", "1e400"}) {
    CAPTURE(leaf);
    CHECK(code_of(nested(256, leaf)) == "ok");
    CHECK(code_of(nested(257, leaf)) == "json.depth");
    CHECK(code_of(nested(3, leaf), 3) == "ok");
    CHECK(code_of(nested(4, leaf), 3) == "json.depth");
    CHECK(code_of(nested(100000, leaf)) == "json.depth");
    CHECK(code_of(nested(2000, leaf), 2000) == "ok");
    CHECK(code_of("[" + nested(3, "[]") + ",1e400]", 4) == "ok");
  }
  // An empty container is a leaf on both.
  CHECK(code_of(nested(4, "[]"), 4) == "ok");
  CHECK_FALSE(check_grammar(nested(4, "[]"), 4));
  CHECK(code_of(nested(5, "[]"), 4) == "json.depth");
  CHECK(code_of(std::string(200000, '[')) == "json.depth");
}

TEST_CASE("documents of very different sizes and depths in turn are judged alike") {
  const std::string large = "[\"" + std::string(3'000'000, 'x') + "\"]";
  for (int round = 0; round < 3; ++round) {
    CHECK(code_of("{\"a\":[1]}") == "ok");
    CHECK(code_of(large) == "ok");
    CHECK(code_of(nested(600, "1"), 600) == "ok");
    CHECK(code_of(nested(600, "1"), 300) == "json.depth");
    CHECK(code_of(large + "x") == "json.syntax");
  }
}

// Damages a valid text in one place.
std::string damaged(std::string text, test::RandomJson& random) {
  if (text.empty()) return text;
  const std::size_t at = random.below(text.size());
  switch (random.below(3)) {
    case 0:
      text.erase(at, 1);
      break;
    case 1:
      text.insert(at, 1, "\"\\{}[],:01e-.tn \x80\x01"[random.below(18)]);
      break;
    default:
      text[at] = static_cast<char>(random.below(256));
  }
  return text;
}

TEST_CASE("random documents are valid, and what Boost.JSON takes of damaged ones is too") {
  const std::uint64_t seed = test::random_seed();
  INFO("MCPX_SEED=" << seed);
  test::RandomJson random(seed);
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = random.white() + random.value() + random.white();
    CAPTURE(text);
    REQUIRE(code_of(text) == "ok");
    REQUIRE_FALSE(check_grammar(text, 256));
    const std::string broken = damaged(text, random);
    CAPTURE(broken);
    const bool valid = code_of(broken) == "ok";
    boost::json::error_code error;
    static_cast<void>(boost::json::parse(broken, error));
    if (!error) REQUIRE(valid);
    if (!valid) {
      REQUIRE(error);
      ++refused;
    }
  }
  CHECK(refused > 100);
}

}  // namespace
}  // namespace mcpx::json
