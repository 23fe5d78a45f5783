// KeptSessions: what the store knows of legacy sessions, those of an earlier daemon included, which
// sleep here until a client names one (case C21).
//
// Ids are not kept: a row is found by the digest of the id that a request brings. A store that is
// slow or broken costs a session its restart, never a client its answer.
// Thread: put(), forget() and settle() any shard; the rest the first shard.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "downstream/session.hpp"
#include "store/store.hpp"

namespace mcpx::downstream {

class KeptSessions {
 public:
  // What a session has subscribed to: a raw array, or empty. Any shard; may be empty itself.
  using Listed = std::function<std::string(const Session&)>;

  KeptSessions(store::Store& store, Listed listed) : store_(store), listed_(std::move(listed)) {}
  KeptSessions(const KeptSessions&) = delete;
  KeptSessions& operator=(const KeptSessions&) = delete;

  // Reads those that are not idle for too long (0: all), at most `limit`.
  Task<void> load(Milliseconds idle, std::size_t limit);
  std::size_t asleep() const { return rows_.size(); }
  struct Woken {
    std::shared_ptr<Session> session;  // null: there is none
    std::string subscriptions;         // raw array of URIs, or empty
  };
  // The session of that id, which sleeps no longer.
  Woken take(const std::string& id);
  // Ends the sleep of those that are idle for too long.
  void expire(Milliseconds idle);

  // Of one that is new or changed. Waits for the disk, but not long.
  Task<void> put(const Session& session);
  void forget(const Session& session);
  Task<void> settle();  // waits in the same way until what was said before is on it
  void used(const std::vector<SessionPtr>& sessions);

 private:
  store::Store& store_;
  Listed listed_;
  std::unordered_map<std::string, store::SessionRow> rows_;  // by key
};

}  // namespace mcpx::downstream
