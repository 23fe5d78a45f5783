// resources/subscribe and resources/unsubscribe of a legacy session. Thread: the request's shard.
#pragma once

#include "downstream/dispatch.hpp"

namespace mcpx::downstream {

Task<Answer> subscribe(Request& request);
Task<Answer> unsubscribe(Request& request);
// The session is over, on the calling shard; called on each.
void end_subscriptions(Core& core, const Session& session);

}  // namespace mcpx::downstream
