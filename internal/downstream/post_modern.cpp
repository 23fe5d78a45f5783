#include <optional>
#include <string>
#include <utility>

#include "downstream/answer.hpp"
#include "downstream/post_parts.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::downstream {
namespace {

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
  request.fields = &post.fields;
  // A client that closes the response cancels (basic/transports/streamable-http, "Cancellation").
  request.cancel = &post.exchange.gone();
  co_await serve_request(post, request);
}

}  // namespace mcpx::downstream
