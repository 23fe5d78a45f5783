// The HTTP/1.1 client: a keep-alive pool per shard and origin.
//
// A kept connection that its server has closed is not used again. A request is sent a second time,
// on a fresh connection, only if the first broke before all of it was written. Redirects are not
// followed: the answer is given as it is. Bodies in gzip or deflate are decoded, although never
// asked for.
//
// Errors: http.dial (with the net error inside) and http.proxy, before which nothing of the request
// was sent; http.tls; http.closed, http.timeout, http.bad_response, http.encoding (a coding that is
// not understood), http.too_large.
// Thread: the shard the Client was made for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/padded_buffer.hpp"
#include "base/result.hpp"
#include "http/proxy.hpp"
#include "http1/decoder.hpp"
#include "http1/encode.hpp"
#include "http1/message.hpp"
#include "http1/sse.hpp"
#include "net/tls.hpp"
#include "runtime/cancel.hpp"
#include "runtime/shard.hpp"

namespace mcpx::http {

struct Origin {
  std::string host;
  std::uint16_t port = 80;
  bool tls = false;
  std::string unix_path;  // when set, dialled instead of host and port
};
struct Url {
  Origin origin;
  std::string target = "/";
};
// "http://host[:port]/path", "https://..." and "unix:/path/to/socket" (target "/"). Error:
// http.url.
Result<Url> parse_url(std::string_view text);

struct Request {
  std::string_view method = "POST";
  std::string_view target;
  std::span<const http1::Field> fields;    // Host and Content-Length are added
  std::span<const std::string_view> body;  // parts, sent in order
  TimePoint deadline = kNever;             // of the whole exchange, or of the head of a stream
  // Closes the connection: http.cancelled. Outlives the Response, unless that forgets it.
  runtime::CancelSource* cancel = nullptr;
};

// An answer whose body may still be arriving. Destroying it before the end closes the connection.
class Response {
 public:
  virtual ~Response() = default;
  virtual const http1::ResponseHead& head() const = 0;
  // The whole body, when it came together with the head; else nullopt, and body() waits for it.
  virtual std::optional<PaddedBuffer> body_at_hand() = 0;
  // The whole body.
  virtual Task<Result<PaddedBuffer>> body() = 0;
  // The next event of a text/event-stream body; nullopt at its end. Data is bounded by the limits.
  // After http.timeout it can be asked again, with a later deadline.
  virtual Task<Result<std::optional<http1::SseEvent>>> next_event(TimePoint deadline) = 0;
  virtual void close() = 0;  // ends a pending next_event(): http.closed
  // Before it outlives the request's cancel source, which nothing of it refers to from then on.
  virtual void forget_cancel() = 0;
};

class Client {
 public:
  struct Options {
    http1::Limits limits;
    std::size_t idle_connections = 32;
    Milliseconds connect_timeout{10'000};  // the TLS handshake and the proxy included
    Milliseconds idle_timeout{60'000};
    // For an https origin. Meant to be shared by many clients; without one, a client makes its own
    // from the system's roots when it first dials.
    std::shared_ptr<const net::TlsContext> tls;
    std::optional<Proxy> proxy;  // not for a Unix socket
  };
  Client(runtime::Shard& shard, Origin origin, const Options& options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Task<Result<std::unique_ptr<Response>>> send(const Request& request);
  void close();  // idle connections at once; exchanges in progress end with http.closed

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace mcpx::http
