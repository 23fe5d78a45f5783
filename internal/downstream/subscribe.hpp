// resources/subscribe and resources/unsubscribe of a legacy session. Thread: the request's shard.
#pragma once

#include <string>

#include "downstream/dispatch.hpp"

namespace mcpx::downstream {

Task<Answer> subscribe(Request& request);
Task<Answer> unsubscribe(Request& request);
// What a session that is back had subscribed to at an earlier daemon (`uris`: a raw array) holds
// again. First shard.
Task<void> restore_subscriptions(Core& core, SessionPtr session, std::string uris);
// The session is over, on the calling shard; called on each.
void end_subscriptions(Core& core, const Session& session);

}  // namespace mcpx::downstream
