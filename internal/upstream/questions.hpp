// Questions: what a server asks of mcpx as its client, and what mcpx declares that it may ask.
//
// The one place where both links get their answers from. Ping and, where roots are configured,
// roots/list are answered here; every other question is refused at once, so that a server never
// waits for nobody. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "rpc/message.hpp"

namespace mcpx::upstream {

// The raw ClientCapabilities object that mcpx declares to a server with these roots.
std::string declared_capabilities(const std::vector<config::Root>& roots);

// True for what is asked on behalf of a call: elicitation, sampling, roots nobody configured. Such
// a question belongs to one caller, which a shared stdio session cannot name (leases).
bool belongs_to_a_call(std::string_view method, const std::vector<config::Root>& roots);

// The JSON-RPC response to a server's request.
void append_answer(std::string& out, const rpc::Message& request,
                   const std::vector<config::Root>& roots);

}  // namespace mcpx::upstream
