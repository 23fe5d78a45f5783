// Forms: what the content of an accepted elicitation must be by its requestedSchema, which is flat:
// primitives, choices, lists of choices (2025-11-25 client/elicitation, "Requested Schema"). Pure.
// Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/json.hpp"

namespace mcpx::mcp {

// Why `content` does not fit, one sentence for each field; empty when it does. What a schema says
// beyond the specification is for the server to judge.
std::vector<std::string> form_problems(json::Raw schema, json::Raw content);

// The names of its fields, as they stand there.
std::vector<std::string> form_fields(json::Raw schema);

// Those that seem to ask for a password or another credential, which a form must not (2025-11-25
// client/elicitation, "Security Considerations").
std::vector<std::string> sensitive_fields(json::Raw schema);

}  // namespace mcpx::mcp
