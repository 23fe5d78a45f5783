// POST: one JSON-RPC message (or, for 2025-03-26, a batch) from a client, from body to answer.
// Thread: the exchange's shard.
#pragma once

#include <string_view>

#include "downstream/core.hpp"
#include "http/server.hpp"

namespace mcpx::downstream {

// `endpoint` exists ("" is /mcp) and, like the others, outlives the task.
Task<void> serve_post(Core& core, http::Exchange& exchange, std::string_view endpoint);

}  // namespace mcpx::downstream
