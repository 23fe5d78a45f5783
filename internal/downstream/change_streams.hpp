// ChangeStreams: the long-lived streams of one shard that tell clients a list changed: the GET
// stream of a legacy session and the subscriptions/listen of a modern client.
//
// A stream keeps one bit per kind of change instead of a queue, so changes that arrive while a
// reader is slow coalesce and nothing grows; a reader that stalls ends at the write deadline.
// Thread: home shard only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "downstream/session.hpp"
#include "http/server.hpp"
#include "json/json.hpp"
#include "registry/registry.hpp"
#include "runtime/waiter.hpp"

namespace mcpx::downstream {

// Kinds of list_changed as bits: resources and resource templates share a notification.
using ChangeSet = std::uint8_t;
inline constexpr ChangeSet kToolsChanged = 1, kPromptsChanged = 2, kResourcesChanged = 4;
inline constexpr ChangeSet kEveryChange = 7;
ChangeSet change_of(mcp::ListKind kind);

// The `notifications` filter of subscriptions/listen: what of it is honoured, as bits and as the
// object the acknowledgement carries.
ChangeSet wanted_changes(json::Raw filter);
std::string honoured_filter(ChangeSet wanted);

class ChangeStreams {
 public:
  // `server_info` (raw) goes into the result that ends a subscription; outlives this.
  ChangeStreams(runtime::Shard& shard, std::string_view server_info, Milliseconds keep_alive)
      : shard_(shard), server_info_(server_info), keep_alive_(keep_alive) {}

  void publish(const registry::Change& change);
  void end_session(const Session& session);
  void end_endpoint(std::string_view endpoint);  // it is gone; gracefully
  void shut_down();  // ends all of them gracefully, and every later one at once
  std::size_t size() const { return streams_.size(); }

  // Serve one exchange until the client goes, the session ends or the daemon shuts down.
  Task<void> serve_session(http::Exchange& exchange, SessionPtr session);
  // `id` is the raw token of the listen request.
  Task<void> serve_listen(http::Exchange& exchange, std::string id, std::string endpoint,
                          ChangeSet wanted);

 private:
  struct Stream;
  Task<Result<void>> send_changes(http::Exchange& exchange, Stream& stream);
  Task<void> run(http::Exchange& exchange, Stream& stream);
  Task<void> end_listen(http::Exchange& exchange, std::string_view id, std::string_view why);

  runtime::Shard& shard_;
  std::string_view server_info_;
  Milliseconds keep_alive_;
  bool shut_down_ = false;
  std::vector<Stream*> streams_;  // each in the frame that serves it
};

}  // namespace mcpx::downstream
