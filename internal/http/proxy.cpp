#include "http/proxy.hpp"

#include <fmt/core.h>

#include <array>
#include <utility>
#include <vector>

#include "http1/decoder.hpp"
#include "http1/encode.hpp"

namespace mcpx::http {
namespace {

constexpr const char* kCheck = "check the proxy's address, and that it lets mcpx connect there";

Error tunnel_error(const Proxy& proxy, std::string_view authority, std::string_view why) {
  return Error("http.proxy", fmt::format("proxy {} to {}: {}", proxy.name(), authority, why),
               kCheck);
}

}  // namespace

std::string Proxy::name() const {
  return host + ':' + std::to_string(port);
}

Error proxy_refusal(const Proxy& proxy, std::string_view authority, unsigned status) {
  if (status != 407)
    return tunnel_error(proxy, authority, fmt::format("it answered HTTP {}", status));
  const bool known = !proxy.authorization.empty();
  return Error("http.proxy",
               fmt::format("proxy {} to {}: it answered HTTP 407, {}", proxy.name(), authority,
                           known ? "so it does not accept the password"
                                 : "so it wants a user name and password"),
               known ? "check the user name and password in the proxy's address"
                     : "write the proxy as http://user:password@host:port");
}

Task<Result<void>> open_tunnel(net::ByteStream& stream, const Proxy& proxy, std::string authority,
                               TimePoint deadline, runtime::CancelSource& cancel) {
  stream.read_deadline(deadline);
  stream.write_deadline(deadline);
  const auto subscription = cancel.subscribe([&stream](const std::string&) { stream.close(); });
  std::vector<http1::Field> fields;
  if (!proxy.authorization.empty()) {
    fields.emplace_back("Proxy-Authorization", proxy.authorization);
  }
  std::string text;
  http1::append_request_head(text, "CONNECT", authority, authority, fields, 0);
  Result<void> written = co_await net::write_all(stream, text);
  if (!written) co_return tunnel_error(proxy, authority, written.error().message);

  http1::ResponseDecoder decoder{http1::Limits()};
  std::array<char, 4096> buffer;
  std::size_t surplus = 0;
  while (!decoder.head_done()) {
    Result<std::size_t> bytes = co_await stream.read_some(buffer);
    if (!bytes) co_return tunnel_error(proxy, authority, bytes.error().message);
    if (*bytes == 0) {
      co_return tunnel_error(proxy, authority, "it closed the connection without an answer");
    }
    surplus = *bytes - decoder.feed(std::string_view(buffer.data(), *bytes));
    if (!decoder.head_done() && decoder.refusal()) {
      co_return tunnel_error(proxy, authority, decoder.refusal()->error.message);
    }
  }
  const unsigned status = decoder.head().status;
  if (status / 100 != 2) co_return proxy_refusal(proxy, authority, status);
  // RFC 9110 section 9.3.6: an answer to CONNECT has no body, whatever its fields say; and the
  // server behind it does not speak before we do.
  if (surplus != 0 || !decoder.take_body().empty()) {
    co_return tunnel_error(proxy, authority, "something spoke before the handshake");
  }
  co_return Result<void>();
}

}  // namespace mcpx::http
