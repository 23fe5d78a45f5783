#include "downstream/subscriptions.hpp"

#include <algorithm>
#include <utility>

#include "json/json.hpp"
#include "log/log.hpp"
#include "registry/uri_map.hpp"
#include "runtime/hop.hpp"
#include "upstream/server.hpp"

namespace mcpx::downstream {
namespace {

// For a server that took the place of another to agree to what that one did.
constexpr Milliseconds kPatience{10'000};

}  // namespace

Watched::Watched(const registry::Endpoint& endpoint, const registry::Target& target,
                 std::shared_ptr<upstream::Server> on_in, upstream::Watcher watcher_in,
                 std::string shown_in)
    : server(target.server_name),
      uri(target.original),
      watcher(std::move(watcher_in)),
      on(std::move(on_in)),
      shown(std::move(shown_in)),
      qualified(endpoint.aggregate()),
      own_uris(target.own_uris) {}

std::string Watched::key_of(std::string_view server, std::string_view owner, std::string_view uri) {
  std::string key(server);
  key += '\n';
  key += owner;
  key += '\n';
  key += uri;
  return key;
}

std::string Watched::shown_as(const upstream::ResourceUpdate& update) const {
  if (update.uri == update.watched) return shown;
  return qualified ? registry::shown_uri(server, update.uri, own_uris) : update.uri;
}

std::shared_ptr<upstream::Server> server_named(const registry::Registry& registry,
                                               std::string_view name) {
  for (const auto& server : registry.current()->servers) {
    if (server->name() == name) return server;
  }
  return nullptr;
}

void unwatch(const Watched& watched) {
  if (watched.on) watched.on->unwatch(watched.watcher, watched.uri);
}

Task<bool> watch_again(const Watched& before, std::shared_ptr<upstream::Server> now) {
  if (!now) co_return false;
  upstream::Watcher watcher = before.watcher;
  std::string uri = before.uri;
  const TimePoint deadline = Clock::now() + kPatience;
  const call::Outcome outcome = co_await now->watch(std::move(watcher), std::move(uri), deadline);
  if (!outcome.ok()) {
    log::warning("server {} was replaced, and updates of a resource that is watched will be missed",
                 before.server);
  }
  co_return outcome.ok();
}

Subscriptions::Subscriptions(std::vector<runtime::Shard*> shards) : shards_(std::move(shards)) {
  for (const runtime::Shard* shard : shards_)
    replicas_.resize(std::max(replicas_.size(), shard->index() + 1));
}

Subscriptions::Replica& Subscriptions::here() {
  return replicas_[runtime::Shard::current().index()];
}
const Subscriptions::Replica& Subscriptions::here() const {
  return replicas_[runtime::Shard::current().index()];
}

const WatchedSet* Subscriptions::of(const Session& session) const {
  const auto found = here().find(&session);
  return found == here().end() ? nullptr : &found->second;
}

WatchedSet Subscriptions::forget(const Session& session) {
  auto node = here().extract(&session);
  return node.empty() ? WatchedSet() : std::move(node.mapped());
}

Subscriptions::Added Subscriptions::would_add(const Session& session, const std::string& key,
                                              std::size_t limit) const {
  if (session.live.ended.load(std::memory_order_relaxed)) return Added::ended;
  const WatchedSet* const has = of(session);
  if (has && has->count(key) != 0) return Added::known;
  return (has ? has->size() : 0) < limit ? Added::added : Added::full;
}

Subscriptions::Added Subscriptions::add_here(const Session& session, const Watched& watched,
                                             std::size_t limit) {
  const Added verdict = would_add(session, watched.key(), limit);
  if (verdict == Added::added) here()[&session].emplace(watched.key(), watched);
  return verdict;
}

std::optional<Watched> Subscriptions::remove_here(const Session& session, const std::string& key) {
  const auto found = here().find(&session);
  if (found == here().end()) return std::nullopt;
  auto node = found->second.extract(key);
  if (found->second.empty()) here().erase(found);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

Task<bool> Subscriptions::add_there(const Session& session, const Watched& watched) {
  // One that ended meanwhile has been, or is about to be, forgotten here.
  if (!session.live.ended.load(std::memory_order_relaxed)) {
    here()[&session].emplace(watched.key(), watched);
  }
  co_return true;
}

Task<bool> Subscriptions::remove_there(const Session& session, const std::string& key) {
  remove_here(session, key);
  co_return true;
}

// On the first shard at once; the others hear of changes in the order in which they were made.
Task<Subscriptions::Added> Subscriptions::add_everywhere(const Session& session,
                                                         const Watched& watched,
                                                         std::size_t limit) {
  const Added verdict = add_here(session, watched, limit);
  if (verdict != Added::added) co_return verdict;
  for (std::size_t i = 1; i < shards_.size(); ++i) {
    const std::function<Task<bool>()> there = [this, &session, &watched] {
      return add_there(session, watched);
    };
    co_await runtime::run_on<bool>(*shards_[i], there);
  }
  co_return verdict;
}

Task<std::optional<Watched>> Subscriptions::remove_everywhere(const Session& session,
                                                              std::string key) {
  std::optional<Watched> removed = remove_here(session, key);
  for (std::size_t i = 1; i < shards_.size() && removed; ++i) {
    const std::function<Task<bool>()> there = [this, &session, &key] {
      return remove_there(session, key);
    };
    co_await runtime::run_on<bool>(*shards_[i], there);
  }
  co_return removed;
}

Task<Subscriptions::Added> Subscriptions::add(const Session& session, Watched watched,
                                              std::size_t limit) {
  const std::function<Task<Added>()> first = [this, &session, &watched, limit] {
    return add_everywhere(session, watched, limit);
  };
  co_return co_await runtime::run_on<Added>(*shards_.front(), first);
}

Task<std::optional<Watched>> Subscriptions::remove(const Session& session, std::string key) {
  const std::function<Task<std::optional<Watched>>()> first = [this, &session, &key] {
    return remove_everywhere(session, key);
  };
  co_return co_await runtime::run_on<std::optional<Watched>>(*shards_.front(), first);
}

// --- Over a restart of the daemon

std::string Subscriptions::listed(const Session& session) const {
  const WatchedSet* const set = of(session);
  if (!set || set->empty()) return {};
  std::string uris;
  for (const auto& [key, watched] : *set) {
    uris += uris.empty() ? '[' : ',';
    json::append_string(uris, watched.shown);
  }
  return uris + "]";
}

Task<void> Subscriptions::restore(SessionPtr session, Watched before,
                                  std::shared_ptr<upstream::Server> now, std::size_t limit,
                                  runtime::TaskGroup& tasks) {
  const Added added = co_await add_everywhere(*session, before, limit);
  if (added != Added::added) co_return;
  tasks.spawn("restore subscription", renew_one(session.get(), std::move(before), std::move(now)));
}

// --- Servers that were replaced

// `on` counts on the first shard alone, where sessions end.
void Subscriptions::renew(const registry::Registry& registry, runtime::TaskGroup& tasks) {
  for (const auto& [session, set] : here()) {
    for (const auto& [key, watched] : set) {
      auto now = server_named(registry, watched.server);
      if (now == watched.on) continue;
      tasks.spawn("renew subscription", renew_one(session, watched, std::move(now)));
    }
  }
}

// The session may have ended meanwhile, or unsubscribed. Its client is told through the news of the
// server that it has missed something. What the server does not agree to is over: the client may
// subscribe again.
Task<void> Subscriptions::renew_one(const Session* session, Watched before,
                                    std::shared_ptr<upstream::Server> now) {
  const bool watched = co_await watch_again(before, now);
  const auto found = here().find(session);
  WatchedSet* const set = found == here().end() ? nullptr : &found->second;
  const auto entry = set ? set->find(before.key()) : WatchedSet::iterator();
  if (!set || entry == set->end() || entry->second.on != before.on) {
    if (watched) now->unwatch(before.watcher, before.uri);
    co_return;
  }
  entry->second.on = now;
  if (watched) {
    now->note_missed(before.watcher, before.uri);
  } else {
    const std::optional<Watched> removed = co_await remove_everywhere(*session, before.key());
    static_cast<void>(removed);
  }
}

}  // namespace mcpx::downstream
