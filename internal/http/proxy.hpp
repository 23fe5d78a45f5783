// A forward proxy between the client and a server: CONNECT for https, whole URLs for http.
// Thread: any; open_tunnel() the stream's shard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/stream.hpp"
#include "runtime/cancel.hpp"

namespace mcpx::http {

struct Proxy {
  std::string host;
  std::uint16_t port = 80;
  std::string authorization;  // of Proxy-Authorization, "Basic ..."; a secret. Empty: none

  std::string name() const;  // "proxy.example:3128", for messages
};

// "http://[user:password@]host[:port]". Error: http.url, which repeats nothing of the text.
Result<Proxy> parse_proxy(std::string_view url);

// Asks the proxy at the other end of `stream` to connect to `authority` ("host:port"). What goes
// over the stream afterwards goes to that host. Errors: http.proxy.
Task<Result<void>> open_tunnel(net::ByteStream& stream, const Proxy& proxy, std::string authority,
                               TimePoint deadline, runtime::CancelSource& cancel);

// The error of an answer with which a proxy itself refuses.
Error proxy_refusal(const Proxy& proxy, std::string_view authority, unsigned status);

}  // namespace mcpx::http
