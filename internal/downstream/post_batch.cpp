#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "downstream/answer.hpp"
#include "downstream/post_parts.hpp"
#include "downstream/session_routes.hpp"

namespace mcpx::downstream {
namespace {

// Elements of one batch; each is served in turn.
constexpr std::size_t kBatchLimit = 256;

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
  const json::Limits limits{post.core.config().limits.json_depth};
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

}  // namespace

Task<void> serve_batch(Post& post, PaddedBuffer body) {
  const auto session = session_of(post.core, post.exchange, post.endpoint);
  const bool allowed =
      session.has_value() && mcp::defines((*session)->revision, mcp::Feature::batches);
  if (!allowed) {
    const Refusal refusal(400, rpc::kInvalidRequest,
                          "Invalid Request: only sessions of 2025-03-26 may send batches");
    co_return co_await refuse(post, json::Raw(), refusal);
  }
  const json::Limits limits{post.core.config().limits.json_depth};
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

}  // namespace mcpx::downstream
