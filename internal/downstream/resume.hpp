// GET with Last-Event-ID: the rest of a stream that broke off, and what it says from then on.
// Thread: the exchange's shard.
#pragma once

#include <string>

#include "downstream/core.hpp"
#include "http/server.hpp"

namespace mcpx::downstream {

inline constexpr std::string_view kLastEventField = "Last-Event-ID";

// `last` is what the client says it got last. Refused with 400 when it leads to no stream of this
// session that is still kept.
Task<void> serve_rest(Core& core, http::Exchange& exchange, SessionPtr session, std::string last);

}  // namespace mcpx::downstream
