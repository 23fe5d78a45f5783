// The HTTP server: connections over net streams, the front-door checks, and one handler per route.
//
// A connection lives on the shard that got it. For each request the server reads the whole body
// (within limits), checks Origin, Host and token as soon as the head is there (every route, case
// C70), and awaits the handler, which answers exactly once through its Exchange. Slow or silent
// peers end at their deadline, and when all connections are taken those that wait longest go first.
// Thread: Server startup; everything about one connection on its shard.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/padded_buffer.hpp"
#include "base/result.hpp"
#include "http/access.hpp"
#include "http1/decoder.hpp"
#include "http1/encode.hpp"
#include "http1/message.hpp"
#include "net/stream.hpp"
#include "net/tls.hpp"
#include "runtime/cancel.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::http {

// One request and the means to answer it. Lives in the connection's frame.
// Thread: the connection's shard.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const http1::RequestHead& head() const = 0;
  virtual PaddedBuffer take_body() = 0;
  virtual runtime::Shard& shard() const = 0;
  virtual std::string_view request_id() const = 0;  // "r-1a2b", for log lines
  // The name of the token the client showed; empty: none was asked for. Valid while it is served.
  virtual std::string_view principal() const { return {}; }
  // Fires when the client goes away before the answer is complete.
  virtual runtime::CancelSource& gone() = 0;

  // Answers with a complete body, given in parts that stay valid until it returns. Exactly one of
  // respond() and begin_stream() is called, once.
  virtual Task<Result<void>> respond(unsigned status, std::string_view content_type,
                                     std::span<const std::string_view> body,
                                     std::span<const http1::Field> extra) = 0;

  // Answers with an event stream; then send_event() any number of times, then end_stream().
  // Each send waits until the bytes are written: a slow reader slows its producer only, and ends at
  // the write deadline.
  virtual Task<Result<void>> begin_stream(std::span<const http1::Field> extra) = 0;
  virtual Task<Result<void>> send_event(std::string_view json, std::string_view id) = 0;
  Task<Result<void>> send_event(std::string_view json) {
    return send_event(json, std::string_view());
  }
  // What is framed already: an event of another kind than `message`, or without data.
  virtual Task<Result<void>> send_framed(std::string_view event) = 0;
  virtual Task<Result<void>> send_keep_alive() = 0;
  virtual Task<Result<void>> end_stream() = 0;
  virtual bool streaming() const = 0;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Must answer. If it returns without having answered, the server answers 500 and logs a bug.
  virtual Task<void> handle(Exchange& exchange) = 0;
};

struct Route {
  std::string prefix;  // "/mcp" also matches "/mcp/x" and "/mcp?y", not "/mcpx"; longest wins
  Handler* handler;    // outlives the server
};

struct ServerOptions {
  http1::Limits limits;
  std::size_t connections = 4096;         // per server; more end idle ones, else are answered 503
  std::size_t bodies_bytes = 256u << 20;  // of all requests being received or served
  Milliseconds handshake_timeout{10'000};
  Milliseconds head_timeout{10'000};   // from the first byte of a request to its head's end
  Milliseconds body_timeout{30'000};   // from the head's end to the body's
  Milliseconds idle_timeout{120'000};  // between requests
  Milliseconds write_timeout{30'000};
  // Host values accepted besides loopback names; Origin values accepted besides loopback origins.
  std::vector<std::string> allowed_hosts, allowed_origins;
  std::shared_ptr<const Access> access;        // null: everybody comes in
  std::shared_ptr<const net::TlsContext> tls;  // of make_server(); null: plain HTTP
};

class Server {
 public:
  Server(const ServerOptions& options, std::vector<Route> routes);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Serves one connection on the shard it belongs to, whose thread must be current. `local` marks a
  // Unix socket: Origin and Host say nothing there and are not checked, no token is needed, and TLS
  // is not spoken.
  enum class Transport { tcp, local };
  void serve(runtime::Shard& shard, std::unique_ptr<net::ByteStream> stream, Transport transport);

  // What holds from the next connection, and from the next request of each open one, except
  // `limits`, which an open connection keeps. Any thread.
  void reconfigure(const ServerOptions& options);

  std::size_t connections() const;  // any thread

  // Graceful end, to be awaited once on each shard that served: idle connections close at once,
  // busy ones after their answer, the rest at the deadline.
  Task<void> stop(runtime::Shard& shard, TimePoint deadline);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mcpx::http
