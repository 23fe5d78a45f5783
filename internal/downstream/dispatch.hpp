// dispatch: from a request that was found to be in order to its answer.
//
// Lists come out of the snapshot, calls go through the registry's tables to an upstream, and what
// comes back is spelled for the caller here and nowhere else. Thread: the request's shard.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "downstream/answer.hpp"
#include "downstream/core.hpp"
#include "http1/message.hpp"
#include "mcp/method.hpp"
#include "mcp/revision.hpp"
#include "rpc/message.hpp"
#include "runtime/cancel.hpp"

namespace mcpx::downstream {

// One request and whom it is from. Lives in the frame that serves it, as does what it refers to.
struct Request {
  Request(Core& core_in, const rpc::Message& message_in, std::string_view endpoint_in,
          mcp::Revision revision_in, mcp::Method method_in)
      : core(core_in),
        message(message_in),
        endpoint(endpoint_in),
        revision(revision_in),
        method(method_in) {}

  bool modern() const { return mcp::era_of(revision) == mcp::Era::modern; }

  Core& core;
  const rpc::Message& message;
  std::string_view endpoint;  // "" is /mcp
  mcp::Revision revision;
  mcp::Method method;
  const Session* session = nullptr;  // null: modern
  std::string_view principal;        // empty: the local user
  json::Raw client_info, client_capabilities, progress_token;
  const http1::Fields* fields = nullptr;         // of a modern request; null: none to be checked
  std::string log_level;                         // empty: wants no log messages
  std::string_view request_id;                   // for log lines
  std::shared_ptr<call::NotificationSink> sink;  // null: nothing can be told while it runs
  std::shared_ptr<call::Asker> asker;            // null: it cannot be asked while it runs
  mcp::Askable askable = 0;                      // what the caller declared that it can be asked
  runtime::CancelSource* cancel = nullptr;
  // Fires when its connection is lost, which cancels nothing of a legacy client; null: unknown.
  runtime::CancelSource* gone = nullptr;
};

Task<Answer> dispatch(Request& request);

// --- What its parts share.

Answer method_not_found(const Request& request);
Answer no_catalogue();
// What went wrong at a server, in the caller's vocabulary.
Answer spell_error(const call::Outcome& outcome, const Request& request,
                   const registry::Target& target);
void describe_caller(call::Caller& caller, const Request& request);
// True during warm-up, when a client may ask for what it remembers of a server that is still
// coming.
bool may_still_come(const Request& request);

}  // namespace mcpx::downstream
