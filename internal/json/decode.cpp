#include <cstdint>

#include "json/json.hpp"
#include "json/utf8.hpp"

namespace mcpx::json {
namespace {

std::optional<std::uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t code = 0;
  for (const char c : text.substr(0, 4)) {
    std::uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      digit = static_cast<std::uint32_t>((c | 0x20) - 'a' + 10);
    } else {
      return std::nullopt;
    }
    code = code * 16 + digit;
  }
  return code;
}

// `text` starts behind "\u". Answers how many bytes were used; 0 on a lone surrogate or bad digits.
std::size_t append_unicode_escape(std::string& out, std::string_view text) {
  const auto first = hex4(text);
  if (!first || (*first >= 0xDC00 && *first < 0xE000)) return 0;
  if (*first < 0xD800 || *first >= 0xE000) {
    append_utf8(out, *first);
    return 4;
  }
  if (text.substr(4, 2) != "\\u") return 0;
  const auto second = hex4(text.substr(6));
  if (!second || *second < 0xDC00 || *second >= 0xE000) return 0;
  append_utf8(out, 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00));
  return 10;
}

// '\0' for what is no simple escape.
char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

}  // namespace

std::optional<std::string> decode_string(Raw value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return std::nullopt;
  std::string_view rest = value.substr(1, value.size() - 2);
  std::string out;
  for (;;) {
    const std::size_t backslash = rest.find('\\');
    if (backslash == std::string_view::npos) return out.append(rest);
    if (out.empty()) out.reserve(rest.size());
    out.append(rest.substr(0, backslash));
    rest.remove_prefix(backslash + 1);
    if (rest.empty()) return std::nullopt;
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == 'u') {
      const std::size_t used = append_unicode_escape(out, rest);
      if (used == 0) return std::nullopt;
      rest.remove_prefix(used);
    } else {
      const char decoded = simple_escape(c);
      if (decoded == '\0') return std::nullopt;
      out.push_back(decoded);
    }
  }
}

}  // namespace mcpx::json
