#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "rpc/line_framer.hpp"
#include "rpc/message.hpp"
#include "unit/json/random_json.hpp"

namespace mcpx::rpc {
namespace {

std::string shown(const Line& line) {
  if (const auto* text = std::get_if<PaddedBuffer>(&line)) return std::string(text->view());
  const auto& big = std::get<OversizedLine>(line);
  return "<" + std::to_string(big.size) + " id " + big.id + (big.has_method ? " method>" : ">");
}

void drain(LineFramer& framer, std::vector<std::string>& lines) {
  while (const auto line = framer.next())
    lines.push_back(shown(*line));
}

std::vector<std::string> lines_of(std::string_view bytes, std::size_t limit, std::size_t chunk) {
  LineFramer framer(limit);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < bytes.size(); at += chunk) {
    framer.feed(bytes.substr(at, chunk));
    drain(framer, lines);
  }
  return lines;
}

using Texts = std::vector<std::string>;

TEST_CASE("lines end at a newline, with or without carriage return; blank lines are skipped") {
  for (std::size_t chunk = 1; chunk < 20; ++chunk) {
    CAPTURE(chunk);
    CHECK(lines_of("{}\r\n\n  \r\n[1]\n\r\n \t\n\"a\rb\"\n", 100, chunk) ==
          Texts{"{}", "[1]", "\"a\rb\""});
  }
  LineFramer framer(10);
  framer.feed("{\"a\"");
  CHECK_FALSE(framer.next().has_value());
  CHECK(framer.pending() == 4);
  framer.feed(":1}\n{");
  CHECK(shown(*framer.next()) == "{\"a\":1}");
  CHECK_FALSE(framer.next().has_value());
  CHECK(framer.pending() == 1);
}

TEST_CASE("C16: lines that are no JSON and blank lines do not disturb the lines between them") {
  const std::string output =
      "Server starting...\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\x1b[32mok\x1b[0m\r\n"
      "   \n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n";
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, output.size()}) {
    LineFramer framer(1000);
    int messages = 0, noise = 0;
    for (std::size_t at = 0; at < output.size(); at += chunk) {
      framer.feed(std::string_view(output).substr(at, chunk));
      while (auto line = framer.next()) {
        const auto parsed = parse(std::get<PaddedBuffer>(std::move(*line)), json::Limits{});
        if (parsed.has_value()) {
          ++messages;
        } else {
          ++noise;
          CHECK(parsed.error().code == kParseError);
        }
      }
    }
    CHECK(messages == 2);
    CHECK(noise == 2);
    CHECK(framer.pending() == 0);
  }
}

TEST_CASE("C14: a line over the cap loses only itself and still tells its id") {
  const std::string blob(3'000'000, 'x');
  const std::string big = R"({"result":{"id":5,"text":")" + blob + R"("},"jsonrpc":"2.0","id":42})";
  const std::string input = "{\"a\":1}\n" + big + "\n{\"b\":2}\n";
  for (const std::size_t chunk : {std::size_t{4096}, std::size_t{65536}, input.size()}) {
    CAPTURE(chunk);
    CHECK(lines_of(input, 1'000'000, chunk) ==
          Texts{"{\"a\":1}", "<" + std::to_string(big.size()) + " id 42>", "{\"b\":2}"});
    // Under a cap that admits it the same line is whole.
    CHECK(lines_of(input, 4'000'000, chunk) == Texts{"{\"a\":1}", big, "{\"b\":2}"});
  }
}

TEST_CASE("an oversized request is told from an oversized response") {
  const std::string pad(100, ' ');
  CHECK(lines_of(R"({"jsonrpc":"2.0","id":"q","method":"m",)" + pad + "\"params\":{}}\n", 50, 9) ==
        Texts{"<151 id \"q\" method>"});
}

TEST_CASE("the cap counts the line without its end, however it is cut") {
  for (std::size_t chunk = 1; chunk < 14; ++chunk) {
    CAPTURE(chunk);
    CHECK(lines_of("1234567\n12345678\n12345678\r\n123456789\n123456789\r\n1\n", 8, chunk) ==
          Texts{"1234567", "12345678", "12345678", "<9 id >", "<9 id >", "1"});
  }
}

TEST_CASE("the memory a long line needed is given back") {
  const std::string part(64 * 1024, 'x');
  LineFramer framer(2'000'000);
  std::vector<std::string> lines;
  for (int i = 0; i < 15; ++i) {
    framer.feed(part);
    drain(framer, lines);
  }
  CHECK(framer.capacity() >= 15 * part.size());
  framer.feed("\n1");
  drain(framer, lines);
  CHECK(lines.size() == 1);
  CHECK(framer.pending() == 1);
  CHECK(framer.capacity() <= part.size());
  // A line that never ends is not kept at all.
  for (int i = 0; i < 200; ++i) {
    framer.feed(part);
    drain(framer, lines);
    CHECK(framer.capacity() < 5'000'000);
  }
  CHECK(framer.capacity() <= part.size());
  CHECK(framer.pending() == 200 * part.size() + 1);
}

