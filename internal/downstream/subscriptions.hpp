// Subscriptions: which resources each legacy session has subscribed to (resources/subscribe).
//
// Decided on the first shard and known to every shard before it is answered, as sessions are, so
// that the stream of a session finds them wherever it lives. Thread: as each member says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "downstream/session.hpp"
#include "registry/registry.hpp"
#include "registry/snapshot.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::downstream {

// A resource that a session or a stream is told of.
struct Watched {
  Watched() = default;
  // `endpoint` is the one it is asked for at, `shown` how the client wrote it.
  Watched(const registry::Endpoint& endpoint, const registry::Target& target,
          std::shared_ptr<upstream::Server> on_in, upstream::Watcher watcher_in,
          std::string shown_in);

  std::string key() const { return key_of(server, watcher.owner, uri); }
  static std::string key_of(std::string_view server, std::string_view owner, std::string_view uri);
  // How its client is told of news of it.
  std::string shown_as(const upstream::ResourceUpdate& update) const;

  std::string server, uri;  // as the server knows it
  upstream::Watcher watcher;
  std::shared_ptr<upstream::Server> on;  // that watches it
  std::string shown;
  bool qualified = false, own_uris = false;  // how its endpoint shows what is below it
};
void unwatch(const Watched& watched);  // any shard
// Has another server, which took the place of the one there was (null: none did), watch the same.
// False, and a line in the log, when it does not. Any shard.
Task<bool> watch_again(const Watched& before, std::shared_ptr<upstream::Server> now);

using WatchedSet = std::map<std::string, Watched>;  // by key

// The server of that name in the snapshot of the calling shard; null if there is none.
std::shared_ptr<upstream::Server> server_named(const registry::Registry& registry,
                                               std::string_view name);

class Subscriptions {
 public:
  explicit Subscriptions(std::vector<runtime::Shard*> shards);
  Subscriptions(const Subscriptions&) = delete;
  Subscriptions& operator=(const Subscriptions&) = delete;

  enum class Added : std::uint8_t { added, known, full, ended };
  // The session has at most `limit`. Any shard.
  Task<Added> add(const Session& session, Watched watched, std::size_t limit);
  // What add() would say. Any shard; the calling shard's view.
  Added would_add(const Session& session, const std::string& key, std::size_t limit) const;
  // What was taken away; nullopt: it was not there. Any shard.
  Task<std::optional<Watched>> remove(const Session& session, std::string key);
  // What an earlier daemon has left: the session has it at once, and its client is told that news
  // may have been missed when `now` watches it too. It is over if that does not. First shard.
  Task<void> restore(SessionPtr session, Watched before, std::shared_ptr<upstream::Server> now,
                     std::size_t limit, runtime::TaskGroup& tasks);
  // How its client wrote them: a raw array, or empty for none. Any shard; the calling shard's view.
  std::string listed(const Session& session) const;
  // The session is over: forgets it on this shard and says what it had.
  WatchedSet forget(const Session& session);
  // Other servers have taken the place of some: see ChangeStreams::renew(). First shard.
  void renew(const registry::Registry& registry, runtime::TaskGroup& tasks);
  // Null: it has none. The calling shard's view, until its next suspension.
  const WatchedSet* of(const Session& session) const;

 private:
  using Replica = std::unordered_map<const Session*, WatchedSet>;
  Replica& here();
  const Replica& here() const;
  Added add_here(const Session& session, const Watched& watched, std::size_t limit);
  std::optional<Watched> remove_here(const Session& session, const std::string& key);
  Task<bool> add_there(const Session& session, const Watched& watched);
  Task<bool> remove_there(const Session& session, const std::string& key);
  Task<Added> add_everywhere(const Session& session, const Watched& watched, std::size_t limit);
  Task<std::optional<Watched>> remove_everywhere(const Session& session, std::string key);

  Task<void> renew_one(const Session* session, Watched before,
                       std::shared_ptr<upstream::Server> now);

  std::vector<runtime::Shard*> shards_;
  std::vector<Replica> replicas_;  // by shard index, each used only there
};

}  // namespace mcpx::downstream
