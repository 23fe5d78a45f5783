#include "config/url_parts.hpp"

#include <algorithm>

#include "config/values.hpp"

namespace mcpx::config {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                        hex_digit(text[i + 2]) >= 0;
    if (escape) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

void add(std::vector<std::string>& out, std::string_view value) {
  if (value.empty()) return;
  out.emplace_back(value);
  if (std::string plain = decoded(value); plain != value) out.push_back(std::move(plain));
}

bool valid_authority(std::string_view authority) {
  const std::size_t bracket = authority.find(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon == std::string_view::npos) {
    return !authority.empty() && parse_address(std::string(authority) + ":80").has_value();
  }
  const auto address = parse_address(authority);
  return address && address->port != 0;
}

}  // namespace

std::optional<UrlParts> split_url(std::string_view url) {
  UrlParts out;
  const bool printable =
      std::all_of(url.begin(), url.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  const std::size_t scheme = url.find("://");
  if (!printable || scheme == std::string_view::npos) return std::nullopt;
  out.scheme = std::string(url.substr(0, scheme));
  if (out.scheme != "http" && out.scheme != "https") return std::nullopt;

  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t path = rest.find_first_of("/?");
  std::string_view authority = rest.substr(0, path);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view user_info = authority.substr(0, at);
    const std::size_t colon = user_info.find(':');
    add(out.secrets, user_info);
    if (colon != std::string_view::npos) add(out.secrets, user_info.substr(colon + 1));
    authority.remove_prefix(at + 1);
  }
  if (!valid_authority(authority)) return std::nullopt;

  const std::size_t question = rest.find('?');
  std::string_view query = question == std::string_view::npos ? "" : rest.substr(question + 1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    add(out.secrets, equals == std::string_view::npos ? pair : pair.substr(equals + 1));
  }
  return out;
}

}  // namespace mcpx::config
