#include "mcp/uris.hpp"

#include <cstddef>
#include <utility>

namespace mcpx::mcp {
namespace {

constexpr std::string_view kScheme = "mcpx://";
constexpr std::string_view kUiScheme = "ui://";
constexpr std::string_view kUiHost = "ui://mcpx.";
constexpr std::string_view kEscaped = "=/";
constexpr std::string_view kHex = "0123456789ABCDEF";

constexpr bool alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// RFC 3986: what may stand unescaped in a path, a query or a fragment alike.
constexpr bool path_character(char c) {
  constexpr std::string_view kMarks = "-._~!$&'()*+,;=:@/?";
  return alphanumeric(c) || kMarks.find(c) != std::string_view::npos;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The byte that a "%XX" at `at` stands for, or -1.
int escaped_byte(std::string_view text, std::size_t at) {
  if (text.size() - at < 3 || text[at] != '%') return -1;
  const int high = hex_value(text[at + 1]);
  const int low = hex_value(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool is_template(std::string_view text) {
  return text.find('{') != std::string_view::npos;
}

// Whether `text` may follow "scheme://authority/" as it is.
bool stands_as_it_is(std::string_view text) {
  bool fragment = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (path_character(text[i]) || escaped_byte(text, i) >= 0) continue;
    if (text[i] != '#' || fragment) return false;
    fragment = true;
  }
  return true;
}

void append_tail(std::string& out, std::string_view original) {
  const bool ambiguous = original.substr(0, kEscaped.size()) == kEscaped;
  if (!ambiguous && (is_template(original) || stands_as_it_is(original))) {
    out += original;
    return;
  }
  out += kEscaped;
  for (const char c : original) {
    if (path_character(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
}

std::string original_of(std::string_view tail) {
  if (tail.substr(0, kEscaped.size()) != kEscaped) return std::string(tail);
  tail.remove_prefix(kEscaped.size());
  std::string out;
  out.reserve(tail.size());
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const int byte = escaped_byte(tail, i);
    out += byte < 0 ? tail[i] : static_cast<char>(byte);
    if (byte >= 0) i += 2;
  }
  return out;
}

bool legal_server(std::string_view name) {
  if (name.empty()) return false;
  for (const char c : name) {
    if (!alphanumeric(c) && c != '_' && c != '-') return false;
  }
  return true;
}

}  // namespace

std::string exposed_uri(std::string_view server, std::string_view original) {
  const bool ui = original.substr(0, kUiScheme.size()) == kUiScheme;
  std::string out(ui ? kUiHost : kScheme);
  out += server;
  out += '/';
  append_tail(out, ui ? original.substr(kUiScheme.size()) : original);
  return out;
}

std::optional<QualifiedUri> parse_exposed_uri(std::string_view exposed) {
  const bool ui = exposed.substr(0, kUiHost.size()) == kUiHost;
  if (!ui && exposed.substr(0, kScheme.size()) != kScheme) return std::nullopt;
  exposed.remove_prefix(ui ? kUiHost.size() : kScheme.size());
  const std::size_t slash = exposed.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view server = exposed.substr(0, slash);
  if (!legal_server(server)) return std::nullopt;
  std::string original = original_of(exposed.substr(slash + 1));
  if (ui) original.insert(0, kUiScheme);
  return QualifiedUri{std::string(server), std::move(original)};
}

}  // namespace mcpx::mcp
