// What belongs to the hop: the parameters of a forwarded request, and the notifications that come
// back, with exactly the members replaced that mcpx owns. Everything else passes byte for byte.
// Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "call/call.hpp"
#include "json/json.hpp"
#include "mcp/revision.hpp"
#include "rpc/message.hpp"

namespace mcpx::upstream {

struct HopContext {
  mcp::Revision to = mcp::kLatestLegacy;  // the revision spoken with the server
  std::string_view client_info;           // raw Implementation object of mcpx
  std::string_view progress_token;        // raw token of ours; empty: ask for no progress
  std::string_view plain_meta;            // modern: the _meta of a caller that has none of its own
};

// The params object to send: target renamed, `_meta` keys of the hop set or removed, progress token
// replaced, a null or missing `arguments` of a tool made `{}` (case C35).
std::string hop_params(const call::Call& call, const HopContext& context);

// notifications/progress of the server for the caller: its own token back, spelled for its
// revision.
std::string progress_for(const call::Caller& caller, json::Raw params);

// True if a notifications/message with these params is for this caller: a modern one must have
// asked for a level, a legacy one may have set one.
bool wants_log(const call::Caller& caller, json::Raw params);
std::string log_message_for(const call::Caller& caller, json::Raw params);

// A notification that no revision has, of an extension then, for whoever gets it: whole, without
// the mark of the subscription of ours that it came under.
std::string extension_message(const rpc::Message& notification);

// The params of such a notification of a client (raw, or empty) for its server: a legacy one gets
// nothing of what a modern client says about itself.
std::string notice_params(json::Raw params, mcp::Revision from, mcp::Revision to);

}  // namespace mcpx::upstream
