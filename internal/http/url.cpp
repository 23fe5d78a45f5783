#include <fmt/core.h>

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/digest.hpp"
#include "http/client.hpp"
#include "http/proxy.hpp"

namespace mcpx::http {
namespace {

constexpr const char* kServerForm = "write http://host:port/path or https://host/path";
constexpr const char* kProxyForm = "write http://host:port or http://user:password@host:port";

Error url_error(std::string_view what, std::string remedy) {
  // The URL itself is not repeated: it may hold a token (case C71).
  return Error("http.url", std::string(what), std::move(remedy));
}

Result<Url> parse_unix(std::string_view path) {
  if (path.substr(0, 2) == "//") path.remove_prefix(2);
  if (path.empty() || path.front() != '/') {
    return url_error("a unix: URL needs an absolute path", "write unix:/path/to/socket");
  }
  Url url;
  url.origin.host = "localhost";
  url.origin.unix_path = path;
  return url;
}

// Decoded; IPv6 keeps its brackets.
Result<std::string> host_of(const boost::urls::url_view& url, const char* form) {
  std::string host(url.host());
  if (host.empty()) return url_error("the URL has no host", form);
  const bool spaced = std::any_of(host.begin(), host.end(),
                                  [](char c) { return (c >= 0 && c <= 0x20) || c == 0x7f; });
  if (spaced) return url_error("the host of the URL holds a space or control character", form);
  return host;
}

Result<std::uint16_t> port_of(const boost::urls::url_view& url, std::uint16_t otherwise,
                              const char* form) {
  // "host:" is as good as "host" (RFC 3986 section 3.2.3).
  if (!url.has_port() || url.port().empty()) return otherwise;
  // Not port_number(): it wraps around above 65535.
  const std::string_view digits(url.port().data(), url.port().size());
  std::uint16_t port = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool whole = end == digits.data() + digits.size();
  if (failure != std::errc() || !whole || port == 0) {
    return url_error("the port of the URL is not between 1 and 65535", form);
  }
  return port;
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  if (text.substr(0, 5) == "unix:") return parse_unix(text.substr(5));
  const auto parsed = boost::urls::parse_uri(text);
  if (!parsed) {
    return url_error("this is no URL",
                     "write http://host:port/path, https://host/path or unix:/path/to/socket");
  }
  const bool tls = parsed->scheme_id() == boost::urls::scheme::https;
  if (!tls && parsed->scheme_id() != boost::urls::scheme::http) {
    return url_error(fmt::format("the scheme {} is not supported", std::string(parsed->scheme())),
                     "use http://, https:// or unix:");
  }
  if (parsed->has_userinfo()) {
    return url_error("a URL must not hold a user name or password",
                     "set an Authorization header under headers: instead");
  }
  Url url;
  url.origin.tls = tls;
  Result<std::string> host = host_of(*parsed, kServerForm);
  if (!host) return host.error();
  url.origin.host = std::move(*host);
  const Result<std::uint16_t> port = port_of(*parsed, tls ? 443 : 80, kServerForm);
  if (!port) return port.error();
  url.origin.port = *port;
  url.target = std::string(parsed->encoded_target());
  if (url.target.empty() || url.target.front() != '/') url.target.insert(0, 1, '/');
  return url;
}

Result<Proxy> parse_proxy(std::string_view text) {
  const auto parsed = boost::urls::parse_uri(text);
  if (!parsed) return url_error("the address of the proxy is no URL", kProxyForm);
  if (parsed->scheme_id() != boost::urls::scheme::http) {
    return url_error(fmt::format("proxies by {} are not supported", std::string(parsed->scheme())),
                     kProxyForm);
  }
  Proxy proxy;
  Result<std::string> host = host_of(*parsed, kProxyForm);
  if (!host) return host.error();
  proxy.host = std::move(*host);
  const Result<std::uint16_t> port = port_of(*parsed, 80, kProxyForm);
  if (!port) return port.error();
  proxy.port = *port;
  if (parsed->has_userinfo()) {
    const std::string user(parsed->user());
    const std::string password(parsed->password());
    proxy.authorization = "Basic " + base64(user + ':' + password);
  }
  return proxy;
}

}  // namespace mcpx::http
