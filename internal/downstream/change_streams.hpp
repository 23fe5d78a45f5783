// ChangeStreams: the long-lived streams of one shard that tell clients that a list changed, or a
// resource they subscribed to: the GET stream of a legacy session and the subscriptions/listen of a
// modern client. On the GET streams of a pass-through endpoint also what its server says in terms
// of its extensions; a listen is told nothing that it did not ask for.
//
// A stream keeps one bit per kind of change, and each resource once, instead of a queue, so what
// comes while a reader is slow coalesces and stays bounded; a reader that stalls ends at the write
// deadline. Thread: home shard only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "downstream/session.hpp"
#include "downstream/subscriptions.hpp"
#include "http/server.hpp"
#include "json/json.hpp"
#include "registry/registry.hpp"
#include "runtime/task_group.hpp"
#include "runtime/waiter.hpp"

namespace mcpx::downstream {

// Kinds of list_changed as bits: resources and resource templates share a notification.
using ChangeSet = std::uint8_t;
inline constexpr ChangeSet kToolsChanged = 1, kPromptsChanged = 2, kResourcesChanged = 4;
inline constexpr ChangeSet kEveryChange = 7;
ChangeSet change_of(mcp::ListKind kind);

// The `notifications` filter of subscriptions/listen, as bits; and what an endpoint with these
// capabilities announces.
ChangeSet wanted_changes(json::Raw filter);
ChangeSet announced_changes(json::Raw capabilities);

// A resource that a subscriptions/listen names.
struct Wish {
  explicit Wish(Watched watched_in) : watched(std::move(watched_in)) {}
  Watched watched;
  bool honoured = false;
};
// One subscriptions/listen: its raw id, and what of its filter the endpoint offers.
struct Listen {
  std::string id, endpoint;
  ChangeSet wanted = 0;
  std::vector<Wish> wishes;
  std::vector<std::string> tasks;  // ids that it is told of
  // The raw params of the notification of one that is over; empty for another.
  std::function<Task<std::string>(const std::string& id)> finished;
};

class ChangeStreams {
 public:
  // `server_info` (raw) goes into the result that ends a subscription; outlives this.
  ChangeStreams(runtime::Shard& shard, std::string_view server_info, Milliseconds keep_alive)
      : shard_(shard), server_info_(server_info), keep_alive_(keep_alive) {}

  void publish(const registry::Change& change);
  void publish(const registry::Updates& updates, const Subscriptions& subscriptions);
  // Tells the session this on its GET stream, if that is here.
  void say(const Session& session, const std::string& message);
  // Tells whoever listens to that task what it is now: raw params.
  void publish_task(std::string_view id, const std::string& params);
  // Other servers have taken the place of some: what listens watched on those is watched on these.
  void renew(const registry::Registry& registry, runtime::TaskGroup& tasks);
  void end_session(const Session& session);
  void end_endpoint(std::string_view endpoint);  // it is gone; gracefully
  void shut_down();  // ends all of them gracefully, and every later one at once
  std::size_t size() const { return streams_.size(); }

  // Serve one exchange until the client goes, the session ends or the daemon shuts down.
  Task<void> serve_session(http::Exchange& exchange, SessionPtr session);
  // What a server does not agree to tell of is left out of the acknowledgement.
  Task<void> serve_listen(http::Exchange& exchange, Listen listen);

 private:
  struct Stream;
  Task<Result<void>> send_changes(http::Exchange& exchange, Stream& stream);
  Task<Result<void>> send_messages(http::Exchange& exchange, Stream& stream);
  Task<Result<void>> send_updates(http::Exchange& exchange, Stream& stream);
  void publish(std::string_view server, const upstream::ExtensionNotice& notice);
  Task<void> watch(std::vector<Wish>& wishes);
  Task<void> renew_one(const Stream* stream, std::uint64_t number, Watched before,
                       std::shared_ptr<upstream::Server> now);
  static void drop_refused(Stream& stream, const std::vector<Wish>& wishes);
  Task<void> serve_watching(http::Exchange& exchange, Stream& stream, const Listen& listen);
  Task<void> tell_finished(http::Exchange& exchange, Stream& stream, const Listen& listen);
  Task<void> run(http::Exchange& exchange, Stream& stream);
  Task<void> end_listen(http::Exchange& exchange, std::string_view id, std::string_view why);

  runtime::Shard& shard_;
  std::string_view server_info_;
  Milliseconds keep_alive_;
  bool shut_down_ = false;
  std::vector<Stream*> streams_;  // each in the frame that serves it
};

}  // namespace mcpx::downstream
