// How long a failed server is left alone: doubling from half a second to a minute, each with up to
// a fifth of jitter so that many servers do not come back at once. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace mcpx::upstream {

inline constexpr Milliseconds kFirstBackoff{500};
inline constexpr Milliseconds kLongestBackoff{60'000};

// After `failures` (at least 1) in a row.
Milliseconds backoff_after(std::size_t failures);
// The same, pure: `random` is any number, its low bits make the jitter.
Milliseconds backoff_after(std::size_t failures, std::uint64_t random);

}  // namespace mcpx::upstream
