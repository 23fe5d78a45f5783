// Registry: follows the servers' catalogues and publishes a Snapshot of them merged.
//
// Home shard: the first. Changes are coalesced (one rebuild per burst) and the new snapshot is
// posted to every shard, where current() reads it without a lock. Thread: as each member says.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "registry/snapshot.hpp"
#include "runtime/shard.hpp"
#include "upstream/server.hpp"

namespace mcpx::registry {

// What changed for the clients of an endpoint.
struct Change {
  std::string endpoint;
  mcp::ListKind kind;
};

// What one server says unasked: of watched resources, and in terms of its extensions.
struct Updates {
  Updates(std::string server_in, std::vector<upstream::ResourceUpdate> updates_in)
      : server(std::move(server_in)), updates(std::move(updates_in)) {}
  std::string server;
  std::vector<upstream::ResourceUpdate> updates;
  std::optional<upstream::ExtensionNotice> notice;
};

class Registry {
 public:
  // `server_info` is the raw Implementation object of mcpx, for the _meta of modern lists.
  // `servers` are those of `config`, in its order.
  Registry(runtime::Shard& home, std::vector<runtime::Shard*> shards,
           std::shared_ptr<const config::Config> config, std::string server_info,
           std::vector<std::shared_ptr<upstream::Server>> servers);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Subscribes to the servers and publishes the first (empty) snapshot. Home shard, once.
  void start();

  // The snapshot of the calling shard. Any shard.
  std::shared_ptr<const Snapshot> current() const;
  // The configuration in force on the calling shard: there until its next suspension. Any shard.
  const config::Config& config() const;

  // Completes when `endpoint` has something to list: its server(s) ready, or failed, or the
  // deadline came (case C13: a bounded wait during warm-up instead of an empty list). Any shard.
  Task<void> wait_ready(std::string endpoint, TimePoint deadline);

  // True if a server of the endpoint would have its list asked for again before it is shown. Cheap:
  // one comparison per server. Any shard.
  static bool stale(const Endpoint& endpoint, mcp::ListKind kind);
  // A page of such a list, with what is left of its ttlMs. Any shard.
  static Rendered aged(const Endpoint& endpoint, Rendered page, mcp::ListKind kind);
  // Has those lists read again, all at once, and waits a bounded time for the snapshot with what
  // came; servers that are slow or gone keep the list they have. Any shard.
  Task<void> renew(std::shared_ptr<const Endpoint> endpoint, mcp::ListKind kind);

  // `changed` runs on the calling shard after each snapshot that changed what an endpoint shows
  // (/mcp: only when the visible list changed; /mcp/{server}: whenever the server said so).
  // Any shard, at start-up.
  void on_change(std::function<void(const Change&)> changed);

  // `told` runs on the calling shard with what servers say unasked, besides that their lists have
  // changed. Any shard, at start-up.
  void on_updates(std::function<void(const Updates&)> told);

  // `replaced` runs on the calling shard after each snapshot with other servers than the one
  // before. Any shard, at start-up.
  void on_replaced(std::function<void()> replaced);

  // Another configuration and its servers take the place of those there are, in one snapshot. Those
  // that are new are started and have until `patience` to come up before anything is shown; one
  // that takes longer shows what the server of its name had listed. Completes when every shard has
  // the snapshot: from then on nobody sends anything to a server that is not in it, except for
  // calls that are under way. Home shard; one at a time.
  Task<void> replace(std::shared_ptr<const config::Config> config,
                     std::vector<std::shared_ptr<upstream::Server>> servers, TimePoint patience);
  void hurry();  // replace() waits for no server any more. Home shard

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace mcpx::registry
