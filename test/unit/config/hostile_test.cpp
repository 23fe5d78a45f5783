// Files that are not configurations at all, or are made to hurt.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "unit/config/load.hpp"

namespace mcpx::config {
namespace {

using test::load;
using test::problems_of;

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i)
    out += text;
  return out;
}

TEST_CASE("deep nesting is refused at its place, in every spelling") {
  std::string stairs;
  for (int i = 0; i < 2'000; ++i)
    stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  for (const std::string& text : {std::string(10'000, '['), repeated("{a: ", 10'000),
                                  repeated("- ", 100'000), repeated("? ", 10'000), stairs}) {
    const auto result = load(text);
    REQUIRE_FALSE(result.has_value());
    REQUIRE(result.error().size() == 1);
    INFO(problems_of(result).substr(0, 200));
    CHECK(result.error()[0].message == "nested more than 64 levels deep");
    CHECK(result.error()[0].line > 0);
  }
}

TEST_CASE("an alias bomb is refused by what it expands to") {
  std::string text = "x-0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    text += "x-" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    text += repeated(", " + below, 9) + "]\n";
  }
  const auto result = load(text);
  REQUIRE_FALSE(result.has_value());
  REQUIRE(result.error().size() == 1);
  CHECK(result.error()[0].message == "the file holds more than 100000 values");
}

TEST_CASE("a bomb of merge keys is refused likewise") {
  std::string text = "x-0: &a0 {k: v}\n";
  for (int i = 1; i < 40; ++i) {
    const std::string below = std::to_string(i - 1), name = std::to_string(i);
    text += "x-" + name + ": &a" + name + " {<<: *a" + below + ", p" + name + ": *a" + below +
            ", q" + name + ": *a" + below + "}\n";
  }
  const auto result = load(text);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error()[0].message == "the file holds more than 100000 values");
}

TEST_CASE("an alias inside what it names is refused") {
  const auto result = load("x-a: &a [*a]\n");
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error()[0].message == "the alias refers to a value that contains it");
}

TEST_CASE("bytes that are no text are refused with their place") {
  struct Case {
    std::string name, text, beginning;
  };
  const std::vector<Case> cases = {
      {"latin-1", "a:\n  \xe9", "mcpx.yaml:2:3: the file is not UTF-8"},
      {"overlong", "\xc0\xaf", "mcpx.yaml:1:1: the file is not UTF-8"},
      {"surrogate", "\xed\xa0\x80", "mcpx.yaml:1:1: the file is not UTF-8"},
      {"cut short", "\xf0\x9f\x98", "mcpx.yaml:1:1: the file is not UTF-8"},
      {"beyond unicode", "\xf4\x90\x80\x80", "mcpx.yaml:1:1: the file is not UTF-8"},
      {"UTF-16",
       std::string("\xff\xfe"
                   "a\0",
                   4),
       "mcpx.yaml:1:1: the file is not UTF-8"},
      {"NUL", std::string("a: 1\n\0b: 2", 10), "mcpx.yaml:2:1: control character 0x00"},
      {"end of transmission", "a: 1\n\x04", "mcpx.yaml:2:1: control character 0x04"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const auto result = load(c.text);
      REQUIRE_FALSE(result.has_value());
      CHECK(result.error()[0].text().substr(0, c.beginning.size()) == c.beginning);
    }
  }
}

TEST_CASE("a byte order mark, CRLF line ends and non-ASCII text are fine") {
  const auto result =
      load("\xef\xbb\xbfservers:\r\n  a:\r\n    command: \xc3\xa9\xf0\x9f\x98\x80\r\n");
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  CHECK(result->servers[0].command == "\xc3\xa9\xf0\x9f\x98\x80");
}

TEST_CASE("a huge file is refused without being parsed") {
  const auto result = load(std::string((4u << 20) + 1, ' '));
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error()[0].message.find("at most 4194304 are read") != std::string::npos);
}

TEST_CASE("many keys and many servers are read in time that grows with the file") {
  std::string text = "servers:\n";
  for (int i = 0; i < 20'000; ++i)
    text += "  s" + std::to_string(i) + ": {command: x}\n";
  const auto start = std::chrono::steady_clock::now();
  const auto result = load(text);
  REQUIRE(result.has_value());
  CHECK(result->servers.size() == 20'000);
  // Quadratic work would take minutes; the bound is wide for slow machines and sanitizers.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("a directory, a missing file and a file without permission are told apart") {
  const auto directory = load_file("/", {});
  REQUIRE_FALSE(directory.has_value());
  CHECK(directory.error()[0].text() == "/: is a directory; name the file in it");
  const auto missing = load_file("/nonexistent/mcpx.yaml", {});
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error()[0].message == "cannot be opened: No such file or directory");
  CHECK(missing.error()[0].line == 0);
}

}  // namespace
}  // namespace mcpx::config
