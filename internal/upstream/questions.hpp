// Questions: what a server asks of mcpx as its client, and what mcpx declares that it may ask.
//
// Ping and, where roots are configured, roots/list are answered here, for both links. What belongs
// to a call is passed on to its caller (Asking); everything else is refused at once, so that a
// server never waits for nobody. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "mcp/asking.hpp"
#include "rpc/message.hpp"

namespace mcpx::upstream {

// What a legacy server may ask on behalf of a caller with these abilities: roots of the
// configuration stand before the caller's own; that those change is said only in a session of its
// own (`scope: session`).
mcp::Askable declared_for(const config::Server& config, mcp::Askable caller);

// What a server says when the user is done with what a question in URL mode sent them to.
inline constexpr std::string_view kElicitationComplete = "notifications/elicitation/complete";

// True for what is asked on behalf of a call: elicitation, sampling, roots nobody configured. Such
// a question belongs to one caller, which a shared stdio session cannot name (leases).
bool belongs_to_a_call(std::string_view method, const std::vector<config::Root>& roots);

// The raw result that lists them.
std::string roots_result(const std::vector<config::Root>& roots);

// True for a question that a client with these abilities may be asked.
bool was_declared(const rpc::Message& request, mcp::Askable declared);
// The JSON-RPC response to a question whose caller is not known.
std::string unattributed_answer(const rpc::Message& request, std::size_t calls);
// The JSON-RPC response to any other request of a server.
void append_answer(std::string& out, const rpc::Message& request,
                   const std::vector<config::Root>& roots);

}  // namespace mcpx::upstream
