#include "net/tls_engine.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>

#include "base/check.hpp"

namespace mcpx::net {

TlsEngine::TlsEngine(SSL* ssl)
    : ssl_(ssl), input_(BIO_new(BIO_s_mem())), output_(BIO_new(BIO_s_mem())) {
  MCPX_CHECK(ssl_ && input_ && output_);
  SSL_set_bio(ssl_.get(), input_, output_);
}

TlsEngine::Step TlsEngine::step(int outcome) {
  switch (SSL_get_error(ssl_.get(), outcome)) {
    case SSL_ERROR_NONE:
      return Step::done;
    case SSL_ERROR_WANT_READ:
      return Step::starved;
    case SSL_ERROR_ZERO_RETURN:
      return Step::ended;
    default:
      // The first entry is the cause; the queue belongs to the thread, not to this connection.
      failure_ = ERR_peek_error();
      ERR_clear_error();
      return Step::failed;
  }
}

TlsEngine::Step TlsEngine::handshake() {
  ERR_clear_error();
  return step(SSL_do_handshake(ssl_.get()));
}

TlsEngine::Step TlsEngine::read(std::span<char> into, std::size_t& bytes) {
  ERR_clear_error();
  return step(SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes));
}

TlsEngine::Step TlsEngine::write(std::string_view plain) {
  MCPX_CHECK(plain.size() <= kLargestWrite);
  ERR_clear_error();
  std::size_t taken = 0;
  return step(SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &taken));
}

void TlsEngine::end() {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

void TlsEngine::feed(std::string_view arrived) {
  std::size_t taken = 0;
  BIO_write_ex(input_, arrived.data(), arrived.size(), &taken);
  MCPX_CHECK(taken == arrived.size());
}

std::size_t TlsEngine::output_size() const {
  return BIO_ctrl_pending(output_);
}

void TlsEngine::take_output(std::string& into) {
  into.resize(output_size());
  std::size_t taken = 0;
  if (!into.empty()) BIO_read_ex(output_, into.data(), into.size(), &taken);
  MCPX_CHECK(taken == into.size());
}

}  // namespace mcpx::net
