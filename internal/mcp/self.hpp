// How mcpx introduces itself, to servers (clientInfo) and to clients (serverInfo). Thread: any.
#pragma once

#include <string_view>

namespace mcpx::mcp {

// A raw Implementation object.
inline constexpr std::string_view kSelf = R"({"name":"mcpx","version":")" MCPX_VERSION R"("})";

}  // namespace mcpx::mcp
