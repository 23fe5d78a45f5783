#include "mcp/structured.hpp"

#include <cstddef>
#include <string_view>

namespace mcpx::mcp {
namespace {

std::size_t past_white(std::string_view text, std::size_t at) {
  const std::size_t found = text.find_first_not_of(" \t\r\n", at);
  return found == std::string_view::npos ? text.size() : found;
}

// The string token that begins at `at`, up to the end of a text that does not close it.
std::string_view string_at(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != '"')
    end += text[end] == '\\' ? 2 : 1;
  return text.substr(at, end + 1 - at);
}

// `text` may be anything; only what reads like `json` does is the same.
bool same_values(std::string_view text, json::Raw json) {
  std::size_t at = past_white(text, 0);
  std::size_t other = past_white(json, 0);
  while (at < text.size() && other < json.size()) {
    if (text[at] != json[other]) return false;
    if (text[at] == '"') {
      const std::string_view one = string_at(text, at);
      const std::string_view two = string_at(json, other);
      if (one != two && (one.size() < 2 || json::decode_string(one) != json::decode_string(two))) {
        return false;
      }
      at += one.size() - 1;
      other += two.size() - 1;
    }
    at = past_white(text, at + 1);
    other = past_white(json, other + 1);
  }
  return at >= text.size() && other >= json.size();
}

}  // namespace

bool says(json::Raw content, json::Raw structured) {
  if (!json::is_array(content)) return false;
  json::Elements elements(content);
  while (const auto block = elements.next()) {
    if (!json::is_object(*block) || json::find_string(*block, "type") != "text") continue;
    const auto text = json::find_string(*block, "text");
    if (text && same_values(*text, structured)) return true;
  }
  return false;
}

}  // namespace mcpx::mcp
