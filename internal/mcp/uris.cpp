#include "mcp/uris.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace mcpx::mcp {
namespace {

constexpr std::string_view kScheme = "mcpx://";
// Schemes that are kept, as clients look at them: `ui` of MCP Apps (SEP-1865), `skill` (SEP-2640).
constexpr std::array<std::string_view, 2> kKept = {"ui://", "skill://"};
constexpr std::string_view kHost = "mcpx.";
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

// Empty for a scheme that is not kept.
std::string_view kept_scheme(std::string_view uri) {
  for (const std::string_view scheme : kKept) {
    if (uri.substr(0, scheme.size()) == scheme) return scheme;
  }
  return {};
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
  const std::string_view kept = kept_scheme(original);
  std::string out(kept.empty() ? kScheme : kept);
  if (!kept.empty()) out += kHost;
  out += server;
  out += '/';
  append_tail(out, original.substr(kept.size()));
  return out;
}

std::optional<QualifiedUri> parse_exposed_uri(std::string_view exposed) {
  const std::string_view kept = kept_scheme(exposed);
  const std::string_view scheme = kept.empty() ? kScheme : kept;
  if (exposed.substr(0, scheme.size()) != scheme) return std::nullopt;
  exposed.remove_prefix(scheme.size());
  if (!kept.empty()) {
    if (exposed.substr(0, kHost.size()) != kHost) return std::nullopt;
    exposed.remove_prefix(kHost.size());
  }
  const std::size_t slash = exposed.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view server = exposed.substr(0, slash);
  if (!legal_server(server)) return std::nullopt;
  std::string original = original_of(exposed.substr(slash + 1));
  original.insert(0, kept);
  return QualifiedUri{std::string(server), std::move(original)};
}

}  // namespace mcpx::mcp
