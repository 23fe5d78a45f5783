// Rounds: a call of a legacy client to a modern server that needs input. What the server asks in
// its result is asked on the wire, all at once, and the call is made again with the answers and the
// server's requestState, byte for byte (2026-07-28 basic/patterns/mrtr).
//
// Thread: the caller's shard.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "call/call.hpp"
#include "runtime/task.hpp"
#include "upstream/server.hpp"

namespace mcpx::ask {

// True if what came back is no answer to a legacy caller, but questions to it.
bool needs_input(const call::Outcome& outcome);

// Takes such an outcome of `call` to an answer: the caller is asked and the call made again, for as
// many rounds. Errors: those of the server; ask.rounds when it asks on and on; what the client
// answered to a question that has no other refusal.
// `before_round` is called with the server's result whenever all of it is about to be answered.
using BeforeRound = std::function<void(const call::Outcome& outcome)>;
Task<void> answer_in_rounds(upstream::Server& server, call::Call& call, call::Outcome& outcome,
                            std::size_t rounds, BeforeRound before_round = nullptr);

// The same for what the caller of a modern client's `call` cannot be asked itself, but the asker in
// `call` can be: `theirs` is what is left to the client. Ends with an answer, or with a result that
// asks the client something. The answers to what else that result asks come back, as a raw object;
// empty: it asks nothing else.
Task<std::string> answer_beside(upstream::Server& server, call::Call& call, call::Outcome& outcome,
                                mcp::Askable theirs, std::size_t rounds,
                                BeforeRound before_round = nullptr);

}  // namespace mcpx::ask
