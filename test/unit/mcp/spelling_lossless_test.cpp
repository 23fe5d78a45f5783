// Property tests: results put together from members of known age, so that what must come out is put
// together from the same pieces.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/padded_buffer.hpp"
#include "json/json.hpp"
#include "mcp/spelling.hpp"

namespace mcpx::mcp {
namespace {

using enum Revision;

struct Piece {
  std::string text;
  Revision first = r2024_11_05;
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }
  // A subset of `pool` in random order.
  std::vector<Piece> some_of(std::vector<Piece> pool) {
    std::shuffle(pool.begin(), pool.end(), random_);
    pool.resize(below(pool.size() + 1));
    return pool;
  }

 private:
  std::mt19937 random_;
};

std::string join(const std::vector<Piece>& pieces, Revision to, char open, char close) {
  std::string out(1, open);
  for (const auto& piece : pieces) {
    if (piece.first > to) continue;
    if (out.size() > 1) out += ',';
    out += piece.text;
  }
  return out + close;
}

std::string object(const std::vector<Piece>& pieces, Revision to) {
  return join(pieces, to, '{', '}');
}

// Members that no revision knows, with all that makes JSON hard to keep.
std::vector<Piece> strange() {
  return {{R"("x":1.0)"},
          {R"("y":[9007199254740993,1e400,-0.0,1E-7])"},
          {R"("z":{"\u0000":"\ud83d\ude00\/","_meta":{"title":null}})"},
          {R"( "w" : false )"},
          {R"("":"")"},
          {R"("icons2":[ ])"}};
}

std::vector<Piece> with(std::vector<Piece> pool, const std::vector<Piece>& more) {
  pool.insert(pool.end(), more.begin(), more.end());
  return pool;
}

// The same block for the newest revision and for `to`.
struct Both {
  std::string source, expected;
};

Both random_block(Maker& maker, Revision to) {
  const auto extra = maker.some_of(with(strange(), {{R"("_meta":{"a":1})", r2025_06_18}}));
  switch (maker.below(4)) {
    case 0: {
      const auto pieces = with({{R"("type":"text")"}, {R"("text":"t")"}}, extra);
      return {object(pieces, r2026_07_28), object(pieces, to)};
    }
    case 1: {
      const auto inner = maker.some_of(with(strange(), {{R"("_meta":{})", r2025_06_18}}));
      const auto pieces = with({{R"("type":"resource")"}}, extra);
      auto source = pieces, expected = pieces;
      source.push_back({R"("resource":)" + object(inner, r2026_07_28)});
      expected.push_back({R"("resource":)" + object(inner, to)});
      return {object(source, r2026_07_28), object(expected, to)};
    }
    case 2: {  // unknown types keep even members that blocks of ours would lose
      const auto pieces = with({{R"("type":"hologram")"}, {R"("title":1)"}}, extra);
      return {object(pieces, r2026_07_28), object(pieces, r2026_07_28)};
    }
    default: {
      const auto notes = maker.some_of({{R"("priority":0.50)"},
                                        {R"("lastModified":"2025")", r2025_06_18},
                                        {R"("audience":["user"])"}});
      const auto pieces = with({{R"("type":"image")"}}, extra);
      auto source = pieces, expected = pieces;
      source.push_back({R"("annotations":)" + object(notes, r2026_07_28)});
      expected.push_back({R"("annotations":)" + object(notes, to)});
      return {object(source, r2026_07_28), object(expected, to)};
    }
  }
}

std::string spelled(const std::string& result, Revision from, Revision to,
                    std::string_view server_info = {}) {
  ResultContext context;
  context.from = from;
  context.to = to;
  context.server_info = server_info;
  std::string out;
  append_result_for(out, Method::tools_call, result, context);
  return out;
}

bool valid(const std::string& text) {
  return json::validate(text, json::Limits{}).has_value();
}

Both random_call_result(Maker& maker, Revision to) {
  std::vector<Piece> source_blocks{{R"({"type":"text","text":""})"}},
      expected_blocks = source_blocks;
  for (std::size_t i = maker.below(5); i > 0; --i) {
    const Both block = random_block(maker, to);
    source_blocks.push_back({block.source});
    expected_blocks.push_back({block.expected});
  }
  auto members = maker.some_of(
      with(strange(), {{R"("isError":false)"},
                       {R"("ttlMs":"unknown here")"},
                       {R"("resultType":"complete")", r2026_07_28},
                       {R"("structuredContent":{"n":1.0})", r2025_06_18},
                       {R"("_meta":{"io.modelcontextprotocol/serverInfo":1})", r2026_07_28}}));
  const auto is_structured = [](const Piece& piece) { return piece.first == r2025_06_18; };
  // A caller who cannot have it finds it as text, once.
  if (std::any_of(members.begin(), members.end(), is_structured)) {
    if (maker.below(2) == 0) {
      const std::string text = R"({"type":"text","text":" {\"n\": 1.0}"})";
      source_blocks.push_back({text});
      expected_blocks.push_back({text});
    } else if (to < r2025_06_18) {
      expected_blocks.push_back({R"({"type":"text","text":"{\"n\":1.0}"})"});
    }
  }
  const std::size_t at = maker.below(members.size() + 1);
  auto source = members, expected = members;
  const auto place = static_cast<std::ptrdiff_t>(at);
  source.insert(source.begin() + place,
                {R"("content":)" + join(source_blocks, r2026_07_28, '[', ']')});
  expected.insert(expected.begin() + place,
                  {R"("content":)" + join(expected_blocks, r2026_07_28, '[', ']')});
  return {object(source, r2026_07_28), object(expected, to)};
}

// The comma between two kept members carries the white space around it, and the place of a dropped
// member is not specified to the byte; so white space beside commas is left out of the comparison.
std::string tight(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    if (quoted || text[i] != ' ') out += text[i];
  }
  return out;
}

