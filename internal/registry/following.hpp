// Registry::Impl: the servers that the registry follows, and what it has published of them.
// Internal to the room. Thread: the registry's home shard, except the members that are kept by
// shard.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "registry/builder.hpp"
#include "registry/registry.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/timer.hpp"

namespace mcpx::registry {

struct Registry::Impl : std::enable_shared_from_this<Registry::Impl> {
  struct Entry {
    std::uint64_t id = 0;  // a report of a server that is not followed any more finds nobody
    ServerView view;
    upstream::State state = upstream::State::idle;
    bool settled_once = false;
    std::size_t failures = 0;
    bool shown = true;
    // It took the place of another server and is not ready yet: what that one had listed is shown
    // until it has lists itself, or has failed twice. (A program that must be alone cannot start
    // while the one before it runs.) If it is the same server, with other time-outs say, these are
    // its own last good lists: they stay, however often it fails.
    bool inherited = false;
    bool listed = false;    // it has, since then
    std::string digest;     // of its configuration,
    std::string listed_by;  // and of that of the server whose lists are shown
  };
  using Entries = std::vector<Entry>;
  struct Waiting {
    std::string endpoint;
    runtime::OneShot<bool> done;
  };

  Impl(runtime::Shard& home, std::vector<runtime::Shard*> shards, BuildOptions options);

  Entry entry_of(std::shared_ptr<upstream::Server> server);
  void follow(const Entry& entry);
  Entry* find(std::uint64_t id);
  void catalogue_changed(std::uint64_t id, std::shared_ptr<const upstream::Catalogue> catalogue,
                         mcp::ListKind kind);
  void state_changed(std::uint64_t id, upstream::State state);
  void rebuild_soon();
  void rebuild();
  void publish(std::shared_ptr<const Snapshot> snapshot, const std::vector<Change>& changes);
  std::vector<Change> changes_since(const Snapshot& before, const Snapshot& after);
  bool ready(const std::string& endpoint) const;
  static void tell(const std::weak_ptr<Impl>& impl, const std::vector<runtime::Shard*>& shards,
                   const std::shared_ptr<const Updates>& updates);
  void settle_waiting();

  // --- replace.cpp
  Task<void> wait_for_incoming(TimePoint patience);
  void settle_incoming();
  void take_over(std::shared_ptr<const config::Config> config,
                 const std::vector<std::shared_ptr<upstream::Server>>& servers);
  void inherit(Entry& heir) const;
  static bool may_inherit(const Entry& heir);
  void disinherit(Entry& entry);

  runtime::Shard& home;
  std::vector<runtime::Shard*> shards;
  BuildOptions options;
  Entries entries;   // in the order of the configuration
  Entries incoming;  // followed, not shown yet
  std::uint64_t last_id = 0;
  std::set<std::pair<std::string, mcp::ListKind>> announced;  // by pass-through endpoint
  std::set<std::string> compared;  // pass-through endpoints to announce if their lists differ
  std::shared_ptr<const Snapshot> newest;
  std::vector<std::shared_ptr<const Snapshot>> views;  // by shard, each used only there
  std::vector<std::vector<std::function<void(const Change&)>>> callbacks;          // likewise
  std::vector<std::vector<std::function<void(const Updates&)>>> update_callbacks;  // likewise
  std::vector<std::vector<std::function<void()>>> replaced_callbacks;              // likewise
  std::vector<std::shared_ptr<Waiting>> waiting;
  std::shared_ptr<runtime::OneShot<bool>> arrival;  // while replace() waits for `incoming`
  bool hurried = false;
  TimePoint stragglers_until = kNever;
  runtime::Watchdog rebuild_alarm, stragglers_alarm;
};

inline bool settled(upstream::State state) {
  using upstream::State;
  return state == State::ready || state == State::failed || state == State::disabled ||
         state == State::stopped;
}
// True if the lists of that kind are not the same; how long they may be kept does not count.
bool lists_differ(const Endpoint& a, const Endpoint& b, mcp::ListKind kind);
// The kinds that clients are told of: resources stand for their templates and for skills too.
inline constexpr mcp::ListKind kTold[] = {mcp::ListKind::tools, mcp::ListKind::prompts,
                                          mcp::ListKind::resources};

}  // namespace mcpx::registry
