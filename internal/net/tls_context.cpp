#include "net/tls_context.hpp"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

#include "net/address.hpp"
#include "net/tls_errors.hpp"

namespace mcpx::net {
namespace {

// ALPN as it goes over the wire: length and name.
constexpr std::array<unsigned char, 9> kHttp11 = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

// Instead of OpenSSL's own, which asks on the terminal.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

Error file_error(const char* key, const std::string& path, std::string_view why,
                 std::string remedy) {
  return Error("net.tls", fmt::format("{} {}: {}", key, path, why), std::move(remedy));
}

Result<void> readable(const char* key, const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const bool read = file && file.peek() != std::ifstream::traits_type::eof();
  if (read) return {};
  const std::string why = file.is_open() ? "it is empty or no file" : errno_text(errno);
  return file_error(key, path, why, "name a PEM file that the daemon can read");
}

Result<void> trust(SSL_CTX* context, const std::string& ca_file) {
  if (ca_file.empty()) {
    // A machine without roots is no error here: nothing will be trusted, which each handshake says.
    SSL_CTX_set_default_verify_paths(context);
    return {};
  }
  if (const Result<void> found = readable("tls.ca", ca_file); !found) return found.error();
  if (SSL_CTX_load_verify_file(context, ca_file.c_str()) != 1) {
    return file_error("tls.ca", ca_file, last_tls_reason(),
                      "it has to hold certificates in PEM, -----BEGIN CERTIFICATE-----");
  }
  // Whoever names a certificate trusts it, whether it signed itself or not.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

Result<void> load_certificate(SSL_CTX* context, const std::string& path) {
  if (const Result<void> found = readable("tls.cert", path); !found) return found.error();
  if (SSL_CTX_use_certificate_chain_file(context, path.c_str()) == 1) return {};
  return file_error("tls.cert", path, last_tls_reason(),
                    "it has to hold the certificate, then its chain, in PEM");
}

Result<void> load_key(SSL_CTX* context, const std::string& path, const std::string& certificate) {
  if (const Result<void> found = readable("tls.key", path); !found) return found.error();
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  if (SSL_CTX_use_PrivateKey_file(context, path.c_str(), SSL_FILETYPE_PEM) != 1) {
    const unsigned long error = ERR_peek_last_error();
    if (ERR_GET_LIB(error) == ERR_LIB_X509 || ERR_GET_REASON(error) == X509_R_KEY_VALUES_MISMATCH) {
      return file_error("tls.key", path, "it is not the key of " + certificate,
                        "name the two files that were made together");
    }
    return file_error("tls.key", path, last_tls_reason(),
                      "it has to hold a private key in PEM without a passphrase");
  }
  if (SSL_CTX_check_private_key(context) == 1) return {};
  return file_error("tls.key", path, "it is not the key of " + certificate,
                    "name the two files that were made together");
}

Result<void> identify(SSL_CTX* context, const TlsOptions& options) {
  if (options.certificate_file.empty() && options.key_file.empty()) return {};
  if (options.certificate_file.empty() || options.key_file.empty()) {
    return Error("net.tls", "a client certificate needs both tls.cert and tls.key",
                 "set the one that is missing");
  }
  const Result<void> loaded = load_certificate(context, options.certificate_file);
  if (!loaded) return loaded.error();
  return load_key(context, options.key_file, options.certificate_file);
}

void set_common_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

// RFC 7301 section 3.2: a client that names protocols, and ours not among them, is told so.
int choose_protocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void* /*unused*/) {
  unsigned char* found = nullptr;
  const int outcome = SSL_select_next_proto(
      &found, size, kHttp11.data(), static_cast<unsigned>(kHttp11.size()), offered, offered_size);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void set_rules(SSL_CTX* context) {
  set_common_rules(context);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, note_verdict);
  SSL_CTX_set_alpn_protos(context, kHttp11.data(), static_cast<unsigned>(kHttp11.size()));
}

}  // namespace

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsOptions& options) {
  ERR_clear_error();
  auto impl = std::make_unique<Impl>();
  impl->context.reset(SSL_CTX_new(TLS_client_method()));
  if (!impl->context) return Error("net.tls", last_tls_reason(), "check the OpenSSL installation");
  SSL_CTX* context = impl->context.get();
  set_rules(context);
  if (const Result<void> done = trust(context, options.ca_file); !done) return done.error();
  if (const Result<void> done = identify(context, options); !done) return done.error();
  ERR_clear_error();
  impl->ca_file = options.ca_file;
  impl->has_certificate = !options.certificate_file.empty();
  return std::shared_ptr<const TlsContext>(std::make_shared<TlsContext>(std::move(impl)));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make_server(const TlsServerOptions& options) {
  ERR_clear_error();
  auto impl = std::make_unique<Impl>();
  impl->context.reset(SSL_CTX_new(TLS_server_method()));
  if (!impl->context) return Error("net.tls", last_tls_reason(), "check the OpenSSL installation");
  SSL_CTX* context = impl->context.get();
  set_common_rules(context);
  if (options.only_tls13) SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  const Result<void> loaded = load_certificate(context, options.certificate_file);
  if (!loaded) return loaded.error();
  const Result<void> keyed = load_key(context, options.key_file, options.certificate_file);
  if (!keyed) return keyed.error();
  ERR_clear_error();
  impl->has_certificate = true;
  impl->accepts = true;
  return std::shared_ptr<const TlsContext>(std::make_shared<TlsContext>(std::move(impl)));
}

}  // namespace mcpx::net
