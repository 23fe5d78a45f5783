// -32042 of a server of 2025-11-25: it does nothing before the user went to some URLs (2025-11-25
// client/elicitation, "URL Mode Elicitation Required Error").
//
// Thread: any; what awaits: the caller's shard.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "call/call.hpp"
#include "json/json.hpp"
#include "runtime/task.hpp"
#include "upstream/server.hpp"

namespace mcpx::ask {

bool asks_for_urls(const call::Outcome& outcome);
// Its elicitations, each a raw object with a url, inside `outcome`.
std::vector<json::Raw> wanted_urls(const call::Outcome& outcome);
// For a modern client that was not asked for the URLs instead.
void translate_urls(call::Outcome& outcome);
call::Outcome not_visited();  // ask.declined

// Has `asker` ask for all of them. True: the user went there, and the call is to be made again;
// else `outcome` says why not, or is what it was where there is nothing to ask for.
Task<bool> urls_visited(const upstream::Server& server, const call::Caller& caller,
                        std::shared_ptr<call::Asker> asker, call::Outcome& outcome);
// Takes such an outcome of `call` to another: its own asker is asked, and the call made again.
Task<void> call_after_visits(upstream::Server& server, const call::Call& call,
                             call::Outcome& outcome, std::size_t rounds);

}  // namespace mcpx::ask
