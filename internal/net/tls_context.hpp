// What a TlsContext is made of. Internal to the room. Thread: any.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "net/tls.hpp"

namespace mcpx::net {

struct FreeSslContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslContext = std::unique_ptr<SSL_CTX, FreeSslContext>;

struct TlsContext::Impl {
  SslContext context;
  std::string ca_file;  // as configured, for messages
  bool has_certificate = false;
  bool accepts = false;  // of make_server()
};

}  // namespace mcpx::net
