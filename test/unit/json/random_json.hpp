// RandomJson: a seeded source of valid JSON text at its oddest, for property tests.
//
// White space everywhere, every escape, surrogate pairs, numbers no machine type holds, duplicate
// keys, deep nesting. Everything it makes is valid by RFC 8259. A failing test prints the seed;
// MCPX_SEED=<number> in the environment repeats it. Thread: any, one at a time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace mcpx::test {

inline std::uint64_t random_seed() {
  if (const char* given = std::getenv("MCPX_SEED")) return std::strtoull(given, nullptr, 10);
  return std::random_device()();
}

class RandomJson {
 public:
  explicit RandomJson(std::uint64_t seed) : engine_(seed) {}

  // Below `limit`, which is not 0.
  std::size_t below(std::size_t limit) { return engine_() % limit; }
  bool one_in(std::size_t n) { return below(n) == 0; }

  // Line ends are white space too; without them a value may stand on one line.
  void line_ends(bool allowed) { line_ends_ = allowed; }

  std::string white() {
    std::string out;
    while (one_in(4))
      out.push_back(" \t\n\r"[below(line_ends_ ? 4 : 2)]);
    return out;
  }

  std::string value(int depth = 5) {
    switch (below(depth > 0 ? 7 : 5)) {
      case 0:
      case 1:
        return string();
      case 2:
      case 3:
        return number();
      case 4:
        return pick({"true", "false", "null", "{}", "[]", "{ }", "[\t]"});
      case 5:
        return array(depth - 1);
      default:
        return object(depth - 1);
    }
  }

  std::string array(int depth = 4) {
    std::string out = "[" + white();
    const std::size_t count = below(5);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out += white() + "," + white();
      out += value(depth);
    }
    return out + white() + "]";
  }

  // Keys may repeat; `keys` are drawn now and then.
  std::string object(int depth = 4, const std::vector<std::string>& keys = {"id", "name", "a"}) {
    std::string out = "{" + white();
    const std::size_t count = below(5);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out += white() + "," + white();
      const bool known = !keys.empty() && one_in(3);
      out += known ? spelled(keys[below(keys.size())]) : string();
      out += white() + ":" + white() + value(depth);
    }
    return out + white() + "}";
  }

  std::string number() {
    if (one_in(3)) {
      return pick({"0", "-0", "1.0", "1e400", "-1E+2", "9007199254740993", "9223372036854775808",
                   "1234567890123456789012345678901234567890", "0.1e-7", "-0.0", "1E400", "5e-324",
                   "18446744073709551616", "100.000"});
    }
    std::string out = one_in(3) ? "-" : "";
    out += one_in(4) ? "0" : std::to_string(1 + below(99)) + digits(below(6));
    if (one_in(3)) out += "." + digits(1 + below(6));
    if (one_in(4)) out += pick({"e", "E", "e+", "E-"}) + digits(1 + below(3));
    return out;
  }

  std::string string() {
    std::string out = "\"";
    const std::size_t count = one_in(20) ? 200 + below(400) : below(12);
    for (std::size_t i = 0; i < count; ++i)
      out += piece();
    return out + "\"";
  }

  // The ASCII text as a key, with some characters written as escapes.
  std::string spelled(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (one_in(6)) {
        constexpr char kHex[] = "0123456789abcdefABCDEF";
        const auto hex = [&](int nibble) {
          return kHex[nibble >= 10 && one_in(2) ? nibble + 6 : nibble];
        };
        out += "\\u00";
        out += hex(c >> 4);
        out += hex(c & 0xF);
      } else {
        out += c;
      }
    }
    return out + "\"";
  }

 private:
  std::string pick(const std::vector<std::string_view>& from) {
    return std::string(from[below(from.size())]);
  }
  std::string digits(std::size_t count) {
    std::string out;
    while (count-- > 0)
      out.push_back(static_cast<char>('0' + below(10)));
    return out;
  }
  std::string piece() {
    switch (below(8)) {
      case 0:
        return pick({"\\\"", "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"});
      case 1:
        return pick({"\\u0000", "\\u001F", "\\u00e9", "\\uD83D\\uDE00", "\\ud83d\\ude00", "\\uFFFF",
                     "\\u2028"});
      case 2:
        return pick({"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xEF\xBB\xBF", "\x7F",
                     "\xF4\x8F\xBF\xBF"});
      case 3:
        return pick({"{", "}", "[", "]", ",", ":", "\\\\\\\"", " "});
      default:
        return std::string(1, static_cast<char>('a' + below(26)));
    }
  }

  std::mt19937_64 engine_;
  bool line_ends_ = true;
};

}  // namespace mcpx::test
