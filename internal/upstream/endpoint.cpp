#include "upstream/endpoint.hpp"

#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>
#include <cstdint>
#include <string>

#include "http1/message.hpp"
#include "json/scan.hpp"

namespace mcpx::upstream {
namespace {

namespace urls = boost::urls;

Error refused(std::string_view why) {
  return Error("upstream.handshake", "the endpoint event of the server " + std::string(why),
               "report this to the server's author, or use its Streamable HTTP address");
}

std::uint16_t port_of(const urls::url_view_base& url) {
  if (url.has_port()) return url.port_number();
  return url.scheme_id() == urls::scheme::https ? 443 : 80;
}

bool same_origin(const urls::url_view_base& a, const urls::url_view_base& b) {
  return a.scheme_id() == b.scheme_id() && port_of(a) == port_of(b) &&
         http1::equals_ignoring_case(std::string(a.encoded_host()), std::string(b.encoded_host()));
}

}  // namespace

Result<std::string> endpoint_target(const std::string& stream_url, std::string_view data) {
  // A Unix socket has no URL of its own for paths; any will do.
  const bool local = stream_url.starts_with("unix:");
  const auto base = urls::parse_uri(local ? std::string_view("http://localhost/") : stream_url);
  if (!base) return refused("cannot be resolved against the configured url");
  const std::string_view text = json::trimmed(data);
  if (text.empty()) return refused("is empty");
  const auto reference = urls::parse_uri_reference(text);
  if (!reference) return refused("holds no URL");
  urls::url whole;
  if (!urls::resolve(*base, *reference, whole)) return refused("cannot be resolved");
  if (!same_origin(*base, whole)) {
    return refused("names another origin, " + std::string(whole.encoded_origin()));
  }
  std::string target(whole.encoded_target());
  if (target.empty() || target.front() != '/') target.insert(0, 1, '/');
  return target;
}

}  // namespace mcpx::upstream
