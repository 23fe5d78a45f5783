// Session: what a legacy `initialize` established. SessionDirectory: all of them, on every shard.
//
// A session is replicated so that looking one up needs no hop: creating and ending one is decided
// on the first shard and done on all of them before it is answered. Bounded by limits.sessions:
// when full, an idle session makes room. With a store, sessions outlive the
// daemon. Thread: find() the calling shard's replica; the rest any shard, except where they say.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/rate.hpp"
#include "base/result.hpp"
#include "mcp/asking.hpp"
#include "mcp/revision.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"
#include "runtime/timer.hpp"

namespace mcpx::store {
class Store;
}

namespace mcpx::downstream {

class KeptSessions;

std::string random_id();  // 128 bits from the kernel in hexadecimal: not guessable

struct Session : std::enable_shared_from_this<Session> {
  // Before logging/setLevel the server decides what it sends (2025-11-25 server/utilities/logging).
  static constexpr std::uint8_t kNoLevel = 255;

  std::string id;        // 32 hex digits from the kernel's random source
  std::string endpoint;  // "" is /mcp
  // Whose it is: the name of the token it was opened with, empty without one. Nobody else finds it.
  std::string principal;
  mcp::Revision revision = mcp::kLatestLegacy;
  std::string client_info;          // raw object, or empty
  std::string client_capabilities;  // raw object
  mcp::Askable askable = 0;         // of them; set by describe()
  std::string extensions;           // of them, those its endpoint carries: raw map, or empty
  bool apps = false;                // of them, whether it shows interfaces of MCP Apps
  bool logs = false;                // the logging capability was advertised to it
  bool kept = true;                 // in the store; false: it ends with its connection

  // What changes during its life, touched from every shard, hence atomic; nothing here orders
  // anything else.
  struct Live {
    std::atomic<Clock::rep> last_used{0};
    std::atomic<std::uint32_t> uses{0};             // requests and streams under way
    std::atomic<std::uint8_t> log_level{kNoLevel};  // index into the level names
    std::atomic<std::uint64_t> stream{0};           // the GET stream that gets its notifications
    std::atomic<bool> ended{false};
    std::atomic<bool> finishes{false};  // what it has under way when it ends may finish
    std::atomic<std::size_t> replay_events{0}, replay_bytes{0};  // kept of its streams
    Rate questions;                                              // that it was asked
  };
  mutable Live live;

  // Sets what follows from what the client has said.
  void describe();

  // The eight RFC 5424 levels of MCP by index, "debug" first; empty for kNoLevel.
  static std::string_view level_name(std::uint8_t index);
  static std::optional<std::uint8_t> level_index(std::string_view name);
};
using SessionPtr = std::shared_ptr<const Session>;

// Marks a session as in use while it lives. Thread: any.
class SessionUse {
 public:
  explicit SessionUse(const Session& session) : session_(session) { touch(+1); }
  ~SessionUse() { touch(-1); }
  SessionUse(const SessionUse&) = delete;
  SessionUse& operator=(const SessionUse&) = delete;

 private:
  void touch(int change) {
    session_.live.uses.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
    session_.live.last_used.store(Clock::now().time_since_epoch().count(),
                                  std::memory_order_relaxed);
  }
  const Session& session_;
};

class SessionDirectory {
 public:
  SessionDirectory(std::vector<runtime::Shard*> shards, std::size_t limit);
  ~SessionDirectory();
  SessionDirectory(const SessionDirectory&) = delete;
  SessionDirectory& operator=(const SessionDirectory&) = delete;

  // At start-up, on the first shard: sessions are kept there from now on, and those of before that
  // are not idle for too long (0: never) are found again.
  Task<void> keep_in(store::Store& store, Milliseconds idle);
  // What a session has subscribed to is kept with it: `listed` says it (a raw array of URIs, or
  // empty; any shard), `woken` is told it when the session is back (first shard). At start-up.
  void keep_subscriptions(std::function<std::string(const Session&)> listed,
                          std::function<Task<void>(SessionPtr, std::string)> woken);

  // `ended` runs on every shard for each session that goes. At start-up.
  void on_end(std::function<void(runtime::Shard&, const Session&)> ended);

  SessionPtr find(std::string_view id) const;
  // Gives the session an id and publishes it. Error: session.limit when every session is in use.
  Task<Result<SessionPtr>> create(std::shared_ptr<Session> session);
  Task<void> end(SessionPtr session);
  // The endpoint is gone: ends its sessions, but not what they have under way. Any shard.
  Task<void> end_all_of(std::string endpoint);
  void set_limit(std::size_t limit) { limit_ = limit; }  // first shard
  // The part of it that is kept is another one now; done when it is kept, or the disk is slow.
  Task<void> changed(SessionPtr session);

  // True if find() may miss a session of an earlier daemon, which wake() then brings back.
  bool asleep() const { return asleep_.load(std::memory_order_relaxed) != 0; }
  Task<void> wake(std::string id);

  // Ends sessions that are idle for longer than `idle` says (0: never), until stop_tending(). First
  // shard.
  Task<void> tend(std::function<Milliseconds()> idle);
  void stop_tending();
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }  // any thread

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Replica = std::unordered_map<std::string, SessionPtr, Hash, std::equal_to<>>;

  Replica& replica_of(const runtime::Shard& shard);
  void apply(runtime::Shard& shard, const SessionPtr& added, const SessionPtr& removed);
  Task<bool> apply_there(runtime::Shard& shard, SessionPtr added, SessionPtr removed);
  Task<bool> apply_everywhere(SessionPtr added, SessionPtr removed);
  Task<bool> admit(SessionPtr session);
  Task<bool> remove(SessionPtr session);
  Task<bool> remove_all_of(std::string endpoint);
  // The least recently used idle one of whoever has the most sessions, and no fewer than
  // `principal` would: who opens them without end loses own ones. Null: nobody has such a session.
  SessionPtr room_for(const std::string& principal) const;
  Task<bool> wake_there(std::string id);
  std::vector<SessionPtr> idle_longer_than(Milliseconds idle) const;
  void note_uses();

  std::vector<runtime::Shard*> shards_;
  std::size_t limit_;
  std::vector<Replica> replicas_;  // by shard index
  std::function<void(runtime::Shard&, const Session&)> ended_;
  std::function<std::string(const Session&)> listed_;
  std::function<Task<void>(SessionPtr, std::string)> woken_;
  std::atomic<std::size_t> size_{0};
  std::unique_ptr<KeptSessions> kept_;
  std::atomic<std::size_t> asleep_{0};
  runtime::Timer tending_;
  TimePoint noted_{};  // when note_uses() was here last
};

}  // namespace mcpx::downstream
