// Time as mcpx counts it: a steady clock for deadlines. Pure rooms take `now` as a parameter.
// Thread: any.
#pragma once

#include <chrono>

namespace mcpx {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = Clock::duration;
using Milliseconds = std::chrono::milliseconds;

// "No deadline": only for waits that another bound ends.
inline constexpr TimePoint kNever = TimePoint::max();

}  // namespace mcpx
