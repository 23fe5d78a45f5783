// Results, errors and definitions spelled for the revision of whoever receives them: the one place
// where that is decided (design section 2, step 6). Driven by a table of members per revision.
//
// What a revision never defined is not sent; data is carried over in a vocabulary the receiver has
// (a resource_link becomes text for 2025-03-26, structured content without text gains a text block).
// What both sides know passes byte for byte. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/json.hpp"
#include "mcp/method.hpp"
#include "mcp/revision.hpp"

namespace mcpx::mcp {

struct CacheHints {
  std::int64_t ttl_ms = 0;
  bool is_private = true;
};

struct ResultContext {
  Revision from = kLatestLegacy;   // of the server that made the result
  Revision to = kLatestLegacy;     // of the caller
  std::string_view server_info;    // raw Implementation object for _meta of modern results
  CacheHints cache;                // for a cacheable result that carries none itself
};

// Appends the result object spelled for `context.to`. `result` is what the upstream sent.
void append_result_for(std::string& out, Method method, json::Raw result,
                       const ResultContext& context);

// Appends one definition of a list (a tool, prompt, resource, template) spelled for `to`.
void append_definition_for(std::string& out, ListKind kind, json::Raw definition, Revision to);

// Appends an error object spelled for the caller: codes of another era are mapped (-32002 and
// -32602 for a missing resource, ...), code, message and data otherwise untouched (case C36).
void append_error_for(std::string& out, Method method, json::Raw error, Revision to);

// The HTTP status a modern error travels with (400, 404, 200): spec basic/transports.
unsigned http_status_for(int code, Revision to);

}  // namespace mcpx::mcp
