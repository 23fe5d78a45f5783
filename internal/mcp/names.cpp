#include "mcp/names.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace mcpx::mcp {
namespace {

constexpr std::string_view kSeparator = "__";

// A digest is one consonant and seven of these symbols (39 bits). Without vowels it spells no word,
// so hardly any name written by a person looks like a digested one.
constexpr std::string_view kDigits = "bcdfghjklmnpqrstvwxyz0123456789";
constexpr std::size_t kConsonants = 21;
constexpr std::size_t kDigestSize = 8;

constexpr bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool legal(char c, NameCharset charset = NameCharset::dashes) {
  return letter(c) || (c >= '0' && c <= '9') || c == '_' ||
         (c == '-' && charset == NameCharset::dashes);
}

// Appends `text` with everything illegal replaced, one '_' for a whole UTF-8 character.
// Returns whether nothing had to be.
bool append_legal(std::string& out, std::string_view text, NameCharset charset) {
  bool intact = true;
  for (const char c : text) {
    if (legal(c, charset)) {
      out += c;
      continue;
    }
    intact = false;
    const bool continuation = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (!continuation) out += '_';
  }
  return intact;
}

std::string digest_of(std::string_view prefix, std::string_view original) {
  // The length in front keeps the boundary: ("a", "bc") and ("ab", "c") differ.
  std::string input = std::to_string(prefix.size());
  input += ':';
  input += prefix;
  input += original;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(input.data()), input.size(), hash.data());
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof bits; ++i)
    bits = bits << 8U | hash[i];
  std::string digest(1, kDigits[bits % kConsonants]);
  bits /= kConsonants;
  for (std::size_t i = 1; i < kDigestSize; ++i, bits /= kDigits.size()) {
    digest += kDigits[bits % kDigits.size()];
  }
  return digest;
}

// Whether a plain name could be taken for a digested one; then it gets a digest too.
bool looks_digested(std::string_view name) {
  if (name.size() <= kDigestSize) return false;
  const auto tail = name.substr(name.size() - kDigestSize);
  return name[name.size() - kDigestSize - 1] == '_' &&
         tail.find_first_not_of(kDigits) == std::string_view::npos &&
         kDigits.find(tail.front()) < kConsonants;
}

struct Plain {
  std::string name;
  bool exact;  // the prefix and the original can be read back from it
};

Plain plain_name(std::string_view prefix, std::string_view original, NameCharset charset) {
  Plain plain{{}, !original.empty()};
  if (!prefix.empty()) {
    // Reading back takes the first separator for the end of the prefix (a__ + b, a + __b).
    if (prefix.find(kSeparator) != std::string_view::npos || prefix.back() == '_') {
      plain.exact = false;
    }
    if (!append_legal(plain.name, prefix, charset)) plain.exact = false;
    plain.name += kSeparator;
  }
  if (!append_legal(plain.name, original, charset)) plain.exact = false;
  if (charset == NameCharset::word && !plain.name.empty() && !letter(plain.name.front())) {
    plain.name.insert(0, 1, 'x');
    plain.exact = false;
  }
  return plain;
}

std::string with_digest(std::string stem, std::string_view prefix, std::string_view original,
                        std::size_t limit) {
  const std::string digest = digest_of(prefix, original);
  if (limit <= kDigestSize + 1) return digest.substr(0, limit);
  stem.resize(std::min(stem.size(), limit - kDigestSize - 1));
  stem += '_';
  return stem + digest;
}

}  // namespace

std::string exposed_name(std::string_view prefix, std::string_view original,
                         const NameRules& rules) {
  Plain plain = plain_name(prefix, original, rules.charset);
  if (plain.exact && plain.name.size() <= rules.max && !looks_digested(plain.name)) {
    return std::move(plain.name);
  }
  return with_digest(std::move(plain.name), prefix, original, rules.max);
}

std::string disambiguated_name(std::string_view prefix, std::string_view original,
                               const NameRules& rules) {
  Plain plain = plain_name(prefix, original, rules.charset);
  return with_digest(std::move(plain.name), prefix, original, rules.max);
}

bool legal_name(std::string_view name, std::size_t limit) {
  if (name.empty() || name.size() > limit) return false;
  for (const char c : name) {
    if (!legal(c)) return false;
  }
  return true;
}

}  // namespace mcpx::mcp
