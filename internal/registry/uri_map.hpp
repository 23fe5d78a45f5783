// Resource URIs in results, as an aggregating endpoint shows them.
//
// Every place where a result can carry a URI that the caller may read back is mapped the way the
// lists are (mcp/uris.hpp); everything else passes byte for byte. The URIs of the server whose
// prefix is empty (`own_uris`) pass too. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "json/json.hpp"
#include "mcp/method.hpp"

namespace mcpx::registry {

// How the endpoint shows a URI of `server`. One that looks qualified would lead elsewhere: it is
// qualified whatever the prefix.
std::string shown_uri(std::string_view server, std::string_view original, bool own_uris);
// The result of a call to `server`, with its URIs qualified. Empty when nothing had to be changed.
std::string expose_result_uris(mcp::Method method, json::Raw result, std::string_view server,
                               bool own_uris = false);
// The same for the `data.uri` of an error.
std::string expose_error_uris(json::Raw error, std::string_view server, bool own_uris = false);
// A definition of a list with the member that identifies it replaced; for tools also the `ui://`
// resources that its _meta names (MCP Apps), for skills the URIs of their files.
std::string expose_definition(mcp::ListKind kind, json::Raw definition, std::string_view exposed,
                              std::string_view server, bool own_uris = false);

}  // namespace mcpx::registry
