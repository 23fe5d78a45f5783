#include "http1/rules.hpp"

#include <algorithm>

#include "http1/message.hpp"
#include "http1/syntax.hpp"

namespace mcpx::http1 {
std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && blank(text.back()))
    text.remove_suffix(1);
  return text;
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

Coding coding(const Facts& facts) {
  if (facts.encodings == 0) return Coding::none;
  if (facts.encodings > 1 || facts.encoding.empty()) return Coding::stacked;
  if (equals_ignoring_case(facts.encoding, "chunked")) return Coding::chunked;
  std::size_t chunked = 0;
  for (auto rest = facts.encoding; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    if (equals_ignoring_case(trimmed(rest.substr(0, comma)), "chunked")) ++chunked;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return chunked > 1 ? Coding::stacked : Coding::unknown;
}

bool is_authority(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) ||
           std::string_view("-._~%:[]!$&'()*+;=").find(c) != std::string_view::npos;
  });
}

bool names_another_version(std::string_view line) {
  const auto text = line.substr(std::min(line.rfind(' ') + 1, line.size()));
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  // With one of ours the line is merely wrong elsewhere: a target that holds a space.
  if (text == "HTTP/1.1" || text == "HTTP/1.0") return false;
  return text.size() == 8 && text.substr(0, 5) == "HTTP/" && digit(text[5]) && text[6] == '.' &&
         digit(text[7]);
}

}  // namespace mcpx::http1
