// Structured content of a tool's result against the texts beside it. Pure. Thread: any.
#pragma once

#include "json/json.hpp"

namespace mcpx::mcp {

// Whether a text block of `content` (an array) is `structured` as JSON text: the same values in the
// same order, whatever the white space and the spelling of strings.
bool says(json::Raw content, json::Raw structured);

}  // namespace mcpx::mcp
