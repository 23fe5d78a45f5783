#include "table.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace mcpx::cli {
namespace {

TEST_CASE("columns line up, and no line ends in spaces") {
  CHECK(render_table({"NAME", "STATE", "N"}, {{"a", "ready", "1"}, {"long-name", "x", ""}}, {}) ==
        "NAME       STATE  N\n"
        "a          ready  1\n"
        "long-name  x\n");
  CHECK(render_table({"A"}, {}, {}) == "A\n");
  CHECK(render_table({"A", "B"}, {{"only"}}, {}) == "A     B\nonly\n");
}

TEST_CASE("the last column is cut to the terminal, and never to less than ten columns") {
  Style style;
  style.width = 20;
  const std::string text(50, 'x');
  CHECK(render_table({"K", "V"}, {{"a", text}}, style) ==
        "K  V\na  " + std::string(16, 'x') + "\u2026\n");
  style.width = 5;
  CHECK(render_table({"K", "V"}, {{"a", text}}, style) ==
        "K  V\na  " + std::string(9, 'x') + "\u2026\n");
}

TEST_CASE("colours surround text without moving columns, and only when wanted") {
  Style style;
  const std::vector<std::vector<Cell>> rows = {{Cell("up", Colour::green), "x"}};
  CHECK(render_table({"S", "T"}, rows, style) == "S   T\nup  x\n");
  style.colours = true;
  CHECK(render_table({"S", "T"}, rows, style) ==
        "\x1b[1mS\x1b[0m   \x1b[1mT\x1b[0m\n\x1b[32mup\x1b[0m  x\n");
}

TEST_CASE("a server's text cannot command the terminal") {
  CHECK(printable("a\x1b[31mb\x07\x7f") == "a?[31mb??");
  CHECK(printable("a\r\nb\tc") == "a  b c");
  CHECK(printable("a\r\nb\tc", true) == "a\nb\tc");
  CHECK(printable("\xc2\x9b"
                  "31m") == "?31m");  // CSI as one C1 character
  CHECK(printable("\xe2\x80\xae"
                  "evil") == "?evil");  // right-to-left override
  CHECK(printable("caf\xc3\xa9 \xf0\x9f\x98\x80") == "caf\xc3\xa9 \xf0\x9f\x98\x80");
  CHECK(printable("\xff\xc3") == "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("wide characters take two columns, combining marks none") {
  CHECK(columns("abc") == 3);
  CHECK(columns("\xe6\xbc\xa2\xe5\xad\x97") == 4);
  CHECK(columns("e\xcc\x81") == 1);
  CHECK(columns("\xf0\x9f\x98\x80") == 2);
  CHECK(fitted("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 4) == "\xe6\xbc\xa2\u2026");
  CHECK(fitted("abc", 3) == "abc");
  CHECK(fitted("abcd", 3) == "ab\u2026");
  CHECK(fitted("abcd", 0).empty());
}

}  // namespace
}  // namespace mcpx::cli
