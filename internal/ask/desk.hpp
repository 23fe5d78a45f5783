// Desk: the calls of modern clients that may be asked something, on one shard, from their first
// request over their retries to the outcome. call_modern() is the way in.
//
// A call that waits for a retry is parked here; its requestState is good for one retry. Bounded in
// number; what nobody comes back for ends with `ask.state_ttl`. Thread: home shard, except
// call_modern(), which any request awaits on its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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
    bool again = false;                    // else: the call is to be made anew
  };
  // A call that begins. Its id is for cancel().
  std::uint64_t begin(std::shared_ptr<const void> holds, upstream::Server& server,
                      const call::Call& call, std::string_view binding, Parked::Bounds bounds,
                      Milliseconds state_ttl);
  bool full() const { return calls_.size() >= kAtMost; }
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

// How long a question waits for its answer, how often a call may ask, and for how long a
// requestState is good.
inline constexpr Milliseconds kQuestionTimeout{300'000};
inline constexpr std::size_t kRounds = 8;
inline constexpr Milliseconds kStateLife{600'000};

// One request of a modern client, from the call's point of view.
struct Modern {
  Modern(upstream::Server& server_in, const call::Call& call_in)
      : server(server_in), call(call_in) {}
  upstream::Server& server;
  const call::Call& call;
  std::shared_ptr<const void> holds;  // keeps the server there
  std::string_view endpoint;
  bool names_server = false;  // in the message of a question
  std::size_t rounds = kRounds;
  Milliseconds timeout = kQuestionTimeout, state_ttl = kStateLife;
  const States* states = nullptr;
  std::span<Desk* const> desks;  // by shard index; null where there is none
};

// False where no question can come up on the way: call_modern() would be server.call().
bool may_ask(const call::Call& call);

// -32042 of 2025-11-25 for a modern client that was not asked for the URLs instead.
void translate_urls(call::Outcome& outcome);

// Like server.call(). What a legacy server asks on the way becomes input_required, and the retry
// with its answers goes on where that stopped; what a modern server asks passes as it is. Errors:
// ask.state_altered, ask.state_foreign, ask.state_expired, ask.state_used (all -32602).
Task<call::Outcome> call_modern(const Modern& request);

}  // namespace mcpx::ask
