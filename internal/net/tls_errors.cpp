#include "net/tls_errors.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "net/address.hpp"

namespace mcpx::net {
namespace {

constexpr std::size_t kMaxText = 200;  // a certificate may hold anything
constexpr int kMaxNames = 8;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

std::string bounded(std::string_view text) {
  std::string out(text.substr(0, kMaxText));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return out;
}

std::string content(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? bounded(std::string_view(data, static_cast<std::size_t>(size))) : std::string();
}

std::string text(const X509_NAME* name) {
  const Bio bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  return content(bio.get());
}

std::string text(const ASN1_TIME* time) {
  const Bio bio(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(bio.get(), time);
  return content(bio.get());
}

std::string ip_text(const ASN1_OCTET_STRING& octets) {
  const int size = ASN1_STRING_length(&octets);
  if (size != 4 && size != 16) return "?";
  std::array<char, INET6_ADDRSTRLEN> out{};
  const int family = size == 4 ? AF_INET : AF_INET6;
  ::inet_ntop(family, ASN1_STRING_get0_data(&octets), out.data(), out.size());
  return size == 4 ? out.data() : fmt::format("[{}]", out.data());
}

// "a.example, b.example": the names and addresses a certificate is for.
std::string names_of(X509* certificate) {
  std::string out;
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  int shown = 0;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
    if (++shown > kMaxNames) {
      out += ", ...";
      break;
    }
    if (!out.empty()) out += ", ";
    if (name->type == GEN_DNS) {
      const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
      const int size = ASN1_STRING_length(name->d.dNSName);
      out += bounded(std::string_view(data, static_cast<std::size_t>(size)));
    } else {
      out += ip_text(*name->d.iPAddress);
    }
  }
  GENERAL_NAMES_free(names);
  if (!out.empty()) return out;
  return "no host at all (its subject, " + text(X509_get_subject_name(certificate)) +
         ", does not count as one)";
}

Error unknown_authority(const std::string& what, const Verdict& verdict,
                        const TlsContext::Impl& context) {
  const bool own = verdict.subject == verdict.issuer;
  const std::string by = own ? "it signed itself" : "it is signed by " + verdict.issuer;
  if (context.ca_file.empty()) {
    return Error("net.tls",
                 fmt::format("{}: the certificate {} is of no authority known to this system ({})",
                             what, verdict.subject, by),
                 "if you trust it, set tls.ca to a PEM file with that authority's certificate; "
                 "a server may also fail to send its intermediate certificates");
  }
  return Error("net.tls",
               fmt::format("{}: the certificate {} is of no authority in tls.ca {} ({})", what,
                           verdict.subject, context.ca_file, by),
               "add that authority's certificate to the file, or remove tls.ca to trust the "
               "system's authorities");
}

Error certificate_error(const std::string& host, const Verdict& verdict,
                        const TlsContext::Impl& context) {
  const std::string what = "TLS with " + host;
  switch (verdict.error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Error(
          "net.tls",
          fmt::format("{}: the certificate {} expired on {}", what, verdict.subject, verdict.ends),
          "renew the certificate of the server, or check the clock of this machine");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Error("net.tls",
                   fmt::format("{}: the certificate {} is valid only from {}", what,
                               verdict.subject, verdict.starts),
                   "check the clock of this machine");
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return unknown_authority(what, verdict, context);
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Error(
          "net.tls",
          fmt::format("{}: the certificate is not for {} but for {}", what, host, verdict.names),
          "use a name of the certificate in url, or give the server one for this name");
    default:
      return Error("net.tls",
                   fmt::format("{}: the certificate {}: {}", what, verdict.subject,
                               X509_verify_cert_error_string(verdict.error)),
                   "give the server a valid certificate");
  }
}

Error refused_certificate(const std::string& what, std::string_view why,
                          const TlsContext::Impl& context) {
  if (context.has_certificate) {
    return Error("net.tls",
                 fmt::format("{}: the server does not accept our certificate ({})", what, why),
                 "set tls.cert and tls.key to a certificate that the server knows");
  }
  return Error("net.tls",
               fmt::format("{}: the server demands a client certificate ({})", what, why),
               "set tls.cert and tls.key");
}

}  // namespace

int note_verdict(int fine, X509_STORE_CTX* state) {
  if (fine == 1) return 1;
  const auto* ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(state, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* verdict = static_cast<Verdict*>(SSL_get_app_data(ssl));
  if (!verdict || verdict->error != 0) return 0;
  verdict->error = X509_STORE_CTX_get_error(state);
  if (X509* certificate = X509_STORE_CTX_get_current_cert(state)) {
    verdict->subject = text(X509_get_subject_name(certificate));
    verdict->issuer = text(X509_get_issuer_name(certificate));
    verdict->starts = text(X509_get0_notBefore(certificate));
    verdict->ends = text(X509_get0_notAfter(certificate));
  }
  if (X509* leaf = X509_STORE_CTX_get0_cert(state)) verdict->names = names_of(leaf);
  return 0;
}

Error tls_error(const std::string& host, unsigned long failure, const Verdict& verdict,
                const TlsContext::Impl& context) {
  if (verdict.error != 0) return certificate_error(host, verdict, context);
  const std::string what = "TLS with " + host;
  const char* known = ERR_reason_error_string(failure);
  const std::string reason = known ? known : "unknown failure";
  // Of a client that came to us: what it can do about it is its own affair.
  if (context.accepts) return Error("net.tls", fmt::format("{}: {}", what, reason));
  switch (ERR_GET_REASON(failure)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_RECORD_LENGTH_MISMATCH:
      return Error("net.tls", fmt::format("{}: the answer is not TLS ({})", what, reason),
                   "check the port in url; if the server speaks plain HTTP, write http://");
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return Error("net.tls",
                   fmt::format("{}: the server speaks neither TLS 1.2 nor 1.3 ({})", what, reason),
                   "update the server");
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
      return refused_certificate(what, reason, context);
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return Error(
          "net.tls", fmt::format("{}: the server refused the handshake ({})", what, reason),
          context.has_certificate ? "see the log of the server"
                                  : "it may demand a client certificate: set tls.cert and tls.key");
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      return Error("net.tls", fmt::format("{}: the server does not speak HTTP/1.1", what),
                   "let the server, or a proxy before it, offer HTTP/1.1 as well");
    case SSL_R_TLSV1_UNRECOGNIZED_NAME:
      return Error("net.tls", fmt::format("{}: the server does not know that name", what),
                   "check the host in url");
    default:
      return Error("net.tls", fmt::format("{}: {}", what, reason), "see the log of the server");
  }
}

std::string last_tls_reason() {
  const unsigned long failure = ERR_peek_last_error();
  const char* known = ERR_reason_error_string(failure);
  ERR_clear_error();
  return known ? known : "it cannot be read";
}

}  // namespace mcpx::net
