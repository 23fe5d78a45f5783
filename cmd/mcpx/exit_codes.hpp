// How mcpx ends. The same list is in docs/cli.md and `mcpx help exit-codes`. Thread: any.
#pragma once

namespace mcpx::cli {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;  // the daemon or a tool said no
inline constexpr int kUsage = 2;
inline constexpr int kUnreachable = 69;  // EX_UNAVAILABLE of sysexits.h
inline constexpr int kInternal = 70;     // EX_SOFTWARE
inline constexpr int kTemporary = 75;    // EX_TEMPFAIL: it waits for an answer of somebody

}  // namespace mcpx::cli
