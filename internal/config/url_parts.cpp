#include "config/url_parts.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "config/values.hpp"

namespace mcpx::config {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void add(std::vector<std::string>& out, std::string_view value) {
  if (value.empty()) return;
  out.emplace_back(value);
  if (std::string plain = percent_decoded(value); plain != value) out.push_back(std::move(plain));
}

std::optional<Address> parse_authority(std::string_view authority, std::string_view port) {
  const std::size_t bracket = authority.find(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (authority.empty()) return std::nullopt;
  std::string whole(authority);
  if (colon == std::string_view::npos) whole += port;
  auto address = parse_address(whole);
  return address && address->port != 0 ? address : std::nullopt;
}

std::string_view query_of(std::string_view url) {
  url = url.substr(0, url.find('#'));
  const std::size_t question = url.find('?');
  return question == std::string_view::npos ? std::string_view() : url.substr(question + 1);
}

// The next `name=value` of a query, taken off it.
std::string_view take_parameter(std::string_view& query) {
  const std::string_view pair = query.substr(0, query.find('&'));
  query.remove_prefix(std::min(query.size(), pair.size() + 1));
  return pair;
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
    // As the header says it that is made of it.
    const char* const end = colon == std::string_view::npos ? ":" : "";
    add(out.secrets, base64(percent_decoded(user_info) + end));
    authority.remove_prefix(at + 1);
    out.has_user_info = true;
  }
  const auto address = parse_authority(authority, out.scheme == "https" ? ":443" : ":80");
  if (!address) return std::nullopt;
  out.host = address->host;
  out.port = address->port;

  std::string_view query = query_of(url);
  while (!query.empty()) {
    const std::string_view pair = take_parameter(query);
    const std::size_t equals = pair.find('=');
    add(out.secrets, equals == std::string_view::npos ? pair : pair.substr(equals + 1));
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
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

std::string percent_encoded(std::string_view text, std::string_view kept) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    if (plain || kept.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

bool has_parameter(std::string_view url, std::string_view name) {
  std::string_view query = query_of(url);
  while (!query.empty()) {
    const std::string_view pair = take_parameter(query);
    if (percent_decoded(pair.substr(0, pair.find('='))) == name) return true;
  }
  return false;
}

std::string with_parameter(std::string_view url, std::string_view name, std::string_view value) {
  const std::string_view base = url.substr(0, url.find('#'));
  std::string out(base);
  if (base.find('?') == std::string_view::npos) {
    out += '?';
  } else if (base.back() != '?' && base.back() != '&') {
    out += '&';
  }
  out += percent_encoded(name) + '=' + percent_encoded(value);
  out += url.substr(base.size());
  return out;
}

}  // namespace mcpx::config
