// ServerSide: what one shard has of a Server: its connections, those of them that wait for a
// request, and the handshakes under way. ServerShared: what all shards have in common.
// Internal to the room. Thread: a ServerSide its shard; ServerShared any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "http/server.hpp"
#include "runtime/cancel.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::http {

class Connection;

// Connections in the order in which they began to wait, linked through themselves.
class WaitingList {
 public:
  void push_back(Connection& connection);
  void remove(Connection& connection);
  Connection* front() const { return first_; }

 private:
  Connection* first_ = nullptr;
  Connection* last_ = nullptr;
};

struct ServerShared {
  Handler* route(std::string_view path) const;  // null: none

  std::vector<Route> routes;  // longest prefix first
  std::atomic<std::size_t> open{0};
  std::atomic<std::size_t> body_bytes{0};  // of requests that did not come at once
  std::atomic<std::uint64_t> requests{0};
};

struct Handshake {
  runtime::CancelSource cancel;
  bool counted = true;
};

struct ServerSide {
  ServerSide(runtime::Shard& shard, ServerShared& shared_in,
             std::shared_ptr<const ServerOptions> options_in)
      : group(shard), shared(shared_in), options(std::move(options_in)) {}

  // Ends what has waited longest, to make room for one more; false when nothing waits. What has
  // not asked anything yet goes before what has.
  bool make_room();

  runtime::TaskGroup group;
  ServerShared& shared;
  std::shared_ptr<const ServerOptions> options;  // of the next request
  std::unordered_set<Connection*> connections;
  std::list<Handshake*> handshakes;  // the oldest first
  WaitingList fresh, used;
  bool stopping = false;
};

}  // namespace mcpx::http