TEST_CASE("C33: a revision is not sent what it never had, whoever said it; nothing else changes") {
  Maker maker(33);
  for (int i = 0; i < 3000; ++i) {
    const Revision to = kAllRevisions[maker.below(kRevisions - 1)];
    const Both both = random_call_result(maker, to);
    CAPTURE(text(to), both.source);
    REQUIRE(valid(both.source));
    const Revision from = kAllRevisions[maker.below(kRevisions)];
    if (passes_whole(from, to)) continue;
    const std::string out = spelled(both.source, from, to);
    REQUIRE(valid(out));
    REQUIRE(tight(out) == tight(both.expected));
    REQUIRE(spelled(out, from, to) == out);
  }
}

TEST_CASE("C33: the newest legacy caller gets the bytes of a legacy server") {
  Maker maker(34);
  for (int i = 0; i < 500; ++i) {
    const std::string result = random_call_result(maker, r2026_07_28).source;
    for (const Revision from : kAllRevisions) {
      if (era_of(from) == Era::legacy) REQUIRE(spelled(result, from, kLatestLegacy) == result);
    }
  }
}

TEST_CASE("C33: a modern caller gets the bytes and additions behind them") {
  Maker maker(35);
  for (int i = 0; i < 1000; ++i) {
    const std::string result = random_call_result(maker, r2026_07_28).source;
    CAPTURE(result);
    const std::string out = spelled(result, r2025_11_25, r2026_07_28, R"({"name":"n"})");
    REQUIRE(valid(out));
    // Everything but the closing brace is still there, in order and in one piece.
    REQUIRE(out.substr(0, result.size() - 1) == result.substr(0, result.size() - 1));
    REQUIRE(json::find(out, "resultType") == R"("complete")");
    REQUIRE(json::find(out, "_meta", "io.modelcontextprotocol/serverInfo").has_value());
    REQUIRE(spelled(out, r2026_07_28, r2026_07_28, R"({"name":"n"})") == out);
  }
}

}  // namespace
}  // namespace mcpx::mcp
