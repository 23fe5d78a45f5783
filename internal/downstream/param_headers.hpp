// Mcp-Param-* fields: tool arguments that a tool's schema asks to see mirrored (`x-mcp-header`),
// and the check that field and argument say the same (2026-07-28 basic/transports/streamable-http,
// "Server Behavior for Custom Headers"). Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "http1/message.hpp"
#include "json/json.hpp"
#include "mcp/param_headers.hpp"

namespace mcpx::downstream {

// What is wrong with the fields, for a HeaderMismatch error; nullopt when they agree.
std::optional<std::string> mismatched_param(const http1::Fields& fields,
                                            const std::vector<mcp::MirroredParam>& params,
                                            json::Raw arguments);

}  // namespace mcpx::downstream
