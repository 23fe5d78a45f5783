// The stream of a session that belongs to no call: what GET opens, and what HTTP+SSE has anyway.
//
// What is said goes into an EventStream, so that it has ids, and waits for a client that comes back
// with Last-Event-ID; one that does not within five minutes has lost it.
// Thread: the exchange's shard; follow() the stream's.
#pragma once

#include <memory>

#include "downstream/core.hpp"
#include "downstream/event_stream.hpp"
#include "http/server.hpp"

namespace mcpx::downstream {

Task<void> serve_session_stream(Core& core, http::Exchange& exchange, SessionPtr session);

// Puts into `events` what the session is told, until it is closed, the session ends, or the session
// has a newer stream; closes it then.
Task<void> follow(ChangeStreams& streams, SessionPtr session, std::shared_ptr<EventStream> events);

}  // namespace mcpx::downstream
