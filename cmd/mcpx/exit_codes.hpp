// How mcpx ends. The same list is in docs/cli.md and `mcpx help exit-codes`. Thread: any.
#pragma once

namespace mcpx::cli {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;  // the daemon or a tool said no
inline constexpr int kUsage = 2;
inline constexpr int kUnreachable = 69;  // EX_UNAVAILABLE of sysexits.h
inline constexpr int kInternal = 70;     // EX_SOFTWARE
// 75 (EX_TEMPFAIL) is reserved: try again later.

}  // namespace mcpx::cli
