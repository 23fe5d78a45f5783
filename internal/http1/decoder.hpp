// Decoder: HTTP/1.1 framing over the grammar of head_parser, without a socket.
//
// Bytes go in by feed(), the head and body come out. What the grammar lets through and a proxy must
// not (unknown or stacked Transfer-Encoding, missing or doubled Host, obs-fold) is refused here, as
// are heads and bodies over the limits. One Decoder serves one connection, message after message;
// bytes past the end of a message (pipelining) stay with the caller. Pure. Thread: any, one at a
// time.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/padded_buffer.hpp"
#include "base/result.hpp"
#include "http1/message.hpp"

namespace mcpx::http1 {

struct Limits {
  std::size_t head_bytes = 64 * 1024;
  std::size_t body_bytes = 16 * 1024 * 1024;
  std::size_t fields = 256;
};

// A malformed message: the status a server answers with (400, 408, 413, 414, 431, 501, 505) and
// why.
struct Refusal {
  unsigned status = 400;
  Error error;
};

class RequestDecoder {
 public:
  explicit RequestDecoder(const Limits& limits);
  ~RequestDecoder();

  void reset();  // ready for the next message on the same connection
  // Consumes a prefix of `bytes` and answers how many; all of them unless the message ended or was
  // refused. Once head_done(), head() is valid; once done(), body() is complete.
  std::size_t feed(std::string_view bytes);
  bool head_done() const;
  bool done() const;
  bool started() const;  // a byte of the message was seen
  bool expects_continue() const;
  const Refusal* refusal() const;  // set when the peer's bytes are not acceptable

  const RequestHead& head() const;
  PaddedBuffer take_body();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class ResponseDecoder {
 public:
  explicit ResponseDecoder(const Limits& limits);
  ~ResponseDecoder();

  void reset();
  std::size_t feed(std::string_view bytes);
  void end_of_stream();  // the peer closed: ends a body that has no length
  bool head_done() const;
  bool done() const;
  bool started() const;
  const Refusal* refusal() const;

  const ResponseHead& head() const;
  // What has arrived of the body since the last take; complete when done(). Streams (SSE) take as
  // they go, so that the limit bounds what is held, not what passes.
  PaddedBuffer take_body();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mcpx::http1