TEST_CASE("only one carriage return belongs to the line end") {
  const std::string bytes = "12345\r\r\r\n1\r\r\n";
  for (std::size_t chunk = 1; chunk <= bytes.size(); ++chunk) {
    CAPTURE(chunk);
    CHECK(lines_of(bytes, 4, chunk) == Texts{"<7 id >", "1\r"});
  }
}

TEST_CASE("an oversized line that has not ended counts as pending") {
  LineFramer framer(4);
  framer.feed("123456");
  CHECK_FALSE(framer.next().has_value());
  framer.feed("78");
  CHECK_FALSE(framer.next().has_value());
  CHECK(framer.pending() == 8);
  framer.feed("\n1\n");
  CHECK(shown(*framer.next()) == "<8 id >");
  CHECK(shown(*framer.next()) == "1");
  CHECK_FALSE(framer.next().has_value());
  CHECK(framer.pending() == 0);
}

// The plain reading of the contract: split everything at once.
Texts naive_lines(const std::string& bytes, std::size_t limit) {
  Texts out;
  std::size_t at = 0;
  for (std::size_t end = bytes.find('\n'); end != bytes.npos; end = bytes.find('\n', at)) {
    std::string line = bytes.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.size() > limit) {
      IdScanner scanner;
      scanner.feed(line);
      out.push_back(shown(OversizedLine{line.size(), scanner.id(), scanner.has_method()}));
    } else if (line.find_first_not_of(" \t\r") != line.npos) {
      out.push_back(line);
    }
  }
  return out;
}

TEST_CASE("every chunking of a stream gives the same lines") {
  const std::uint64_t seed = test::random_seed();
  INFO("MCPX_SEED=" << seed);
  test::RandomJson random(seed);
  for (int i = 0; i < 300; ++i) {
    std::string bytes;
    random.line_ends(random.one_in(4));
    for (std::size_t n = random.below(8); n > 0; --n) {
      bytes += random.white() + random.value() + (random.one_in(2) ? "\r\n" : "\n");
    }
    const std::size_t limit = 1 + random.below(60);
    CAPTURE(bytes, limit);
    const Texts expected = naive_lines(bytes, limit);
    LineFramer framer(limit);
    Texts lines;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = 1 + random.below(random.one_in(3) ? 200 : 5);
      framer.feed(std::string_view(bytes).substr(at, size));
      // Draining late must not change anything either.
      if (!random.one_in(3)) drain(framer, lines);
      at += size;
    }
    drain(framer, lines);
    REQUIRE(lines == expected);
  }
}

TEST_CASE("IdScanner finds what a full parse finds, wherever the id stands and however it is cut") {
  const std::uint64_t seed = test::random_seed();
  INFO("MCPX_SEED=" << seed);
  test::RandomJson random(seed);
  for (int i = 0; i < 2000; ++i) {
    const bool request = random.one_in(2);
    const std::string id = random.one_in(2) ? random.string() : std::to_string(random.below(1000));
    std::vector<std::string> members = {
        random.spelled("jsonrpc") + ":\"2.0\"",
        random.spelled("id") + random.white() + ":" + random.white() + id + random.white(),
        request ? random.spelled("method") + ":\"m\""
                : random.spelled("result") + ":" + random.value(),
        "\"x\":" + random.value()};
    std::string text = random.white() + "{";
    while (!members.empty()) {
      const std::size_t at = random.below(members.size());
      text += random.white() + members[at] + (members.size() > 1 ? "," : "");
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(at));
    }
    text += "}" + random.white();
    CAPTURE(text);
    const auto parsed = parse(PaddedBuffer(text), json::Limits{});
    REQUIRE(parsed.has_value());
    IdScanner scanner;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = 1 + random.below(9);
      scanner.feed(std::string_view(text).substr(at, size));
      at += size;
    }
    REQUIRE(scanner.id() == parsed->id);
    REQUIRE(scanner.has_method() == request);
  }
}

TEST_CASE("IdScanner takes no id that is illegal, doubled, too long, or not at the top") {
  const auto id_of = [](std::string_view text) {
    IdScanner scanner;
    scanner.feed(text);
    return scanner.id();
  };
  CHECK(id_of(R"({"id":7})") == "7");
  CHECK(id_of(R"({"id": "a,}\"b" , "x":1)") == R"("a,}\"b")");
  CHECK(id_of(R"({"id":null})").empty());
  CHECK(id_of(R"({"id":{"id":7}})").empty());
  CHECK(id_of(R"({"id":[7],"x":8})").empty());
  CHECK(id_of(R"({"id":7,"i\u0064":8})").empty());
  CHECK(id_of(R"([{"id":7}])").empty());
  CHECK(id_of(R"({"a":{"id":7},"b":["id",7],"id7":1})").empty());
  CHECK(id_of(R"("id":7)").empty());
  CHECK(id_of(R"({"id":7)").empty());
  CHECK(id_of(R"({"id":")" + std::string(300, 'i') + "\"}").size() == 302);
  CHECK(id_of(R"({"id":")" + std::string(100'000, 'i') + "\"}").empty());
  CHECK(id_of(R"({")" + std::string(100'000, 'i') + R"(":1,"id":3})") == "3");
}

}  // namespace
}  // namespace mcpx::rpc
