// Extensions that mcpx knows by name, and what capabilities say of them (2026-07-28
// basic/versioning, "Extension Negotiation"). Pure. Thread: any.
#pragma once

#include <optional>
#include <string_view>

#include "json/json.hpp"
#include "mcp/method.hpp"

namespace mcpx::mcp {

// SEP-2640: skills/list, skills/get, resources/directory/read.
inline constexpr std::string_view kSkills = "io.modelcontextprotocol/skills";
// MCP Apps, SEP-1865: metadata of tools and `ui://` resources; no methods between client and
// server.
inline constexpr std::string_view kApps = "io.modelcontextprotocol/ui";
inline constexpr std::string_view kTasks = "io.modelcontextprotocol/tasks";

// The settings of an extension in the capabilities of a client or a server; nullopt when it is not
// declared.
std::optional<json::Raw> extension_settings(json::Raw capabilities, std::string_view extension);
// True if the capabilities declare any extension besides those named above.
bool declares_others(json::Raw capabilities);
// True if they offer that list.
bool offers(json::Raw capabilities, ListKind kind);
// True if resources/directory/read is among what they offer.
bool offers_directories(json::Raw capabilities);

}  // namespace mcpx::mcp
