// What of a URL the configuration checks, and which parts of it are secrets. Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcpx::config {

struct UrlParts {
  std::string scheme;                // "http" or "https"
  std::vector<std::string> secrets;  // user info and query values, as written and decoded
};
// nullopt: not an http(s) address with a host and, if any, a port.
std::optional<UrlParts> split_url(std::string_view url);

}  // namespace mcpx::config
