// Results, errors and definitions spelled for the revision of whoever receives them: the one place
// where that is decided (design section 2, step 6). Driven by the table of members in shapes.cpp.
//
// What other revisions define and the receiver's does not is not sent, whoever said it; its data is
// carried over in a vocabulary the receiver has (a resource_link becomes text for 2025-03-26,
// structured content that no text repeats gains a text block). Everything else passes byte for
// byte, members and content blocks that no revision knows included. URIs are mapped before
// (registry), so the text made of a link names what the caller can read. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
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
  Revision from = kLatestLegacy;  // of the server that made the result
  Revision to = kLatestLegacy;    // of the caller
  std::string_view server_info;   // raw Implementation object for _meta of modern results
  CacheHints cache;               // for a cacheable result that carries none itself
};

// Whether results of a server of `from` reach a caller of `to` as they are. A server may say more
// than the revision it agreed to has, so this holds only where the caller knows all of them. (The
// newest legacy revision; servers that slip modern members in are left to their clients, who ignore
// them: looking would cost every call a pass over its result.)
constexpr bool passes_whole(Revision from, Revision to) {
  return to == kLatestLegacy && era_of(from) == Era::legacy;
}

// Appends the result object spelled for `context.to`. `result` is what the upstream sent.
void append_result_for(std::string& out, Method method, json::Raw result,
                       const ResultContext& context);

// Appends one definition of a list (a tool, prompt, resource, template) spelled for `to`.
void append_definition_for(std::string& out, ListKind kind, json::Raw definition, Revision to);

// Appends the params of a notification on its way to the caller.
void append_notification_params_for(std::string& out, Method method, json::Raw params, Revision to);

// Appends an Implementation object (serverInfo).
void append_implementation_for(std::string& out, json::Raw implementation, Revision to);

// What kind of result a modern server sent. Unknown types must be treated as invalid, never as
// complete (2026-07-28 basic/index).
enum class ResultType : std::uint8_t { complete, input_required, task, unknown };
ResultType result_type_of(json::Raw result);

struct ErrorContext {
  std::optional<Revision> from;  // of the server that made it; unset when not known
  Revision to = kLatestLegacy;
  std::string_view uri;  // what resources/read asked for; completes a modern not-found error
};

// Appends an error object spelled for the caller: codes of another era are mapped (-32002 and
// -32602 for a missing resource, ...), code, message and data otherwise untouched (case C36).
void append_error_for(std::string& out, Method method, json::Raw error,
                      const ErrorContext& context);
void append_error_for(std::string& out, Method method, json::Raw error, Revision to);

// Where an error came up: a request that was refused as malformed (no _meta, wrong headers) against
// an answer to a well-formed one.
enum class ErrorStage : std::uint8_t { validation, execution };
// The HTTP status an error response travels with (basic/transports/streamable-http; the table is in
// docs/protocol.md). Legacy revisions leave it to the transport: 200 for what was executed.
unsigned http_status_for(int code, Revision to, ErrorStage stage = ErrorStage::execution);

}  // namespace mcpx::mcp
