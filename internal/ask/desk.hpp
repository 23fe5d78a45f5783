// Desk: the calls of modern clients to legacy servers that may ask them something, on one shard,
// from their first request over their retries to the outcome.
//
// A call that waits for a retry is parked here; its requestState is good for one retry. Bounded in
// number: for one more the one that waits longest ends. What nobody comes back for ends with
// `ask.state_ttl`. Thread: home shard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ask/parked.hpp"
#include "ask/state.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"

namespace mcpx::ask {

class Desk {
 public:
  static constexpr std::size_t kAtMost = 1024;  // calls at once

  Desk(runtime::Shard& shard, const States& states);

  // How a request goes on.
  struct Step {
    Step() = default;
    std::optional<call::Outcome> outcome;  // what it is answered with
    bool asks = false;                     // which is a question of the call that is parked
    bool again = false;                    // without an outcome: the call is to be made anew
  };
  // A call that begins. Its id is for cancel().
  std::uint64_t begin(std::shared_ptr<const void> holds, upstream::Server& server,
                      const call::Call& call, std::string_view binding, Parked::Bounds bounds,
                      Milliseconds state_ttl);
  // For one more, if need be in the place of one that waits for its retry.
  bool has_room();
  // The retry that a ticket allows, once. Error: ask.state_used.
  Result<void> reopen(const Ticket& ticket);
  // The request waits for what the call comes to; `responses` are its answers.
  Task<Step> wait(std::uint64_t id, Listener listener, std::string responses);
  void cancel(std::uint64_t id, const std::string& reason);

  runtime::Shard& shard() const { return shard_; }
  std::size_t size() const { return calls_.size(); }
  void shut_down();   // whatever waits for a retry ends
  Task<void> join();  // ends everything

 private:
  struct Held;
  using HeldPtr = std::shared_ptr<Held>;
  std::string state_for(Held& held);
  call::Outcome needs_input(Held& held, std::string_view requests);
  std::optional<call::Outcome> url_questions(Held& held, const call::Outcome& outcome,
                                             mcp::Askable askable);
  void sweep();

  runtime::Shard& shard_;
  const States& states_;
  std::uint64_t last_ = 0;
  bool closing_ = false;
  std::unordered_map<std::uint64_t, HeldPtr> calls_;
  runtime::Watchdog alarm_;
  runtime::TaskGroup tasks_;
};

}  // namespace mcpx::ask
