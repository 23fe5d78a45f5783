// The two results that introduce mcpx to a client: of `initialize` and of `server/discover`.
// Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "json/json.hpp"
#include "mcp/revision.hpp"
#include "registry/snapshot.hpp"

namespace mcpx::downstream {

// The revision an `initialize` is answered with: the one asked for if it is legacy and known, else
// the newest legacy one. Always an answer, never an error: the client decides (basic/lifecycle,
// "Version Negotiation").
mcp::Revision negotiate(json::Raw params);

// `server_info` is a raw object. `endpoint` may be null: then nothing is advertised yet.
std::string initialize_result(const registry::Endpoint* endpoint, mcp::Revision revision,
                              std::string_view server_info);
std::string discover_result(const registry::Endpoint& endpoint, std::string_view server_info,
                            TimePoint now);

}  // namespace mcpx::downstream
