#include <optional>
#include <string>
#include <utility>

#include "downstream/answer.hpp"
#include "downstream/param_headers.hpp"
#include "downstream/post_parts.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::downstream {
namespace {

// Arguments that the tool's schema asks to see mirrored must be, and say the same.
std::optional<Refusal> check_params(Post& post, const rpc::Message& message) {
  const EndpointPtr endpoint = endpoint_now(post.core, post.endpoint);
  const auto name = json::decode_string(message.name);
  if (!endpoint || !name) return std::nullopt;
  const upstream::ToolTraits* traits = endpoint->tool_traits(*name);
  if (!traits || traits->mirrored.empty()) return std::nullopt;
  const json::Raw arguments = json::find(message.params, "arguments").value_or("{}");
  const auto wrong = mismatched_param(post.fields, traits->mirrored, arguments);
  if (!wrong) return std::nullopt;
  return Refusal(400, mcp::kHeaderMismatch, "Header mismatch: " + *wrong);
}

upstream::ClientNotice notice_of(const Post& post, const rpc::Message& message) {
  upstream::ClientNotice notice;
  notice.revision = mcp::kLatestModern;
  notice.principal = post.exchange.principal();
  const auto capabilities = json::find(message.meta, mcp::kMetaClientCapabilities);
  if (capabilities) notice.askable = mcp::askable_of(*capabilities, notice.revision);
  return notice;
}

}  // namespace

Task<void> serve_modern(Post& post, const rpc::Message& message) {
  if (message.kind == rpc::Kind::notification) {
    pass_on(post.core, post.endpoint, message, notice_of(post, message));
    co_return co_await send_empty(post.exchange, 202);
  }
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
  request.principal = post.exchange.principal();
  request.client_info = checked->meta.client_info;
  request.client_capabilities = checked->meta.client_capabilities;
  request.askable = mcp::askable_of(request.client_capabilities, checked->revision);
  request.log_level = json::decode_string(checked->meta.log_level).value_or("");
  request.progress_token = checked->meta.progress_token;
  // A client that closes the response cancels (basic/transports/streamable-http, "Cancellation").
  request.cancel = &post.exchange.gone();
  co_await serve_request(post, request);
}

}  // namespace mcpx::downstream
