// Name resolution off the shard. Internal to the room.
//
// getaddrinfo() blocks, sometimes for half a minute, and a resolver of one thread runs one lookup
// at a time (style.md P10); so each lookup gets a thread, at most kMaxLookups in the process. A
// lookup that is done is joined; one abandoned at its deadline is let go: its thread then touches
// nothing but the state it shares, never the shard. Thread: home shard of the shard given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/address.hpp"
#include "runtime/cancel.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::net {

inline constexpr std::size_t kMaxLookups = 16;

// IP literals and "localhost" (127.0.0.1, then ::1) are answered at once.
Task<Result<std::vector<Address>>> resolve(runtime::Shard& shard, std::string host,
                                           std::uint16_t port, TimePoint deadline,
                                           runtime::CancelSource* cancel);

}  // namespace mcpx::net
