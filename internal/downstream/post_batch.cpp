#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "downstream/answer.hpp"
#include "downstream/call_stream.hpp"
#include "downstream/post_parts.hpp"
#include "downstream/session_routes.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::downstream {
namespace {

constexpr std::size_t kBatchLimit = 256;  // elements of one

// One element; its response, if it has one, is gathered with the others.
struct Element {
  explicit Element(rpc::ParseResult parsed_in) : parsed(std::move(parsed_in)) {}
  rpc::ParseResult parsed;
  std::string response;
};

Task<void> serve_element(Post& post, Element& element, SessionPtr session,
                         std::shared_ptr<CallStream> stream) {
  const rpc::ParseResult& parsed = element.parsed;
  if (parsed.has_error()) {
    rpc::append_error(element.response, parsed.error().id,
                      rpc::error_object(parsed.error().code, parsed.error().message));
    co_return;
  }
  if (parsed->kind != rpc::Kind::request) {
    note(post.core, session, *parsed);
    co_return;
  }
  if (parsed->method == "initialize") {
    const Answer refusal =
        Answer::error(rpc::kInvalidRequest, "Invalid Request: initialize stands alone");
    append_response(element.response, parsed->id, refusal);
    co_return;
  }
  runtime::CancelSource* const gone = &post.exchange.gone();
  const Answer answer = co_await answer_in_session(post.core, *parsed, std::move(session), stream,
                                                   gone, post.exchange.request_id());
  if (!answer.is_silence()) append_response(element.response, parsed->id, answer);
}

std::string gathered(const std::vector<Element>& elements) {
  std::string out;
  for (const Element& element : elements) {
    if (element.response.empty()) continue;
    out += out.empty() ? '[' : ',';
    out += element.response;
  }
  if (!out.empty()) out += ']';
  return out;
}

// All at once: a batch takes as long as its slowest element. What is said of one on the way makes
// the response a stream, whose last event has the responses of all (2025-03-26 basic/transports).
Task<void> serve_elements(Post& post, std::vector<Element> elements, SessionPtr session) {
  SessionUse use(*session);
  std::shared_ptr<CallStream> stream;
  if (post.accepted.events) stream = make_stream(post, session.get(), json::Raw());
  runtime::TaskGroup serving(post.exchange.shard());
  for (Element& element : elements)
    serving.spawn("batch element", serve_element(post, element, session, stream));
  co_await serving.join();
  const std::string out = gathered(elements);
  if (stream) {
    const bool streamed = co_await stream->finish(out);
    if (streamed) co_return;
  }
  if (out.empty()) co_return co_await send_empty(post.exchange, 202);
  co_await send_body(post.exchange, 200, kJson, out, kNoFields);
}

}  // namespace

Task<void> serve_batch(Post& post, PaddedBuffer body) {
  const auto session = session_of(post.core, post.exchange, post.endpoint);
  if (session.has_error()) co_return co_await refuse(post, json::Raw(), session.error());
  if (!mcp::defines((*session)->revision, mcp::Feature::batches)) {
    const Refusal refusal(400, rpc::kInvalidRequest,
                          "Invalid Request: only sessions of 2025-03-26 may send batches");
    co_return co_await refuse(post, json::Raw(), refusal);
  }
  const json::Limits limits{post.core.config().limits.json_depth};
  const auto valid = json::validate(body.view(), limits);
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
  std::vector<Element> parsed;
  for (PaddedBuffer& text : *elements) {
    const rpc::ParseResult& last = parsed.emplace_back(rpc::parse(std::move(text), limits)).parsed;
    // It could not be answered: 2025-03-26 has no errors without an id but in place of everything.
    if (last.has_error() && last.error().id.empty()) {
      const Refusal refusal(400, last.error().code, last.error().message);
      co_return co_await refuse(post, json::Raw(), refusal);
    }
  }
  co_await serve_elements(post, std::move(parsed), *session);
}

}  // namespace mcpx::downstream
