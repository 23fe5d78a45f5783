// Completions: clients of 2025-11-25 hear when the user is done with what a question in URL mode
// sent them to, however the question reached them.
//
// Thread: any; what is told goes to where the session's stream is.
#pragma once

#include <string>

#include "downstream/core.hpp"
#include "downstream/session.hpp"
#include "json/json.hpp"
#include "upstream/server.hpp"

namespace mcpx::downstream {

// A question of `server` that the session was asked; nothing, unless it is one that says an id.
void expect_completion(Core& core, upstream::Server& server, const SessionPtr& session,
                       json::Raw question);
// The same for all of an error -32042.
void expect_completions(Core& core, upstream::Server& server, const SessionPtr& session,
                        json::Raw error);

}  // namespace mcpx::downstream
