// TlsEngine: one TLS connection as a machine between plain bytes and what goes over the wire, with
// no idea of sockets or time. Internal to the room. Pure. Thread: any, one at a time.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace mcpx::net {

class TlsEngine {
 public:
  enum class Step {
    done,
    starved,  // feed() more and ask again
    ended,    // the peer ended its side as TLS wants it
    failed    // failure() says why; nothing goes on from here
  };

  // Takes over `ssl`, which has been told whether it connects or accepts.
  explicit TlsEngine(SSL* ssl);

  Step handshake();
  // `bytes` is how much of `into` was filled when done.
  Step read(std::span<char> into, std::size_t& bytes);
  // All of `plain`, at most kLargestWrite bytes, or nothing. When starved, the same bytes have to
  // be written again: the peer began a message that concerns the keys.
  Step write(std::string_view plain);
  void end();  // our side's end, as output

  void feed(std::string_view arrived);
  std::size_t output_size() const;
  void take_output(std::string& into);  // replaces what is there

  unsigned long failure() const { return failure_; }
  SSL* ssl() { return ssl_.get(); }

  static constexpr std::size_t kLargestWrite = 16 * 1024;  // one record

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  Step step(int outcome);

  std::unique_ptr<SSL, Free> ssl_;
  BIO* input_;   // owned by ssl_
  BIO* output_;  // owned by ssl_
  unsigned long failure_ = 0;
};

}  // namespace mcpx::net
