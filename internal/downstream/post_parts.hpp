// The parts of serve_post(), one file each: post.cpp takes a POST in and has what they share,
// post_modern.cpp, post_legacy.cpp and post_batch.cpp serve what it turned out to be.
// Internal to the room. Thread: the exchange's shard.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "downstream/answer.hpp"
#include "downstream/core.hpp"
#include "downstream/dispatch.hpp"
#include "downstream/fields.hpp"
#include "downstream/modern_checks.hpp"
#include "downstream/voice.hpp"
#include "http/server.hpp"
#include "rpc/message.hpp"
#include "upstream/server.hpp"

namespace mcpx::downstream {

// One POST as its parts see it. Lives in serve_post().
struct Post {
  Post(Core& core_in, http::Exchange& exchange_in, std::string_view endpoint_in)
      : core(core_in),
        exchange(exchange_in),
        endpoint(endpoint_in),
        fields(exchange_in.head().fields),
        accepted(accepts(fields)) {}

  Core& core;
  http::Exchange& exchange;
  std::string_view endpoint;
  const http1::Fields& fields;
  Accepts accepted;
};

class CallStream;
// A stream for what is said on the way to the answer of `request_id` (a raw token, or empty); in a
// legacy session (else null) it can be resumed.
std::shared_ptr<CallStream> make_stream(Post& post, const Session* session, json::Raw request_id);

Task<void> refuse(Post& post, json::Raw id, Refusal refusal);
// Answers `request`, with whatever the upstream says on the way.
Task<void> serve_request(Post& post, Request& request);

// Modern: everything about the caller is in the request itself.
Task<void> serve_modern(Post& post, const rpc::Message& message);
Task<void> serve_listen(Post& post, const rpc::Message& message);

// What `initialize` establishes: a session as its message describes it, then with an id.
std::shared_ptr<Session> described_session(const rpc::Message& message, std::string_view endpoint,
                                           std::string_view principal);
struct Opened {
  Opened(SessionPtr session_in, Answer answer_in)
      : session(std::move(session_in)), answer(std::move(answer_in)) {}
  SessionPtr session;  // null: refused, and the answer says why
  Answer answer;
};
Task<Opened> open_session(Core& core, std::shared_ptr<Session> session);

// Legacy: everything about the caller is in its session.
Task<void> serve_initialize(Post& post, const rpc::Message& message);
Task<void> serve_legacy(Post& post, const rpc::Message& message);
// Batches: 2025-03-26 alone has them (basic/transports: "MUST support receiving").
Task<void> serve_batch(Post& post, PaddedBuffer body);

// True for a request that clients of that revision may send.
bool served(mcp::Method method, mcp::Revision revision);
std::string not_found_message(const rpc::Message& message);
void describe_session(Request& request, const Session& session);
// The answer to a request of a session that has no exchange of its own: an element of a batch, or
// a message over HTTP+SSE. It is told and asked meanwhile by `voice`, which may be null; `gone` as
// CallAsker has it. Thread: any.
Task<Answer> answer_in_session(Core& core, const rpc::Message& message, SessionPtr session,
                               std::shared_ptr<Voice> voice, runtime::CancelSource* gone,
                               std::string_view request_id);
// True for a method whose requests go to a server.
bool is_call(mcp::Method method);
// Of an extension that the server of the endpoint may know: passed on to that. What is left of the
// notice besides method and params is the caller's to fill in.
void pass_on(Core& core, std::string_view endpoint, const rpc::Message& notification,
             upstream::ClientNotice notice);
// Does what a notification in a session asks for, and takes a response to where it is waited for.
void note(Core& core, const SessionPtr& session, const rpc::Message& message);

}  // namespace mcpx::downstream
