#include "upstream/hop.hpp"

#include <algorithm>
#include <array>

#include "json/splice.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/probe.hpp"
#include "rpc/message.hpp"

namespace mcpx::upstream {
namespace {

using mcp::Era;

constexpr std::string_view kEmptyObject = "{}";

// Least severe first (RFC 5424, as the specification's LoggingLevel lists them).
constexpr std::array<std::string_view, 8> kLogLevels = {"debug", "info",     "notice", "warning",
                                                        "error", "critical", "alert",  "emergency"};

std::size_t severity(std::string_view level) {
  const auto at = std::find(kLogLevels.begin(), kLogLevels.end(), level);
  return static_cast<std::size_t>(at - kLogLevels.begin());  // unknown: most severe
}

void set_or_remove_token(json::Splice& meta, std::string_view token) {
  if (token.empty()) {
    meta.remove("progressToken");
  } else {
    meta.set("progressToken", std::string(token));
  }
}

std::string modern_meta_of(const call::Call& call, json::Raw meta, const HopContext& context) {
  const call::Caller& caller = call.caller;
  const bool modern_caller = mcp::era_of(caller.revision) == Era::modern;
  json::Splice splice(meta.empty() ? kEmptyObject : meta);
  splice.set(mcp::kMetaProtocolVersion, json::quoted(mcp::text(context.to)));
  splice.set(mcp::kMetaClientInfo, std::string(context.client_info));
  // A legacy caller cannot be asked yet, so nothing is declared on its behalf.
  const bool declares = modern_caller && !caller.client_capabilities.empty();
  splice.set(mcp::kMetaClientCapabilities,
             std::string(declares ? caller.client_capabilities : kEmptyObject));
  if (!modern_caller && !caller.log_level.empty()) {
    splice.set(mcp::kMetaLogLevel, json::quoted(caller.log_level));
  }
  set_or_remove_token(splice, context.progress_token);
  return splice.text();
}

// Empty when nothing of it is left for a legacy server.
std::string legacy_meta_of(const call::Call& call, json::Raw meta, const HopContext& context) {
  json::Splice splice(meta.empty() ? kEmptyObject : meta);
  if (mcp::era_of(call.caller.revision) == Era::modern) {
    for (const auto key : {mcp::kMetaProtocolVersion, mcp::kMetaClientInfo,
                           mcp::kMetaClientCapabilities, mcp::kMetaLogLevel}) {
      splice.remove(key);
    }
  }
  set_or_remove_token(splice, context.progress_token);
  std::string text = splice.text();
  json::Members members(text);
  if (!members.next()) text.clear();
  return text;
}

// A tool without arguments is called with none, as an object: servers validate what they get.
void default_arguments(json::Splice& params, const call::Call& call) {
  const bool tool = call.method == mcp::Method::tools_call;
  if (!tool && call.method != mcp::Method::prompts_get) return;
  const auto arguments = json::find(call.params, "arguments");
  if (arguments ? *arguments == "null" : tool) params.set("arguments", std::string(kEmptyObject));
}

// Answers to questions travel in the request only since 2026-07-28; no legacy server asked them.
void remove_answers(json::Splice& params, const call::Call& call) {
  if (mcp::era_of(call.caller.revision) == Era::legacy) return;
  params.remove("inputResponses").remove("requestState");
}

}  // namespace

std::string hop_params(const call::Call& call, const HopContext& context) {
  const json::Raw original = call.params.empty() ? kEmptyObject : call.params;
  json::Splice params(original);
  if (!call.target_member.empty()) params.set(call.target_member, call.target_value);
  default_arguments(params, call);
  if (mcp::era_of(context.to) == Era::legacy) remove_answers(params, call);

  const json::Raw meta = json::find(original, "_meta").value_or(json::Raw());
  if (!meta.empty() && !json::is_object(meta)) return params.text();  // not ours to judge
  if (mcp::era_of(context.to) == Era::modern) {
    params.set("_meta", modern_meta_of(call, meta, context));
  } else if (!meta.empty() || !context.progress_token.empty()) {
    std::string text = legacy_meta_of(call, meta, context);
    if (!text.empty()) {
      params.set("_meta", std::move(text));
    } else if (mcp::era_of(call.caller.revision) == Era::modern) {
      params.remove("_meta");
    } else {
      params.set("_meta", std::string(kEmptyObject));
    }
  }
  return params.text();
}

std::string progress_for(const call::Caller& caller, json::Raw params) {
  json::Splice splice(params);
  splice.set("progressToken", std::string(caller.progress_token));
  if (!mcp::defines(caller.revision, mcp::Feature::progress_message)) splice.remove("message");
  std::string out;
  rpc::append_notification(out, "notifications/progress", splice.text());
  return out;
}

bool wants_log(const call::Caller& caller, json::Raw params) {
  if (!caller.sink) return false;
  if (caller.log_level.empty()) return mcp::era_of(caller.revision) == Era::legacy;
  const auto level = json::find_string(params, "level");
  return level && severity(*level) >= severity(caller.log_level);
}

std::string log_message_for(json::Raw params) {
  std::string out;
  rpc::append_notification(out, "notifications/message", params);
  return out;
}

void append_answer(std::string& out, const rpc::Message& request) {
  if (request.method == "ping") return rpc::append_result(out, request.id, kEmptyObject);
  rpc::append_error(
      out, request.id,
      rpc::error_object(rpc::kMethodNotFound, "mcpx declared no capability for " + request.method));
}

}  // namespace mcpx::upstream
