// Why a handshake failed, in words. Internal to the room. Thread: any.
#pragma once

#include <openssl/ssl.h>

#include <string>

#include "base/result.hpp"
#include "net/tls_context.hpp"

namespace mcpx::net {

// What was wrong with the peer's certificate, noted while OpenSSL verifies it: afterwards the
// certificate is gone. Hangs on the SSL object as its app data.
struct Verdict {
  int error = 0;        // X509_V_ERR_..., 0: nothing
  std::string subject;  // of the certificate the error is about
  std::string issuer;
  std::string starts, ends;  // its dates
  std::string names;         // whom the peer's own certificate is for
};

// The verify callback that fills it in.
int note_verdict(int fine, X509_STORE_CTX* state);

// `failure` is the code of OpenSSL's error queue.
Error tls_error(const std::string& host, unsigned long failure, const Verdict& verdict,
                const TlsContext::Impl& context);

// Takes the last entry off OpenSSL's queue: "no start line".
std::string last_tls_reason();

}  // namespace mcpx::net
