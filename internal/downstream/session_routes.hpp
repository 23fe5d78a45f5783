// What a legacy client does with its session besides calling: finding it by its header, GET (its
// notification stream) and DELETE (its end). Thread: the exchange's shard.
#pragma once

#include <string_view>

#include "downstream/core.hpp"
#include "downstream/modern_checks.hpp"
#include "http/server.hpp"

namespace mcpx::downstream {

// The session a request names, or why it is refused: 400 without one or with an unknown
// MCP-Protocol-Version, 404 when it is unknown, ended, of another endpoint or of another principal.
boost::system::result<SessionPtr, Refusal> session_of(const Core& core,
                                                      const http::Exchange& exchange,
                                                      std::string_view endpoint);

Task<void> serve_get(Core& core, http::Exchange& exchange, std::string_view endpoint);
Task<void> serve_delete(Core& core, http::Exchange& exchange, std::string_view endpoint);
// 405; `allowed` outlives the task.
Task<void> refuse_method(http::Exchange& exchange, std::string_view allowed);

}  // namespace mcpx::downstream
