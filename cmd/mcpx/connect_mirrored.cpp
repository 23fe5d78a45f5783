// Mcp-Param-*: a client on stdio knows nothing of header fields, so the bridge writes those that a
// tool's schema asks for (2026-07-28 basic/transports/streamable-http, "Custom Headers from Tool
// Parameters"). Which these are is asked when the daemon misses one: then nothing has run.
#include <utility>

#include "connect_bridge.hpp"
#include "connect_pending.hpp"
#include "json/splice.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::cli {
namespace {

constexpr int kMostPages = 100;
constexpr std::size_t kMostTools = 4096;  // of those with annotations
constexpr std::string_view kListId = R"("mcpx-connect-tools")";

std::string list_request(const rpc::Message& call, const std::string& cursor) {
  json::ObjectBuilder params;
  params.raw("_meta", json::Splice(call.meta).remove("progressToken").text());
  if (!cursor.empty()) params.string("cursor", cursor);
  std::string out;
  rpc::append_request(out, kListId, "tools/list", params.take());
  return out;
}

}  // namespace

bool Bridge::misses_headers(const Pending& pending, const Reply& reply) {
  if (!pending.modern || pending.mirrored || pending.message.method != "tools/call") return false;
  const auto code = json::find(reply.incoming.line, "error", "code");
  return code && json::as_integer(*code) == mcp::kHeaderMismatch;
}

Task<void> Bridge::learn_mirrored(Pending& pending) {
  std::map<std::string, std::vector<mcp::MirroredParam>> learnt;
  std::string cursor;
  for (int page = 0; page < kMostPages; ++page) {
    const rpc::ParseResult parsed =
        rpc::parse(PaddedBuffer(list_request(pending.message, cursor)), json::Limits());
    if (!parsed) break;
    const HeaderList headers = headers_for(*parsed, session_);
    const Reply reply =
        co_await exchange("POST", headers, parsed->text.view(), kListId, pending.cancel);
    const auto tools = json::find(reply.incoming.line, "result", "tools");
    if (reply.kind != Reply::Kind::answer || !tools || !json::is_array(*tools)) break;
    json::Elements elements(*tools);
    while (const auto tool = elements.next()) {
      const auto schema = json::find(*tool, "inputSchema");
      auto name = json::find_string(*tool, "name");
      if (!schema || !name || learnt.size() >= kMostTools) continue;
      mcp::ParamHeaders found = mcp::read_param_headers(*schema);
      if (!found.params.empty()) learnt.emplace(std::move(*name), std::move(found.params));
    }
    const auto next = json::find(reply.incoming.line, "result", "nextCursor");
    cursor = (next ? json::decode_string(*next) : std::nullopt).value_or("");
    if (cursor.empty()) break;
  }
  mirrored_ = std::move(learnt);
}

void Bridge::add_mirrored(const Pending& pending, HeaderList& headers) const {
  if (!pending.modern || mirrored_.empty() || pending.message.method != "tools/call") return;
  const auto name = json::decode_string(pending.message.name);
  const auto found = name ? mirrored_.find(*name) : mirrored_.end();
  if (found == mirrored_.end()) return;
  const json::Raw arguments = json::find(pending.message.params, "arguments").value_or("{}");
  for (const mcp::MirroredParam& param : found->second) {
    if (auto value = mcp::mirrored_value(arguments, param)) {
      headers.emplace_back(param.field, std::move(*value));
    }
  }
}

}  // namespace mcpx::cli
