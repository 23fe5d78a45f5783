#include "config/proxy.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "config/url_parts.hpp"
#include "config/values.hpp"

namespace mcpx::config {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

// The variable's spelling and value; empty variables are as good as unset.
std::pair<std::string, std::string> look_up(const Environment& environment,
                                            const std::string& upper) {
  if (!environment) return {};
  for (const std::string& name : {lower(upper), upper}) {
    if (auto value = environment(name); value && !value->empty()) return {name, *value};
  }
  return {};
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// One entry of NO_PROXY: "*", a host, a domain (with or without a leading dot: its hosts and
// itself), each with a port or without.
bool excludes(std::string_view entry, std::string_view host, std::uint16_t port) {
  if (entry == "*") return true;
  std::string_view name = entry;
  // An IPv6 address holds colons; only "[...]:port" gives it a port.
  const std::size_t colon = entry.rfind(':');
  const bool has_port = colon != std::string_view::npos &&
                        (entry.find(':') == colon || (colon > 0 && entry[colon - 1] == ']'));
  if (has_port) {
    if (parse_integer(entry.substr(colon + 1)) != port) return false;
    name = entry.substr(0, colon);
  }
  if (name.size() > 1 && name.front() == '[' && name.back() == ']')
    name = name.substr(1, name.size() - 2);
  if (name.substr(0, 2) == "*.") name.remove_prefix(1);
  if (!name.empty() && name.front() == '.') name.remove_prefix(1);
  if (name.empty() || host.size() < name.size()) return false;
  const std::size_t before = host.size() - name.size();
  return host.substr(before) == name && (before == 0 || host[before - 1] == '.');
}

bool excluded(std::string_view list, const UrlParts& target) {
  const std::string host = lower(target.host);
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (excludes(lower(trimmed(list.substr(0, comma))), host, target.port)) return true;
    list.remove_prefix(std::min(list.size(), comma + 1));
  }
  return false;
}

}  // namespace

std::optional<std::string> normal_proxy(std::string_view text) {
  const auto parts = split_url(text);
  if (!parts || parts->scheme != "http" || text.find_first_of("?#") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t path = text.find('/', std::string_view("http://").size());
  if (path != std::string_view::npos && path + 1 != text.size()) return std::nullopt;
  return std::string(text.substr(0, path));
}

EnvironmentProxy proxy_from_environment(std::string_view url, const Environment& environment) {
  const auto target = split_url(url);
  if (!target || is_loopback(target->host)) return {};
  if (excluded(look_up(environment, "NO_PROXY").second, *target)) return {};
  auto [variable, value] =
      look_up(environment, target->scheme == "https" ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (value.empty()) std::tie(variable, value) = look_up(environment, "ALL_PROXY");
  if (value.empty()) return {};
  // "proxy:3128" alone is common here.
  if (value.find("://") == std::string::npos) value.insert(0, "http://");
  return {normal_proxy(value).value_or(std::string()), std::move(variable)};
}

}  // namespace mcpx::config
