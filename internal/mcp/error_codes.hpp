// MCP's error codes and _meta keys by name. Pure. Thread: any.
#pragma once

#include <string_view>

namespace mcpx::mcp {

inline constexpr int kResourceNotFound = -32002;            // legacy
inline constexpr int kHeaderMismatch = -32020;              // modern
inline constexpr int kMissingClientCapability = -32021;     // modern
inline constexpr int kUnsupportedProtocolVersion = -32022;  // modern
inline constexpr int kUrlElicitationRequired = -32042;      // 2025-11-25
// Ours: the upstream failed, data.code says how. Outside JSON-RPC's reserved range (-32768 to
// -32000), as basic/index "Error Codes" asks of new codes.
inline constexpr int kUpstreamFailure = -31010;
inline constexpr int kRequestCancelled = -31011;

inline constexpr std::string_view kMetaProtocolVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kMetaClientInfo = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kMetaClientCapabilities =
    "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kMetaServerInfo = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view kMetaLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view kMetaRelatedTask =
    "io.modelcontextprotocol/related-task";  // 2025-11-25
inline constexpr std::string_view kMetaSubscriptionId = "io.modelcontextprotocol/subscriptionId";

}  // namespace mcpx::mcp
