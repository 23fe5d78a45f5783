#include "connect_message.hpp"

#include <algorithm>

#include "mcp/error_codes.hpp"
#include "mcp/header_codec.hpp"

namespace mcpx::cli {
namespace {

const json::Limits kLimits = {512};

// The parameter that Mcp-Name mirrors (spec 2026-07-28, transports, standard request headers; for
// those of tasks SEP-2663, "Routing Headers").
json::Raw mirrored(const rpc::Message& message) {
  if (message.method == "tools/call" || message.method == "prompts/get") return message.name;
  if (message.method == "resources/read") return message.uri;
  if (message.method.starts_with("tasks/")) return message.task_id;
  return {};
}

}  // namespace

std::optional<std::string> modern_version(const rpc::Message& message) {
  if (message.meta.empty()) return std::nullopt;
  return json::find_string(message.meta, mcp::kMetaProtocolVersion);
}

HeaderList headers_for(const rpc::Message& message, const Session& session) {
  HeaderList out = {{"Content-Type", "application/json"},
                    {"Accept", "application/json, text/event-stream"}};
  if (const auto version = modern_version(message)) {
    out.emplace_back("MCP-Protocol-Version", mcp::encode_header(*version));
    if (!message.method.empty()) out.emplace_back("Mcp-Method", mcp::encode_header(message.method));
    const json::Raw name = mirrored(message);
    if (const auto text = name.empty() ? std::nullopt : json::decode_string(name)) {
      out.emplace_back("Mcp-Name", mcp::encode_header(*text));
    }
    return out;
  }
  if (message.method == "initialize") return out;  // it opens a session of its own
  if (!session.version.empty()) out.emplace_back("MCP-Protocol-Version", session.version);
  if (!session.id.empty()) out.emplace_back("Mcp-Session-Id", session.id);
  return out;
}

HeaderList headers_for_stream(const Session& session) {
  HeaderList out = {{"Accept", "text/event-stream"}};
  if (!session.version.empty()) out.emplace_back("MCP-Protocol-Version", session.version);
  if (!session.id.empty()) out.emplace_back("Mcp-Session-Id", session.id);
  return out;
}

bool safe_to_repeat(std::string_view method) {
  return method != "tools/call";
}

std::string one_line(std::string_view json) {
  std::string out(json);
  // In valid JSON a raw line end stands between tokens only.
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  const std::size_t end = out.find_last_not_of(" \t");
  out.resize(end == std::string::npos ? 0 : end + 1);
  return out;
}

bool same_id(json::Raw a, json::Raw b) {
  if (a == b) return true;
  if (!json::is_string(a) || !json::is_string(b)) return false;
  return json::decode_string(a) == json::decode_string(b);
}

Incoming read_incoming(std::string_view text, json::Raw id) {
  Incoming out;
  const auto parsed = rpc::parse(PaddedBuffer(text), kLimits);
  if (!parsed) return out;
  const bool response = parsed->kind == rpc::Kind::result || parsed->kind == rpc::Kind::error;
  if (!response) {
    out.kind = Incoming::Kind::other_message;
    out.line = one_line(text);
    return out;
  }
  out.is_result = parsed->kind == rpc::Kind::result;
  if (same_id(parsed->id, id)) {
    out.kind = Incoming::Kind::answer;
    out.line = one_line(text);
  } else if (parsed->kind == rpc::Kind::error && (parsed->id.empty() || parsed->id == "null")) {
    // The daemon could not tell whose fault it was; here it is known.
    out.kind = Incoming::Kind::answer;
    rpc::append_error(out.line, id, one_line(parsed->error));
  }
  return out;
}

std::string error_line(json::Raw id, int code, const Error& error) {
  json::ObjectBuilder data;
  data.string("code", error.code);
  if (!error.remedy.empty()) data.string("remedy", error.remedy);
  std::string out;
  rpc::append_error(out, id, rpc::error_object(code, error.text(), data.take()));
  return out;
}

}  // namespace mcpx::cli
