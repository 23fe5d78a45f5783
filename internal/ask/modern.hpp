// One request of a modern client: a call that may be asked something on the way, or a retry that
// goes on with one (2026-07-28 basic/patterns/mrtr). call_modern() is the way in.
//
// What a legacy server asks parks the call at the Desk. What a modern server asks passes under its
// own keys, its state inside ours, and nothing waits: the retry may come to another process that
// has the key. Thread: the request's shard.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "ask/desk.hpp"
#include "ask/rounds.hpp"
#include "ask/state.hpp"
#include "call/call.hpp"
#include "config/config.hpp"
#include "upstream/server.hpp"

namespace mcpx::store {
class Store;
}

namespace mcpx::ask {

// The request, from the call's point of view.
struct Modern {
  Modern(upstream::Server& server_in, const call::Call& call_in)
      : server(server_in), call(call_in) {}
  upstream::Server& server;
  const call::Call& call;
  std::shared_ptr<const void> holds;  // keeps the server there
  std::string_view endpoint;
  bool names_server = false;  // in the message of a question
  config::Ask limits;
  // Asked what the client cannot be, if that is among `otherwise_askable`, which the call declares
  // to a modern server too; may be null.
  std::shared_ptr<call::Asker> otherwise;
  mcp::Askable otherwise_askable = 0;
  BeforeRound before_otherwise;  // see answer_beside()
  // The call as it is to be made once more after such an outcome; none: that is its answer. May be
  // null.
  std::function<std::optional<call::Call>(const call::Call& made, const call::Outcome& outcome)>
      again;
  const States* states = nullptr;
  store::Store* store = nullptr;  // where it is kept which states were used; null: nowhere
  std::span<Desk* const> desks;   // by shard index; null where there is none
};

// False where no question can come up on the way: call_modern() would be server.call().
bool may_ask(const call::Call& call);

// What server.call() came to where may_ask() is false: a modern server may still want to be called
// again, with its state and no answers. To be done when outcome.needs_input.
call::Outcome with_own_state(const Modern& request, call::Outcome outcome);

// Like server.call(). Errors: ask.state_altered, ask.state_foreign, ask.state_expired,
// ask.state_used, ask.given_up (all -32602).
Task<call::Outcome> call_modern(const Modern& request);

}  // namespace mcpx::ask
