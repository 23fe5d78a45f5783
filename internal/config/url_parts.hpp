// What of a URL the configuration checks, and which parts of it are secrets. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcpx::config {

struct UrlParts {
  std::string scheme;      // "http" or "https"
  std::string host;        // as written, without the brackets of IPv6
  std::uint16_t port = 0;  // that of the scheme when none is written
  bool has_user_info = false;
  std::vector<std::string> secrets;  // user info (also as Basic credentials) and query values
};
// nullopt: not an http(s) address with a host and, if any, a port.
std::optional<UrlParts> split_url(std::string_view url);

// Everything but letters, digits, "-._~" and the bytes of `kept` as %XX.
std::string percent_encoded(std::string_view text, std::string_view kept = {});
std::string percent_decoded(std::string_view text);  // a '%' without two digits stays

// Whether the query of `url` has a parameter of this name, and `url` with one more.
bool has_parameter(std::string_view url, std::string_view name);
std::string with_parameter(std::string_view url, std::string_view name, std::string_view value);

}  // namespace mcpx::config
