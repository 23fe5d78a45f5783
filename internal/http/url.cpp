#include <fmt/core.h>

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <system_error>
#include <utility>

#include "http/client.hpp"

namespace mcpx::http {
namespace {

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

}  // namespace

Result<Url> parse_url(std::string_view text) {
  if (text.substr(0, 5) == "unix:") return parse_unix(text.substr(5));
  const auto parsed = boost::urls::parse_uri(text);
  if (!parsed) {
    return url_error("this is no URL", "write http://host:port/path or unix:/path/to/socket");
  }
  if (parsed->scheme_id() == boost::urls::scheme::https) {
    return url_error("https is not supported yet",
                     "put a TLS-terminating proxy in front of the server and use its http address");
  }
  if (parsed->scheme_id() != boost::urls::scheme::http) {
    return url_error(fmt::format("the scheme {} is not supported", std::string(parsed->scheme())),
                     "use http:// or unix:");
  }
  if (parsed->has_userinfo()) {
    return url_error("a URL must not hold a user name or password",
                     "set an Authorization header under headers: instead");
  }
  Url url;
  url.origin.host = std::string(parsed->host());  // decoded; IPv6 keeps its brackets
  if (url.origin.host.empty())
    return url_error("the URL has no host", "write http://host:port/path");
  if (url.origin.host.find_first_of("\r\n \t") != std::string::npos) {
    return url_error("the host of the URL holds a space or line end",
                     "write http://host:port/path");
  }
  if (parsed->has_port()) {
    // Not port_number(): it wraps around above 65535.
    const std::string_view digits(parsed->port().data(), parsed->port().size());
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), url.origin.port);
    const bool whole = end == digits.data() + digits.size();
    if (failure != std::errc() || !whole || url.origin.port == 0) {
      return url_error("the port of the URL is not between 1 and 65535",
                       "write http://host:port/path");
    }
  }
  url.target = std::string(parsed->encoded_target());
  if (url.target.empty() || url.target.front() != '/') url.target.insert(0, 1, '/');
  return url;
}

}  // namespace mcpx::http
