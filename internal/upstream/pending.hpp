// Pending: the requests a stdio link has sent and not seen answered, by our own id.
//
// Each is answered once: by a reply, by its deadline (one Watchdog for all, style.md C5), by its
// caller's cancel, or all together when the link is lost. Owned by its link. Thread: home shard
// only.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "rpc/message.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/shard.hpp"
#include "runtime/timer.hpp"
#include "upstream/link.hpp"
#include "upstream/relay.hpp"

namespace mcpx::upstream {

class Pending {
 public:
  // Called with the id of a request whose deadline passed, before it is answered with
  // upstream.timeout: the place to tell the server.
  using OnTimeout = std::function<void(rpc::Number)>;

  Pending(runtime::Shard& shard, std::string server, OnTimeout on_timeout);

  // Registers a request; `relay` (may be null, outlives the wait) passes on what the server says
  // of it meanwhile, and is finished before the answer.
  rpc::Number add(TimePoint deadline, Relay* relay);
  // Waits for the answer of a registered request; awaited exactly once per add().
  Task<Reply> wait(rpc::Number id);

  bool answer(rpc::Number id, Reply reply);  // false: unknown, late or answered already
  void answer_all(const Error& error);
  // Gives a request at least until then.
  void extend(rpc::Number id, TimePoint until);
  // Takes over what its relay says, earlier or later, after that was held or went on.
  void follow_relay(rpc::Number id);
  // An id for a request whose answer nobody waits for.
  rpc::Number unawaited_id() { return ++last_id_; }
  Relay* relay_of(rpc::Number id) const;
  // That of the only call in flight, or null when there is none or several: whom a message without
  // an address may be for. Never a guess.
  Relay* only_relay() const;
  rpc::Number only_call() const;    // the id that goes with it; 0: none
  rpc::Number oldest_call() const;  // 0: none
  // The one that waits for the result of the task which a question with these params names
  // (2025-11-25 basic/utilities/tasks, "Associating Task-Related Messages"); 0: it names none, or
  // nobody waits.
  rpc::Number call_of_task(json::Raw params) const;
  std::size_t calls() const { return calls_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    TimePoint deadline;
    Relay* relay;
    runtime::OneShot<Reply> reply;
  };
  static bool settle(Entry& entry, Reply reply);
  void sweep();

  std::string server_;  // its name, for messages
  OnTimeout on_timeout_;
  rpc::Number last_id_ = 0;
  std::unordered_map<rpc::Number, std::unique_ptr<Entry>> entries_;
  std::size_t calls_ = 0;
  runtime::Watchdog watchdog_;
};

}  // namespace mcpx::upstream
