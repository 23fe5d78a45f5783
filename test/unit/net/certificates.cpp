#include "unit/net/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <memory>

namespace mcpx::test {
namespace {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using X = std::unique_ptr<X509, Free<X509_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;

std::string content(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string pem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  REQUIRE(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return content(bio.get());
}

std::string pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  REQUIRE(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return content(bio.get());
}

X certificate_from(const std::string& text) {
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return X(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

Key key_from(const std::string& text) {
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return Key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  REQUIRE(extension);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Signed by `issuer`, or by itself without one.
Certificate make(const Wanted& wanted, const Certificate* issuer) {
  static long serial = 0;
  const Key key(EVP_EC_gen("P-256"));
  const X made(X509_new());
  X509* certificate = made.get();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  constexpr long kDay = 24 * 60 * 60;
  X509_gmtime_adj(X509_getm_notBefore(certificate), wanted.starts_in_days * kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), wanted.ends_in_days * kDay);
  X509_set_pubkey(certificate, key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(wanted.common_name.c_str()), -1,
                             -1, 0);
  const X signer = issuer ? certificate_from(issuer->certificate) : nullptr;
  X509* above = signer ? signer.get() : certificate;
  X509_set_issuer_name(certificate, X509_get_subject_name(above));
  extend(certificate, above, NID_basic_constraints,
         wanted.authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  extend(certificate, above, NID_subject_key_identifier, "hash");
  if (!wanted.names.empty()) extend(certificate, above, NID_subject_alt_name, wanted.names);
  const Key signing = issuer ? key_from(issuer->key) : nullptr;
  REQUIRE(X509_sign(certificate, signing ? signing.get() : key.get(), EVP_sha256()) > 0);
  Certificate out;
  out.certificate = pem(certificate);
  out.key = pem(key.get());
  return out;
}

}  // namespace

Authority::Authority(const std::string& name) {
  Wanted wanted;
  wanted.common_name = name;
  wanted.names.clear();
  wanted.authority = true;
  own_ = make(wanted, nullptr);
}

Certificate Authority::issue(const Wanted& wanted) const {
  return make(wanted, &own_);
}

Certificate self_signed(const Wanted& wanted) {
  return make(wanted, nullptr);
}

Files::Files() {
  const char* base = std::getenv("TMPDIR");
  std::string pattern = std::string(base && *base ? base : "/tmp") + "/mcpx-test-XXXXXX";
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  directory_ = pattern;
}

Files::~Files() {
  for (const std::string& path : written_)
    ::unlink(path.c_str());
  ::rmdir(directory_.c_str());
}

std::string Files::write(const std::string& name, const std::string& content) {
  std::string path = directory_ + '/' + name;
  std::ofstream(path, std::ios::binary) << content;
  written_.push_back(path);
  return path;
}

}  // namespace mcpx::test
