// Values of mirrored headers (Mcp-Name, Mcp-Param-*): as they are where HTTP can carry them, else
// in the sentinel `=?base64?{Base64 of the UTF-8}?=` (spec 2026-07-28 basic/transports, value
// encoding). Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mcpx::mcp {

// What to send for a UTF-8 value: itself if it is visible ASCII with inner spaces only and does not
// look like the sentinel, else wrapped.
std::string encode_header(std::string_view value);

// The value a header stands for; nullopt when it is a sentinel with broken Base64. An incomplete
// wrapper is a literal value. Surrounding white space is not part of a header's value.
std::optional<std::string> decode_header(std::string_view header);

}  // namespace mcpx::mcp
