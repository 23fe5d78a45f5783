#include "base/digest.hpp"

#include <openssl/sha.h>

#include <array>
#include <cstddef>

namespace mcpx {

std::string sha256_hex(std::string_view bytes) {
  std::array<char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return hex({hash.data(), hash.size()});
}

std::string hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kSymbols =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    unsigned bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i)
      out += i <= group.size() ? kSymbols[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace mcpx
