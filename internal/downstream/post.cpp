#include "downstream/post.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "downstream/answer.hpp"
#include "downstream/call_asker.hpp"
#include "downstream/call_stream.hpp"
#include "downstream/post_parts.hpp"
#include "log/log.hpp"
#include "mcp/extensions.hpp"

namespace mcpx::downstream {
namespace {

bool asks_on_wire(const Request& request) {
  return request.session && request.askable != 0;
}

// The server of a pass-through endpoint may say things in terms of extensions of its own.
bool hears_extensions(const Post& post) {
  if (post.endpoint.empty()) return false;
  const EndpointPtr endpoint = endpoint_now(post.core, post.endpoint);
  return endpoint && endpoint->speaks_extensions;
}

// The sink for what an upstream says meanwhile; null when the caller asked for nothing it can get.
std::shared_ptr<CallStream> stream_for(Post& post, const Request& request) {
  if (!post.accepted.events || !is_call(request.method)) return nullptr;
  const bool wants_progress = !request.progress_token.empty();
  const bool wants_logs = request.session ? request.session->logs : !request.log_level.empty();
  const bool silent = !wants_progress && !wants_logs && !asks_on_wire(request);
  if (silent && !hears_extensions(post)) return nullptr;
  return make_stream(post, request.session, request.message.id);
}

// A call that takes its time becomes a stream, so that its client holds an event id to resume from
// when the connection breaks (2025-11-25; SEP-1699).
class Priming final : public SlowCalls::Entry {
 public:
  Priming(Post& post, const Request& request, std::shared_ptr<CallStream>& stream)
      : Entry(post.core.local(post.exchange.shard()).slow_calls),
        post_(post),
        request_(request),
        stream_(stream) {}

  static bool due(const Post& post, const Request& request) {
    return request.session && request.revision >= mcp::Revision::r2025_11_25 &&
           post.accepted.events && is_call(request.method);
  }

 private:
  void slow() override {
    if (!stream_) stream_ = make_stream(post_, request_.session, request_.message.id);
    stream_->open();
  }

  Post& post_;
  const Request& request_;
  std::shared_ptr<CallStream>& stream_;
};

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

bool is_call(mcp::Method method) {
  return mcp::info(method).routing != mcp::Routing::local || method == mcp::Method::foreign;
}

// Before 2025-03-26 there is no Last-Event-ID, but who speaks Streamable HTTP knows it, whatever
// was negotiated. Events without data are for who knows them.
std::shared_ptr<CallStream> make_stream(Post& post, const Session* session, json::Raw request_id) {
  Local& local = post.core.local(post.exchange.shard());
  CallStream::Resumption resumption;
  if (session && local.replays.enabled()) {
    resumption.replays = &local.replays;
    resumption.session = session->shared_from_this();
    resumption.request_id = request_id;
    resumption.primed = session->revision >= mcp::Revision::r2025_11_25;
  }
  return std::make_shared<CallStream>(post.exchange, local.tasks, kKeepAlive,
                                      std::move(resumption));
}

Task<void> refuse(Post& post, json::Raw id, Refusal refusal) {
  log::debug("{}: refused with {}: {}", post.exchange.request_id(), refusal.status,
             refusal.message);
  co_await send_error(post.exchange, refusal.status, id, refusal.code, refusal.message,
                      refusal.data);
}

void pass_on(Core& core, std::string_view endpoint, const rpc::Message& notification,
             upstream::ClientNotice notice) {
  if (endpoint.empty() || !mcp::is_foreign_notification(notification.method)) return;
  const EndpointPtr found = endpoint_now(core, endpoint);
  if (!found || !found->server || !found->speaks_extensions) return;
  notice.method = notification.method;
  notice.params = notification.params;
  found->server->pass_on(std::move(notice));
}

Task<void> serve_request(Post& post, Request& request) {
  std::shared_ptr<CallStream> stream = stream_for(post, request);
  request.sink = stream;
  std::shared_ptr<CallAsker> asker;
  if (stream && asks_on_wire(request)) {
    asker = std::make_shared<CallAsker>(post.core, request.session->shared_from_this(), stream,
                                        &post.exchange.gone());
  }
  request.asker = asker;
  request.request_id = post.exchange.request_id();
  std::optional<Priming> priming;
  if (Priming::due(post, request)) priming.emplace(post, request, stream);
  const Answer answer = co_await dispatch(request);
  priming.reset();
  if (asker) asker->finish();
  const json::Raw id = request.message.id;
  log::debug("{}: {} on '{}' answered{}", request.request_id, request.message.method,
             request.endpoint, answer.is_error() ? " with an error" : "");
  bool streamed = false;
  if (stream) streamed = co_await stream->finish(id, answer);
  if (!streamed) co_await send_answer(post.exchange, post.accepted, id, answer, kNoFields);
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
