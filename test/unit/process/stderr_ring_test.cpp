#include <catch2/catch.hpp>
#include <string>

#include "process/child.hpp"

namespace mcpx::process {
namespace {

TEST_CASE("StderrRing: the tail is the last lines, complete or not") {
  struct Case {
    const char* name;
    std::string written;
    std::size_t lines;
    std::string expected;
  };
  const Case cases[] = {
      {"nothing", "", 5, ""},
      {"fewer lines than asked", "a\nb\n", 5, "a\nb"},
      {"more lines than asked", "a\nb\nc\n", 2, "b\nc"},
      {"a last line without its end", "a\nb", 1, "b"},
      {"empty lines count", "a\n\n\n", 2, "\n"},
      {"zero lines", "a\nb\n", 0, ""},
      {"colours go", "\x1b[31mred\x1b[0m\n", 1, "red"},
      {"control characters go, tabs stay", "a\r\x07\tb\n", 1, "a\tb"},
      {"good UTF-8 stays", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\n", 1,
       "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"},
      {"bad UTF-8 is marked", "a\xff\xc3(\xed\xa0\x80\xc0\xaf", 1, "a?\?(?\?\?\?\?"},
      {"an escape cut off at the end", "a\x1b[3", 1, "a"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      StderrRing ring(1024);
      ring.append(c.written);
      CHECK(ring.tail(c.lines) == c.expected);
      CHECK(ring.total() == c.written.size());
    }
  }
}

TEST_CASE("StderrRing: keeps the last bytes only, and starts at a whole line") {
  StderrRing ring(16);
  for (int i = 0; i < 1000; ++i)
    ring.append("line " + std::to_string(i) + "\n");
  CHECK(ring.tail(100) == "line 999");  // "e 998\n" before it has lost its beginning
  CHECK(ring.total() == 8890);
  ring.append(std::string(100, 'x'));
  CHECK(ring.tail(100) == std::string(16, 'x'));
  CHECK(ring.total() == 8990);
}

TEST_CASE("ExitStatus: is told in words") {
  CHECK(ExitStatus{3, 0}.text() == "exit code 3");
  CHECK(ExitStatus{0, 9}.text() == "signal 9 (Killed)");
}

}  // namespace
}  // namespace mcpx::process
