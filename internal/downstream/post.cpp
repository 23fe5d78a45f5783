#include "downstream/post.hpp"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "downstream/answer.hpp"
#include "downstream/call_stream.hpp"
#include "downstream/dispatch.hpp"
#include "downstream/fields.hpp"
#include "downstream/modern_checks.hpp"
#include "downstream/render.hpp"
#include "downstream/session_routes.hpp"
#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "rpc/message.hpp"

namespace mcpx::downstream {
namespace {

// Elements of one batch; each is served in turn.
constexpr std::size_t kBatchLimit = 256;

// One POST as its parts below see it. Lives in serve_post().
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

Task<void> refuse(Post& post, json::Raw id, const Refusal& refusal) {
  log::debug("{}: refused with {}: {}", post.exchange.request_id(), refusal.status,
             refusal.message);
  co_await send_error(post.exchange, refusal.status, id, refusal.code, refusal.message,
                      refusal.data);
}

bool is_call(mcp::Method method) {
  return mcp::info(method).routing != mcp::Routing::local;
}

// The sink for what an upstream says meanwhile; null when the caller asked for nothing it can get.
std::shared_ptr<CallStream> stream_for(Post& post, const Request& request) {
  if (!post.accepted.events || !is_call(request.method)) return nullptr;
  const bool wants_progress = !request.progress_token.empty();
  const bool wants_logs = request.session ? request.session->logs : !request.log_level.empty();
  if (!wants_progress && !wants_logs) return nullptr;
  Local& local = post.core.local(post.exchange.shard());
  return std::make_shared<CallStream>(post.exchange, local.tasks);
}

// Answers `request`, with whatever the upstream says on the way.
Task<void> serve_request(Post& post, Request& request) {
  const auto stream = stream_for(post, request);
  request.sink = stream;
  request.request_id = post.exchange.request_id();
  const Answer answer = co_await dispatch(request);
  bool streaming = false;
  if (stream) streaming = co_await stream->finish();
  const json::Raw id = request.message.id;
  log::debug("{}: {} on '{}' answered{}", request.request_id, request.message.method,
             request.endpoint, answer.is_error() ? " with an error" : "");
  if (streaming) {
    co_await send_last_event(post.exchange, id, answer);
  } else {
    co_await send_answer(post.exchange, post.accepted, id, answer, kNoFields);
  }
}

// --- Modern: everything about the caller is in the request itself.

Task<void> serve_listen(Post& post, const rpc::Message& message) {
  const auto filter = json::find(message.params, "notifications");
  if (!filter || !json::is_object(*filter)) {
    const Refusal refusal(400, rpc::kInvalidParams,
                          "Invalid params: 'notifications' must be an object");
    co_return co_await refuse(post, message.id, refusal);
  }
  if (!post.accepted.events) {
    const Refusal refusal(406, rpc::kInvalidRequest,
                          "Not Acceptable: the client must accept text/event-stream");
    co_return co_await refuse(post, message.id, refusal);
  }
  std::string id(message.id);
  std::string endpoint(post.endpoint);
  const ChangeSet wanted = wanted_changes(*filter);
  ChangeStreams& streams = post.core.local(post.exchange.shard()).streams;
  co_await streams.serve_listen(post.exchange, std::move(id), std::move(endpoint), wanted);
}

// Arguments that the tool's schema asks to see mirrored must be, and say the same.
std::optional<Refusal> check_params(Post& post, const rpc::Message& message) {
  const EndpointPtr endpoint = endpoint_now(post.core, post.endpoint);
  const auto name = json::decode_string(message.name);
  if (!endpoint || !name) return std::nullopt;
  ParamHeaders& headers = post.core.local(post.exchange.shard()).param_headers;
  const auto* params = headers.find(endpoint, *name);
  if (!params) return std::nullopt;
  const json::Raw arguments = json::find(message.params, "arguments").value_or("{}");
  const auto wrong = mismatched_param(post.fields, *params, arguments);
  if (!wrong) return std::nullopt;
  return Refusal(400, mcp::kHeaderMismatch, "Header mismatch: " + *wrong);
}

Task<void> serve_modern(Post& post, const rpc::Message& message) {
  if (message.kind == rpc::Kind::notification) co_return co_await send_empty(post.exchange, 202);
  if (message.kind != rpc::Kind::request) {
    const Refusal refusal(400, rpc::kInvalidRequest,
                          "Invalid Request: 2026-07-28 has no responses from clients");
    co_return co_await refuse(post, json::Raw(), refusal);
  }
  const auto checked = check_modern(post.fields, message);
  if (checked.has_error()) co_return co_await refuse(post, message.id, checked.error());
  if (checked->method == mcp::Method::tools_call) {
    if (const auto refusal = check_params(post, message)) {
      co_return co_await refuse(post, message.id, *refusal);
    }
  }
  if (checked->method == mcp::Method::subscriptions_listen) {
    co_return co_await serve_listen(post, message);
  }
  Request request(post.core, message, post.endpoint, checked->revision, checked->method);
  request.client_info = checked->meta.client_info;
  request.client_capabilities = checked->meta.client_capabilities;
  request.log_level = json::decode_string(checked->meta.log_level).value_or("");
  request.progress_token = checked->meta.progress_token;
  // A client that closes the response cancels (basic/transports/streamable-http, "Cancellation").
  request.cancel = &post.exchange.gone();
  co_await serve_request(post, request);
}

// --- Legacy: everything about the caller is in its session.

Task<void> serve_initialize(Post& post, const rpc::Message& message) {
  EndpointPtr endpoint = endpoint_now(post.core, post.endpoint);
  // A client reads the capabilities once and for all, so those of one server are worth a short
  // wait; those of /mcp are always the same.
  const bool known = endpoint && (endpoint->ready || endpoint->aggregate());
  if (!known) {
    std::string name(post.endpoint);
    endpoint = co_await endpoint_when_ready(post.core, std::move(name));
  }
  auto session = std::make_shared<Session>();
  session->endpoint = post.endpoint;
  session->revision = negotiate(message.params);
  session->client_info = json::find(message.params, "clientInfo").value_or(json::Raw());
  session->client_capabilities = json::find(message.params, "capabilities").value_or("{}");
  session->logs = endpoint && json::find(endpoint->capabilities_legacy, "logging").has_value();
  const mcp::Revision revision = session->revision;
  const auto created = co_await post.core.sessions.create(std::move(session));
  if (created.has_error()) {
    json::ObjectBuilder data;
    data.string("code", created.error().code).string("remedy", created.error().remedy);
    const Refusal refusal(503, rpc::kInternalError, created.error().text(), data.take());
    co_return co_await refuse(post, message.id, refusal);
  }
  const Answer answer =
      Answer::result(initialize_result(endpoint.get(), revision, post.core.server_info));
  const std::array<http1::Field, 1> fields = {http1::Field{kSessionField, (*created)->id}};
  co_await send_answer(post.exchange, post.accepted, message.id, answer, fields);
}

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

void note(Core& core, const SessionPtr& session, const rpc::Message& message) {
  if (message.kind != rpc::Kind::notification) return;
  if (mcp::parse_method(message.method) == mcp::Method::notify_cancelled) {
    cancel_request(core, session, message);
  }
}

bool served(std::optional<mcp::Method> method, mcp::Revision revision) {
  return method && mcp::exists_in(*method, revision) && mcp::info(*method).from_client &&
         !mcp::info(*method).notification;
}

void describe_session(Request& request, const Session& session) {
  request.session = &session;
  request.progress_token = json::find(request.message.meta, "progressToken").value_or(json::Raw());
  request.client_info = session.client_info;
  request.client_capabilities = session.client_capabilities;
  if (session.logs) request.log_level = Session::level_name(session.live.log_level.load());
}

std::string not_found_message(const rpc::Message& message) {
  return fmt::format("Method not found: {}", message.method);
}

Task<void> serve_in_session(Post& post, const rpc::Message& message, const SessionPtr& session) {
  const auto method = mcp::parse_method(message.method);
  if (!served(method, session->revision)) {
    const Answer answer = Answer::error(rpc::kMethodNotFound, not_found_message(message));
    co_return co_await send_answer(post.exchange, post.accepted, message.id, answer, kNoFields);
  }
  SessionUse use(*session);
  // Losing the connection is not a cancellation before 2026-07-28; only the notification is.
  runtime::CancelSource cancel;
  Local& local = post.core.local(post.exchange.shard());
  InFlight::Entry entry(local.in_flight, *session, message.id, cancel);
  Request request(post.core, message, post.endpoint, session->revision, *method);
  describe_session(request, *session);
  request.cancel = &cancel;
  co_await serve_request(post, request);
}

Task<void> serve_legacy(Post& post, const rpc::Message& message) {
  const auto session = session_of(post.core, post.fields, post.endpoint);
  if (session.has_error()) co_return co_await refuse(post, message.id, session.error());
  if (message.kind == rpc::Kind::request) {
    co_return co_await serve_in_session(post, message, *session);
  }
  note(post.core, *session, message);
  co_await send_empty(post.exchange, 202);
}

// --- Batches: 2025-03-26 alone has them (basic/transports: "MUST support receiving").

Task<Answer> answer_in_batch(Post& post, const rpc::Message& message, const SessionPtr& session) {
  const auto method = mcp::parse_method(message.method);
  if (method == mcp::Method::initialize) {
    co_return Answer::error(rpc::kInvalidRequest, "Invalid Request: initialize stands alone");
  }
  if (!served(method, session->revision)) {
    co_return Answer::error(rpc::kMethodNotFound, not_found_message(message));
  }
  runtime::CancelSource cancel;
  Local& local = post.core.local(post.exchange.shard());
  InFlight::Entry entry(local.in_flight, *session, message.id, cancel);
  Request request(post.core, message, post.endpoint, session->revision, *method);
  describe_session(request, *session);
  request.cancel = &cancel;
  request.request_id = post.exchange.request_id();
  co_return co_await dispatch(request);
}

void append_element(std::string& out, std::string_view response) {
  out += out.empty() ? '[' : ',';
  out += response;
}

Task<void> serve_elements(Post& post, std::vector<PaddedBuffer> elements,
                          const SessionPtr& session) {
  SessionUse use(*session);
  const json::Limits limits{post.core.config.limits.json_depth};
  std::string out;
  for (PaddedBuffer& element : elements) {
    const rpc::ParseResult parsed = rpc::parse(std::move(element), limits);
    std::string response;
    if (parsed.has_error()) {
      rpc::append_error(response, parsed.error().id,
                        rpc::error_object(parsed.error().code, parsed.error().message));
    } else if (parsed->kind != rpc::Kind::request) {
      note(post.core, session, *parsed);
      continue;
    } else {
      const Answer answer = co_await answer_in_batch(post, *parsed, session);
      if (answer.is_silence()) continue;
      append_response(response, parsed->id, answer);
    }
    append_element(out, response);
  }
  if (out.empty()) co_return co_await send_empty(post.exchange, 202);
  out += ']';
  co_await send_body(post.exchange, 200, kJson, out, kNoFields);
}

Task<void> serve_batch(Post& post, PaddedBuffer body) {
  const auto session = session_of(post.core, post.fields, post.endpoint);
  const bool allowed =
      session.has_value() && mcp::defines((*session)->revision, mcp::Feature::batches);
  if (!allowed) {
    const Refusal refusal(400, rpc::kInvalidRequest,
                          "Invalid Request: only sessions of 2025-03-26 may send batches");
    co_return co_await refuse(post, json::Raw(), refusal);
  }
  const json::Limits limits{post.core.config.limits.json_depth};
  const auto valid = json::validate(body, limits);
  if (valid.has_error()) {
    const Refusal refusal(400, rpc::kParseError, "Parse error: " + valid.error().message);
    co_return co_await refuse(post, json::Raw(), refusal);
  }
  auto elements = rpc::split_batch(body);
  if (!elements || elements->empty() || elements->size() > kBatchLimit) {
    const Refusal refusal(
        400, rpc::kInvalidRequest,
        fmt::format("Invalid Request: a batch has 1 to {} messages", kBatchLimit));
    co_return co_await refuse(post, json::Raw(), refusal);
  }
  co_await serve_elements(post, std::move(*elements), *session);
}

std::optional<Refusal> check_types(const Post& post) {
  if (!is_json(post.fields)) {
    return Refusal(415, rpc::kInvalidRequest,
                   "Unsupported Media Type: Content-Type must be application/json");
  }
  if (!post.accepted.json && !post.accepted.events) {
    return Refusal(406, rpc::kInvalidRequest,
                   "Not Acceptable: the client must accept application/json and "
                   "text/event-stream");
  }
  return std::nullopt;
}

}  // namespace

Task<void> serve_post(Core& core, http::Exchange& exchange, std::string_view endpoint) {
  Post post(core, exchange, endpoint);
  if (const auto refusal = check_types(post)) {
    co_return co_await refuse(post, json::Raw(), *refusal);
  }
  PaddedBuffer body = exchange.take_body();
  if (rpc::is_batch(body.view())) co_return co_await serve_batch(post, std::move(body));
  const json::Limits limits{core.config.limits.json_depth};
  const rpc::ParseResult parsed = rpc::parse(std::move(body), limits);
  if (parsed.has_error()) {
    const rpc::ParseFailure& failure = parsed.error();
    const Refusal refusal(400, failure.code, failure.message);
    co_return co_await refuse(post, failure.id, refusal);
  }
  switch (opening_of(post.fields, *parsed)) {
    case Opening::modern:
      co_return co_await serve_modern(post, *parsed);
    case Opening::initialize:
      co_return co_await serve_initialize(post, *parsed);
    case Opening::legacy:
      co_return co_await serve_legacy(post, *parsed);
  }
}

}  // namespace mcpx::downstream
