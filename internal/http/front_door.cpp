#include "http/front_door.hpp"

#include <algorithm>
#include <charconv>

namespace mcpx::http {
namespace {

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Splits "host[:port]"; nullopt when it is neither.
std::optional<std::string_view> host_of(std::string_view authority) {
  std::size_t end = 0;
  if (!authority.empty() && authority.front() == '[') {
    end = authority.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    ++end;
  } else {
    end = std::min(authority.find(':'), authority.size());
  }
  const std::string_view rest = authority.substr(end);
  if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) return std::nullopt;
  return authority.substr(0, end);
}

bool is_loopback_v4(std::string_view text) {
  int parts = 0;
  while (true) {
    unsigned value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    const auto digits = stop - text.data();
    if (failure != std::errc() || value > 255 || digits > 3) return false;
    if (digits > 1 && text.front() == '0') return false;  // octal to some readers
    if (parts == 0 && value != 127) return false;
    ++parts;
    if (stop == end) return parts == 4;
    if (*stop != '.' || parts == 4) return false;
    text.remove_prefix(static_cast<std::size_t>(digits) + 1);
  }
}

bool listed(std::span<const std::string> list, std::string_view text) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& entry) {
    return http1::equals_ignoring_case(entry, text);
  });
}

bool host_allowed(std::string_view authority, std::span<const std::string> allowed) {
  const auto host = host_of(authority);
  if (!host || host->empty()) return false;
  return is_loopback_host(*host) || listed(allowed, *host) || listed(allowed, authority);
}

// "null" (a sandboxed frame, a file, a redirect across origins) names nobody and is never allowed,
// listed or not.
bool origin_allowed(std::string_view origin, std::span<const std::string> allowed) {
  if (http1::equals_ignoring_case(origin, "null")) return false;
  if (listed(allowed, origin)) return true;
  const std::size_t colon = origin.find("://");
  if (colon == std::string_view::npos) return false;
  const std::string_view scheme = origin.substr(0, colon);
  if (!http1::equals_ignoring_case(scheme, "http") &&
      !http1::equals_ignoring_case(scheme, "https")) {
    return false;
  }
  const auto host = host_of(origin.substr(colon + 3));
  return host && is_loopback_host(*host);
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  return http1::equals_ignoring_case(host, "localhost") || host == "[::1]" || is_loopback_v4(host);
}

// Spec: basic/transports/streamable-http#security-endpoint (Origin; Host is what DNS rebinding
// leaves to check when a browser sends no Origin).
std::optional<Error> check_front_door(const http1::RequestHead& head,
                                      std::span<const std::string> allowed_hosts,
                                      std::span<const std::string> allowed_origins) {
  if (!host_allowed(head.authority, allowed_hosts)) {
    return Error("http.forbidden_host", "the Host header of the request does not name this machine",
                 "use localhost or 127.0.0.1, or add the name to listen.allowed_hosts");
  }
  for (std::size_t i = 0; i < head.fields.size(); ++i) {
    if (!http1::equals_ignoring_case(head.fields.name_at(i), "origin")) continue;
    if (origin_allowed(head.fields.value_at(i), allowed_origins)) continue;
    return Error("http.forbidden_origin",
                 "the request comes from a web page that may not use this daemon",
                 "add its origin (scheme, host and port) to listen.allowed_origins");
  }
  return std::nullopt;
}

std::string_view listed_origin(const http1::RequestHead& head,
                               std::span<const std::string> allowed_origins) {
  if (allowed_origins.empty()) return {};
  const auto origin = head.fields.find("origin");
  if (!origin || head.fields.count("origin") != 1 || !listed(allowed_origins, *origin)) return {};
  return *origin;
}

}  // namespace mcpx::http
