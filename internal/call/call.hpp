// Call and Caller: one request on its way through mcpx, and whom it is for. The types that
// downstream, registry and upstream share.
//
// A Call is made by the coroutine that serves a request and lives in its frame until the Outcome
// is there; everything it refers to lives at least as long. Thread: made and destroyed on the
// caller's shard; may be read (not written) on the shard of the upstream instance meanwhile.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/padded_buffer.hpp"
#include "base/result.hpp"
#include "call/ask.hpp"
#include "json/json.hpp"
#include "mcp/method.hpp"
#include "mcp/revision.hpp"
#include "rpc/message.hpp"
#include "runtime/cancel.hpp"
#include "runtime/shard.hpp"

namespace mcpx::call {

// How a caller is told something while its call runs. Notifications are whole JSON-RPC messages,
// spelled for the caller already, its own progress token included. Thread: the caller's shard.
class NotificationSink {
 public:
  virtual ~NotificationSink() = default;
  // Never blocks; drops the oldest when the caller reads too slowly.
  virtual void notify(std::string json) = 0;
};

struct Caller {
  mcp::Revision revision = mcp::kLatestLegacy;
  std::string_view session;       // id of its legacy session; empty: modern, or mcpx itself
  std::string_view principal;     // whose private results it may see; empty: the local user
  json::Raw client_info;          // raw Implementation object, or empty
  json::Raw client_capabilities;  // raw object: of the request (modern), of the session (legacy)
  // Of a legacy caller: the extensions it declared that its endpoint carries, a raw map, or empty.
  json::Raw extensions;
  json::Raw progress_token;    // raw token, or empty
  std::string_view log_level;  // "warning", or empty for none
  // It talks to this server alone (/mcp/{server}), extensions of the server's included.
  bool passes_through = false;
  std::shared_ptr<NotificationSink> sink;   // may be null: then nothing is relayed
  std::shared_ptr<Asker> asker;             // null: it cannot be asked
  mcp::Askable askable = 0;                 // what it declared that it can be asked
  runtime::CancelSource* cancel = nullptr;  // may be null
  runtime::Shard* shard = nullptr;          // where sink, asker and cancel live
  std::string_view request_id;              // for log lines
};

struct Call {
  mcp::Method method;
  std::string_view method_name;  // as on the wire
  json::Raw params;              // the caller's object, or empty
  // The caller's message that `params` is part of, if there is one: what parsing found need not be
  // looked for again.
  const rpc::Message* message = nullptr;
  // What the hop replaces in params, as raw JSON: the original name or uri of the target, or a
  // rewritten `ref`. Empty: nothing.
  std::string_view target_member;  // "name", "uri", "ref"
  std::string target_value;
  // The wish that a tools/call be a task (2025-11-25), a raw object; empty: it is not to be one,
  // whatever the params say.
  std::string_view task;
  Caller caller;
  TimePoint deadline = kNever;  // kNever: the server's call_timeout decides
};

// What came back. Exactly one of result and error is set; both are raw JSON inside `text`.
struct Outcome {
  PaddedBuffer text;
  json::Raw result;
  json::Raw error;
  mcp::Revision from = mcp::kLatestLegacy;  // whose vocabulary it is in
  bool needs_input = false;                 // a server of 2026-07-28 answered `input_required`
  bool is_task = false;                     // or with a task (SEP-2663)

  bool ok() const { return error.empty(); }
  static Outcome of_result(std::string_view result, mcp::Revision from);
  static Outcome of_error(std::string_view error_object, mcp::Revision from);
  // An error of ours: JSON-RPC `code`, the message with its remedy, data {code, remedy, server}.
  static Outcome of_failure(int code, const Error& error, std::string_view server = {});
};

}  // namespace mcpx::call
