// Extensions that mcpx knows by name, and what capabilities say of them (2026-07-28
// basic/versioning, "Extension Negotiation"). Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/json.hpp"
#include "mcp/method.hpp"

namespace mcpx::mcp {

// SEP-2640: skills/list, skills/get, resources/directory/read.
inline constexpr std::string_view kSkills = "io.modelcontextprotocol/skills";
// MCP Apps, SEP-1865: metadata of tools and `ui://` resources; no methods between client and
// server.
inline constexpr std::string_view kApps = "io.modelcontextprotocol/ui";
// SEP-2663: tasks/get, tasks/update, tasks/cancel. 2025-11-25 has a capability for such in its
// core.
inline constexpr std::string_view kTasks = "io.modelcontextprotocol/tasks";

// What mcpx declares for itself when nobody's capabilities are to be passed on: the extensions that
// every endpoint carries. A raw map of extensions.
inline constexpr std::string_view kCarried =
    R"({"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]},)"
    R"("io.modelcontextprotocol/skills":{}})";

// Those of a client's extensions that its endpoint carries, as a raw map; empty if there is none.
// `whole`: the endpoint is of one server and carries whatever that has, but for tasks, which are
// carried where the call says so.
std::string carried_extensions(json::Raw capabilities, bool whole);
// The capabilities with no other extensions in them; empty when they are that already.
std::string carried_capabilities(json::Raw capabilities, bool whole, bool tasks = false);
// The capabilities with these extensions (a raw map, or empty for none) in place of their own.
std::string with_extensions(std::string capabilities, std::string_view extensions);

// The settings of an extension in the capabilities of a client or a server; nullopt when it is not
// declared.
std::optional<json::Raw> extension_settings(json::Raw capabilities, std::string_view extension);
// True if a server of that revision may answer tools/call with a task.
bool offers_tasks(json::Raw capabilities, Revision revision);
// True if the capabilities declare any extension besides those named above.
bool declares_others(json::Raw capabilities);
// True for a notification of an extension that mcpx does not know: no revision has it, and it is
// none of tasks, whose ids are not those that clients have.
bool is_foreign_notification(std::string_view method);
// True for the definition of a tool that says it is not for models (SEP-1865, "Visibility").
bool is_app_only(json::Raw tool);
// True if they offer that list.
bool offers(json::Raw capabilities, ListKind kind);
// True if resources/directory/read is among what they offer.
bool offers_directories(json::Raw capabilities);

}  // namespace mcpx::mcp
