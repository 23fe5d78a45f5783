// Names as the aggregating endpoint shows them: legal, bounded, injective, deterministic.
//
// A name is never split again: routing is by table (registry). Pure. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mcpx::mcp {

inline constexpr std::size_t kDefaultNameLimit = 64;

// What a client can take.
enum class NameCharset : std::uint8_t {
  dashes,  // [A-Za-z0-9_-]
  word     // [A-Za-z0-9_], beginning with a letter
};
struct NameRules {
  std::size_t max = kDefaultNameLimit;
  NameCharset charset = NameCharset::dashes;

  NameRules() = default;
  NameRules(std::size_t max_in, NameCharset charset_in = NameCharset::dashes)
      : max(max_in), charset(charset_in) {}
  bool operator==(const NameRules&) const = default;
};

// "{prefix}__{original}", every character outside the charset replaced, cut to the limit. Whenever
// the plain spelling would lose information (a replaced character, a cut), a digest of the exact
// original and prefix is appended, so that two different names never meet (case C44).
// With an empty prefix the name stands alone.
std::string exposed_name(std::string_view prefix, std::string_view original,
                         const NameRules& rules);
// The same with the digest forced, for a name that collides after all.
std::string disambiguated_name(std::string_view prefix, std::string_view original,
                               const NameRules& rules);
bool legal_name(std::string_view name, std::size_t limit);

}  // namespace mcpx::mcp
