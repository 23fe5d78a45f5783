#include <fmt/core.h>

#include <utility>
#include <vector>

#include "downstream/answer.hpp"
#include "downstream/call_asker.hpp"
#include "downstream/post_parts.hpp"
#include "downstream/render.hpp"
#include "downstream/session_routes.hpp"
#include "log/log.hpp"
#include "upstream/server.hpp"

namespace mcpx::downstream {
namespace {

// The request may be on any shard, so every one is told. A cancellation of something unknown or
// done is ignored.
void cancel_request(Core& core, const SessionPtr& session, const rpc::Message& message) {
  const auto id = json::find(message.params, "requestId");
  if (!id) return;
  const std::string reason = json::find_string(message.params, "reason").value_or("cancelled");
  log::debug("the client cancelled request {}: {}", *id, reason);
  for (runtime::Shard* shard : core.shards) {
    shard->post([owner = core.shared_from_this(), shard, session, raw = std::string(*id), reason] {
      owner->local(*shard).in_flight.cancel(*session, raw, reason);
    });
  }
}

// The answer to a question, for the shard whose id it has. What nobody asked, or asks any more, is
// ignored.
void take_response(Core& core, const SessionPtr& session, const rpc::Message& message) {
  const auto id = parse_question_id(core.mark, message.id);
  if (!id) return log::debug("a response to nothing that was asked was ignored");
  const auto response = message.kind == rpc::Kind::result
                            ? call::Response::of_result(std::string(message.result))
                            : call::Response::of_error(std::string(message.error));
  for (runtime::Shard* shard : core.shards) {
    if (shard->index() != id->shard) continue;
    shard->post([owner = core.shared_from_this(), shard, session, number = id->number, response] {
      owner->local(*shard).asked.take(*session, number, response);
    });
  }
}

// Servers that have an instance for this session alone; the others ask with each call.
void tell_roots_changed(Core& core, const Session& session) {
  const auto snapshot = core.registry.current();
  if (!snapshot || !(session.askable & mcp::kAskRootsChanges)) return;
  for (const auto& [name, endpoint] : snapshot->endpoints) {
    if (endpoint->server && endpoint->config->scope == config::Scope::session) {
      endpoint->server->roots_changed(session.id);
    }
  }
}

upstream::ClientNotice notice_of(const Session& session) {
  upstream::ClientNotice notice;
  notice.revision = session.revision;
  notice.session = session.id;
  notice.principal = session.principal;
  notice.extensions = session.extensions;
  notice.askable = session.askable;
  return notice;
}

Task<void> serve_in_session(Post& post, const rpc::Message& message, SessionPtr session) {
  const mcp::Method method = mcp::method_of(message.method);
  if (!served(method, session->revision)) {
    const Answer answer = Answer::error(rpc::kMethodNotFound, not_found_message(message));
    co_return co_await send_answer(post.exchange, post.accepted, message.id, answer, kNoFields);
  }
  SessionUse use(*session);
  // Losing the connection is not a cancellation before 2026-07-28; only the notification is.
  runtime::CancelSource cancel;
  Local& local = post.core.local(post.exchange.shard());
  InFlight::Entry entry(local.in_flight, *session, message.id, cancel);
  Request request(post.core, message, post.endpoint, session->revision, method);
  describe_session(request, *session);
  request.cancel = &cancel;
  request.gone = &post.exchange.gone();
  co_await serve_request(post, request);
}

}  // namespace

void note(Core& core, const SessionPtr& session, const rpc::Message& message) {
  if (message.kind != rpc::Kind::notification) return take_response(core, session, message);
  const auto method = mcp::parse_method(message.method);
  if (method == mcp::Method::notify_cancelled) cancel_request(core, session, message);
  if (method == mcp::Method::notify_roots_list_changed) tell_roots_changed(core, *session);
  if (!method) pass_on(core, session->endpoint, message, notice_of(*session));
}

bool served(mcp::Method method, mcp::Revision revision) {
  return mcp::exists_in(method, revision) && mcp::info(method).from_client &&
         !mcp::info(method).notification;
}

void describe_session(Request& request, const Session& session) {
  request.session = &session;
  request.principal = session.principal;
  request.progress_token = json::find(request.message.meta, "progressToken").value_or(json::Raw());
  request.client_info = session.client_info;
  request.client_capabilities = session.client_capabilities;
  request.askable = session.askable;
  if (session.logs) request.log_level = Session::level_name(session.live.log_level.load());
}

std::string not_found_message(const rpc::Message& message) {
  return fmt::format("Method not found: {}", message.method);
}

Task<Answer> answer_in_session(Core& core, const rpc::Message& message, SessionPtr session,
                               std::shared_ptr<Voice> voice, runtime::CancelSource* gone,
                               std::string_view request_id) {
  const mcp::Method method = mcp::method_of(message.method);
  if (!served(method, session->revision)) {
    co_return Answer::error(rpc::kMethodNotFound, not_found_message(message));
  }
  SessionUse use(*session);
  runtime::CancelSource cancel;
  InFlight::Entry entry(core.local(runtime::Shard::current()).in_flight, *session, message.id,
                        cancel);
  Request request(core, message, session->endpoint, session->revision, method);
  describe_session(request, *session);
  request.cancel = &cancel;
  request.request_id = request_id;
  std::shared_ptr<CallAsker> asker;
  if (voice && request.askable != 0 && is_call(method)) {
    asker = std::make_shared<CallAsker>(core, session, voice, gone);
  }
  request.asker = asker;
  request.sink = std::move(voice);
  Answer answer = co_await dispatch(request);
  if (asker) asker->finish();
  co_return answer;
}

std::shared_ptr<Session> described_session(const rpc::Message& message, std::string_view endpoint,
                                           std::string_view principal) {
  auto session = std::make_shared<Session>();
  session->endpoint = endpoint;
  session->principal = principal;
  session->revision = negotiate(message.params);
  session->client_info = json::find(message.params, "clientInfo").value_or(json::Raw());
  session->client_capabilities = json::find(message.params, "capabilities").value_or("{}");
  return session;
}

Task<Opened> open_session(Core& core, std::shared_ptr<Session> session) {
  EndpointPtr endpoint = endpoint_now(core, session->endpoint);
  // A client reads the capabilities once and for all, so those of one server are worth a short
  // wait; those of /mcp are always the same.
  const bool known = endpoint && (endpoint->ready || endpoint->aggregate());
  if (!known) {
    std::string name = session->endpoint;
    endpoint = co_await endpoint_when_ready(core, std::move(name));
  }
  session->logs = endpoint && json::find(endpoint->capabilities_legacy, "logging").has_value();
  const mcp::Revision revision = session->revision;
  const auto created = co_await core.sessions.create(std::move(session));
  if (created.has_error()) {
    json::ObjectBuilder data;
    data.string("code", created.error().code).string("remedy", created.error().remedy);
    Answer refusal = Answer::error(rpc::kInternalError, created.error().text(), data.take(), 503);
    co_return Opened(nullptr, std::move(refusal));
  }
  Answer answer = Answer::result(initialize_result(endpoint.get(), revision, core.server_info));
  co_return Opened(*created, std::move(answer));
}

Task<void> serve_initialize(Post& post, const rpc::Message& message) {
  auto session = described_session(message, post.endpoint, post.exchange.principal());
  const Opened opened = co_await open_session(post.core, std::move(session));
  std::vector<http1::Field> fields;
  if (opened.session) fields.emplace_back(kSessionField, opened.session->id);
  co_await send_answer(post.exchange, post.accepted, message.id, opened.answer, fields);
}

Task<void> serve_legacy(Post& post, const rpc::Message& message) {
  auto session = session_of(post.core, post.exchange, post.endpoint);
  if (session.has_error()) return refuse(post, message.id, session.error());
  if (message.kind == rpc::Kind::request) {
    return serve_in_session(post, message, *std::move(session));
  }
  SessionUse use(**session);
  note(post.core, *session, message);
  return send_empty(post.exchange, 202);
}

}  // namespace mcpx::downstream
