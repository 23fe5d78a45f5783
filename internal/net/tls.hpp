// TLS 1.2 and 1.3 towards servers and towards clients, over any ByteStream. OpenSSL works on memory
// only; every byte goes through our own streams, so deadlines and close() mean what stream.hpp
// says. Thread: a TlsContext any; a stream its home shard.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/stream.hpp"
#include "runtime/cancel.hpp"
#include "runtime/task.hpp"

namespace mcpx::net {

// PEM files; an empty path means none.
struct TlsOptions {
  std::string ca_file;           // the authorities trusted, instead of the system's
  std::string certificate_file;  // ours, with its chain, for servers that ask for one
  std::string key_file;          // belongs to certificate_file
};

// The daemon's own side, towards clients.
struct TlsServerOptions {
  std::string certificate_file;  // with its chain
  std::string key_file;
  bool only_tls13 = false;  // else 1.2 as well
};

// What connections have in common: whom to trust, who we are, which versions. Immutable once made
// and meant to be shared: making one reads files, the system's roots among them (some 10 ms).
// Thread: any.
class TlsContext {
 public:
  // Error: net.tls, with the file that is wrong.
  static Result<std::shared_ptr<const TlsContext>> make(const TlsOptions& options);
  // For accept_tls(). Reads the files; a new certificate is a new context.
  static Result<std::shared_ptr<const TlsContext>> make_server(const TlsServerOptions& options);

  struct Impl;
  explicit TlsContext(std::unique_ptr<Impl> impl);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Shakes hands as a client and answers the stream inside. The certificate has to be valid for
// `host`, a name or an IP literal with or without brackets; a name is also sent as SNI. `cancel`,
// when given, ends the handshake early: net.closed. The deadlines of the stream are kNever
// afterwards.
//
// Errors: net.tls when TLS itself failed (also later, from read_some: a server refuses our
// certificate only then), else those of the stream. Of the stream answered:
// - An end without TLS's own end (truncation) is net.reset: what had no length of its own may be
//   cut short.
// - A read that timed out can be repeated. After a write that timed out nothing more can be sent,
//   since half a record may be under way.
// Thread: home shard of the stream.
Task<Result<std::unique_ptr<ByteStream>>> start_tls(std::unique_ptr<ByteStream> stream,
                                                    std::shared_ptr<const TlsContext> context,
                                                    std::string host, TimePoint deadline,
                                                    runtime::CancelSource* cancel = nullptr);

// What became of a connection that accept_tls() was given: a TLS stream, or the stream as it came
// with its first bytes gone, because the peer does not speak TLS.
struct AcceptedTls {
  AcceptedTls(std::unique_ptr<ByteStream> stream_in, bool secure_in)
      : stream(std::move(stream_in)), secure(secure_in) {}
  std::unique_ptr<ByteStream> stream;
  bool secure;
};

// Shakes hands as a server, with a context of make_server(). ALPN, if the client offers it, has to
// hold http/1.1. The rest is as for start_tls().
Task<Result<AcceptedTls>> accept_tls(std::unique_ptr<ByteStream> stream,
                                     std::shared_ptr<const TlsContext> context, TimePoint deadline,
                                     runtime::CancelSource* cancel = nullptr);

}  // namespace mcpx::net
