// Resource URIs in results, as an aggregating endpoint shows them.
//
// Every place where a result can carry a URI that the caller may read back is mapped the way the
// lists are (mcp/uris.hpp); everything else passes byte for byte. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "json/json.hpp"
#include "mcp/method.hpp"

namespace mcpx::registry {

// The result of a call to `server`, with its URIs qualified. Empty when nothing had to be changed.
std::string expose_result_uris(mcp::Method method, json::Raw result, std::string_view server);
// The same for the `data.uri` of an error.
std::string expose_error_uris(json::Raw error, std::string_view server);
// A definition of a list with the member that identifies it replaced; for tools also the `ui://`
// resource that MCP Apps names in its _meta.
std::string expose_definition(mcp::ListKind kind, json::Raw definition, std::string_view exposed,
                              std::string_view server);

}  // namespace mcpx::registry
