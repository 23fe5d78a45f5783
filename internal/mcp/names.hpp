// Names as the aggregating endpoint shows them: legal, bounded, injective, deterministic.
//
// A name is never split again: routing is by table (registry). Pure. Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mcpx::mcp {

inline constexpr std::size_t kDefaultNameLimit = 64;

// "{prefix}__{original}", every character outside [A-Za-z0-9_-] replaced, cut to `limit`. Whenever
// the plain spelling would lose information (a replaced character, a cut), a digest of the exact
// original and prefix is appended, so that two different names never meet (case C44).
// With an empty prefix the name stands alone.
std::string exposed_name(std::string_view prefix, std::string_view original, std::size_t limit);
// The same with the digest forced, for a name that collides after all.
std::string disambiguated_name(std::string_view prefix, std::string_view original,
                               std::size_t limit);
bool legal_name(std::string_view name, std::size_t limit);

}  // namespace mcpx::mcp
