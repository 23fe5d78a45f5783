// What mcpx reads out of HTTP request fields: media types, the mirrored MCP fields and their Base64
// form (2026-07-28 basic/transports/streamable-http, "Value Encoding"). Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http1/message.hpp"

namespace mcpx::downstream {

inline constexpr std::string_view kVersionField = "MCP-Protocol-Version";
inline constexpr std::string_view kMethodField = "Mcp-Method";
inline constexpr std::string_view kNameField = "Mcp-Name";
inline constexpr std::string_view kSessionField = "Mcp-Session-Id";

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kEventStream = "text/event-stream";

std::string_view trim(std::string_view value);  // of spaces and tabs

// The trimmed value of a field that may appear once; nullopt when absent.
std::optional<std::string_view> field(const http1::Fields& fields, std::string_view name);

// True for "application/json" with any parameters.
bool is_json(const http1::Fields& fields);

// What the client can read. Clients must list both types; one that sends no Accept at all, or only
// one of the two, is served in the way it can read rather than refused.
struct Accepts {
  bool json = false;
  bool events = false;
};
Accepts accepts(const http1::Fields& fields);

// The text a mirrored field stands for: `=?base64?...?=` decoded, anything else as it is. nullopt
// when it holds characters that no field may hold, or bad Base64 inside the marks.
std::optional<std::string> decode_mirrored(std::string_view value);

}  // namespace mcpx::downstream
