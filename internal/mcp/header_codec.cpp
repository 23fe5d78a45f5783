#include "mcp/header_codec.hpp"

#include <openssl/evp.h>

#include <algorithm>

namespace mcpx::mcp {
namespace {

constexpr std::string_view kOpen = "=?base64?";
constexpr std::string_view kClose = "?=";

bool wrapped(std::string_view text) {
  return text.size() >= kOpen.size() + kClose.size() && text.substr(0, kOpen.size()) == kOpen &&
         text.substr(text.size() - kClose.size()) == kClose;
}

bool visible(char c) {
  return c > 0x20 && c < 0x7f;
}

bool plain(std::string_view value) {
  if (value.empty() || !visible(value.front()) || !visible(value.back())) return value.empty();
  return std::all_of(value.begin(), value.end(), [](char c) { return c == ' ' || visible(c); });
}

// EVP_DecodeBlock skips white space and accepts misplaced padding; a header may hold neither.
bool strict_base64(std::string_view text) {
  if (text.size() % 4 != 0) return false;
  const std::size_t padding = text.size() - std::min(text.find('='), text.size());
  if (padding > 2) return false;
  return std::all_of(text.begin(), text.end() - static_cast<std::ptrdiff_t>(padding),
                     [](char c) {
                       return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                              (c >= '0' && c <= '9') || c == '+' || c == '/';
                     }) &&
         std::all_of(text.end() - static_cast<std::ptrdiff_t>(padding), text.end(),
                     [](char c) { return c == '='; });
}

}  // namespace

std::string encode_header(std::string_view value) {
  if (plain(value) && !wrapped(value)) return std::string(value);
  std::string encoded(4 * ((value.size() + 2) / 3) + 1, '\0');  // EVP adds a NUL
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(value.data()),
                                   static_cast<int>(value.size()));
  encoded.resize(static_cast<std::size_t>(size));
  return std::string(kOpen) + encoded + std::string(kClose);
}

std::optional<std::string> decode_header(std::string_view header) {
  const auto first = header.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::string();
  header = header.substr(first, header.find_last_not_of(" \t") - first + 1);
  if (!wrapped(header)) return std::string(header);
  const std::string_view inner =
      header.substr(kOpen.size(), header.size() - kOpen.size() - kClose.size());
  if (!strict_base64(inner)) return std::nullopt;
  std::string decoded(inner.size() / 4 * 3 + 1, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                   reinterpret_cast<const unsigned char*>(inner.data()),
                                   static_cast<int>(inner.size()));
  if (size < 0) return std::nullopt;
  const auto padding = static_cast<std::size_t>(std::count(inner.begin(), inner.end(), '='));
  decoded.resize(static_cast<std::size_t>(size) - padding);
  return decoded;
}

}  // namespace mcpx::mcp
