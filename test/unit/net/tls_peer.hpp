// The server's side of TLS, for tests of ours: a ByteStream around another one. One shard.
#pragma once

#include <openssl/ssl.h>

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "net/stream.hpp"
#include "net/tls_engine.hpp"
#include "unit/net/certificates.hpp"

namespace mcpx::test {

struct FreeServerContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using ServerContext = std::unique_ptr<SSL_CTX, FreeServerContext>;

// Shows `certificate`; with `clients` it demands a certificate signed by that authority.
inline ServerContext server_context(const Certificate& certificate,
                                    const Authority* clients = nullptr) {
  Files files;
  ServerContext context(SSL_CTX_new(TLS_server_method()));
  const std::string chain = files.write("server.pem", certificate.certificate);
  const std::string key = files.write("server.key", certificate.key);
  REQUIRE(SSL_CTX_use_certificate_chain_file(context.get(), chain.c_str()) == 1);
  REQUIRE(SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) == 1);
  const unsigned char id[] = "test";
  SSL_CTX_set_session_id_context(context.get(), id, sizeof(id));
  if (clients) {
    const std::string authority = files.write("clients.pem", clients->own().certificate);
    REQUIRE(SSL_CTX_load_verify_file(context.get(), authority.c_str()) == 1);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

// Its reader and its writer may be different coroutines once accept() is done.
class TlsPeer final : public net::ByteStream {
 public:
  TlsPeer(std::unique_ptr<net::ByteStream> inner, SSL_CTX* context)
      : inner_(std::move(inner)), engine_(accepting(context)) {}

  Task<bool> accept();
  Task<Result<std::size_t>> read_some(std::span<char> into) override;
  Task<Result<void>> write(std::span<const std::string_view> parts) override;
  Task<Result<void>> flush();

  void read_deadline(TimePoint when) override { inner_->read_deadline(when); }
  void write_deadline(TimePoint when) override { inner_->write_deadline(when); }
  void shutdown_send() override {
    engine_.end();
    std::string rest;
    engine_.take_output(rest);
    const std::string_view parts[] = {rest};
    REQUIRE(inner_->try_write(parts) == rest.size());
    inner_->shutdown_send();
  }
  void close() override { inner_->close(); }
  std::string peer() const override { return inner_->peer(); }

  net::TlsEngine& engine() { return engine_; }
  net::ByteStream& inner() { return *inner_; }

 private:
  static SSL* accepting(SSL_CTX* context) {
    SSL* ssl = SSL_new(context);
    SSL_set_accept_state(ssl);
    return ssl;
  }
  Task<bool> take_in();

  std::unique_ptr<net::ByteStream> inner_;
  net::TlsEngine engine_;
  std::array<char, 16 * 1024> buffer_;
  std::string outgoing_;
};

inline Task<bool> TlsPeer::take_in() {
  Result<std::size_t> bytes = co_await inner_->read_some(buffer_);
  if (!bytes || *bytes == 0) co_return false;
  engine_.feed(std::string_view(buffer_.data(), *bytes));
  co_return true;
}

inline Task<Result<void>> TlsPeer::flush() {
  engine_.take_output(outgoing_);
  co_return co_await net::write_all(*inner_, outgoing_);
}

inline Task<bool> TlsPeer::accept() {
  while (true) {
    const net::TlsEngine::Step step = engine_.handshake();
    Result<void> sent = co_await flush();
    if (step == net::TlsEngine::Step::failed || !sent) co_return false;
    if (step == net::TlsEngine::Step::done) co_return true;
    const bool more = co_await take_in();
    if (!more) co_return false;
  }
}

inline Task<Result<std::size_t>> TlsPeer::read_some(std::span<char> into) {
  while (true) {
    std::size_t bytes = 0;
    const net::TlsEngine::Step step = engine_.read(into, bytes);
    if (step == net::TlsEngine::Step::done) co_return bytes;
    if (step == net::TlsEngine::Step::ended) co_return std::size_t(0);
    if (step == net::TlsEngine::Step::failed) co_return Error("net.tls", "the peer failed");
    const bool more = co_await take_in();
    if (!more) co_return Error("net.reset", "the peer ended without ending TLS");
  }
}

inline Task<Result<void>> TlsPeer::write(std::span<const std::string_view> parts) {
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const std::string_view piece = part.substr(0, net::TlsEngine::kLargestWrite);
      part.remove_prefix(piece.size());
      const net::TlsEngine::Step step = engine_.write(piece);
      if (step != net::TlsEngine::Step::done) co_return Error("net.tls", "the peer failed");
    }
    Result<void> sent = co_await flush();
    if (!sent) co_return sent.error();
  }
  co_return Result<void>();
}

}  // namespace mcpx::test
