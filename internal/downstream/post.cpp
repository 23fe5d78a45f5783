#include "downstream/post.hpp"

#include <memory>
#include <utility>

#include "downstream/answer.hpp"
#include "downstream/call_stream.hpp"
#include "downstream/post_parts.hpp"
#include "log/log.hpp"

namespace mcpx::downstream {
namespace {

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

Task<void> refuse(Post& post, json::Raw id, const Refusal& refusal) {
  log::debug("{}: refused with {}: {}", post.exchange.request_id(), refusal.status,
             refusal.message);
  co_await send_error(post.exchange, refusal.status, id, refusal.code, refusal.message,
                      refusal.data);
}

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

Task<void> serve_post(Core& core, http::Exchange& exchange, std::string_view endpoint) {
  Post post(core, exchange, endpoint);
  if (const auto refusal = check_types(post)) {
    co_return co_await refuse(post, json::Raw(), *refusal);
  }
  PaddedBuffer body = exchange.take_body();
  if (rpc::is_batch(body.view())) co_return co_await serve_batch(post, std::move(body));
  const json::Limits limits{core.config().limits.json_depth};
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
