#include "upstream/hop.hpp"

#include <functional>

#include "json/splice.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/extensions.hpp"
#include "mcp/probe.hpp"
#include "mcp/spelling.hpp"
#include "rpc/message.hpp"
#include "upstream/relay.hpp"

namespace mcpx::upstream {
namespace {

using mcp::Era;

constexpr std::string_view kEmptyObject = "{}";

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
  // A modern caller says itself who it is; mcpx speaks for a legacy one.
  splice.set_default(mcp::kMetaClientInfo, std::string(context.client_info));
  // Of a legacy caller only what it can be asked, and its extensions: the rest has changed its
  // meaning since.
  const bool declares = modern_caller && !caller.client_capabilities.empty();
  splice.set(
      mcp::kMetaClientCapabilities,
      declares ? std::string(caller.client_capabilities)
               : mcp::with_extensions(mcp::client_capabilities(caller.askable), caller.extensions));
  if (!modern_caller && !caller.log_level.empty()) {
    splice.set(mcp::kMetaLogLevel, json::quoted(caller.log_level));
  }
  set_or_remove_token(splice, context.progress_token);
  return splice.text();
}

// What a modern client says about itself.
void remove_modern_keys(json::Splice& meta) {
  for (const auto key : {mcp::kMetaProtocolVersion, mcp::kMetaClientInfo,
                         mcp::kMetaClientCapabilities, mcp::kMetaLogLevel}) {
    meta.remove(key);
  }
}

// Empty for an object without members.
std::string text_of(const json::Splice& meta) {
  std::string text = meta.text();
  json::Members members(text);
  if (!members.next()) text.clear();
  return text;
}

// Empty when nothing of it is left for a legacy server.
std::string legacy_meta_of(const call::Call& call, json::Raw meta, const HopContext& context) {
  json::Splice splice(meta.empty() ? kEmptyObject : meta);
  if (mcp::era_of(call.caller.revision) == Era::modern) remove_modern_keys(splice);
  set_or_remove_token(splice, context.progress_token);
  return text_of(splice);
}

// A tool without arguments is called with none, as an object: servers validate what they get.
void default_arguments(json::Splice& params, const call::Call& call) {
  const bool tool = call.method == mcp::Method::tools_call;
  if (!tool && call.method != mcp::Method::prompts_get) return;
  const auto arguments = json::find(call.params, "arguments");
  if (arguments ? *arguments == "null" : tool) params.set("arguments", std::string(kEmptyObject));
}

// What is completed besides has a place in the request since 2025-06-18.
void remove_context(json::Splice& params, const call::Call& call, const HopContext& context) {
  if (call.method != mcp::Method::completion_complete) return;
  if (!mcp::defines(context.to, mcp::Feature::completion_context)) params.remove("context");
}

// A client's wish that its call be a task is never passed on as it is (2025-11-25
// basic/utilities/tasks): whether the server is asked for one says Call::task.
constexpr std::string_view kTask = "task";

void set_task(json::Splice& params, const call::Call& call, const HopContext& context) {
  if (call.task.empty() || context.to != mcp::Revision::r2025_11_25) {
    params.remove(kTask);
  } else {
    params.set(kTask, std::string(call.task));
  }
}

// Whether the params have room for it beside what is known of them.
bool may_hold_task(const call::Call& call) {
  const rpc::Message& message = *call.message;
  const auto cost = [](std::string_view key, json::Raw value) {
    return value.empty() ? 0 : key.size() + value.size();
  };
  const std::size_t known = 1 + cost(R"("name":,)", message.name) +
                            cost(R"("arguments":,)", message.arguments) +
                            cost(R"("_meta":,)", message.meta);
  constexpr std::size_t kLeast = std::string_view(R"("task":1,)").size();
  return call.params.size() >= known + kLeast;
}

// Answers to questions travel in the request only since 2026-07-28; no legacy server asked them.
void remove_answers(json::Splice& params, const call::Call& call) {
  if (mcp::era_of(call.caller.revision) == Era::legacy) return;
  params.remove("inputResponses").remove("requestState");
}

json::Raw target_of(const call::Call& call) {
  if (call.target_member == "name") return call.message->name;
  if (call.target_member == "uri") return call.message->uri;
  return {};
}

// Where a member is added to an object that has one, as json::Splice would put it.
const char* end_of_members(json::Raw object) {
  return object.data() + object.find_last_not_of(" \t\r\n", object.size() - 2) + 1;
}

// Whether what the caller declares is what its message says: not all of it may be passed on.
bool inside(json::Raw part, json::Raw whole) {
  const std::less_equal<const char*> before;
  return before(whole.data(), part.data()) &&
         before(part.data() + part.size(), whole.data() + whole.size());
}

// What is done with the `_meta` of a call at a known place.
enum class MetaEdit {
  unknown,  // it has to be searched
  keep,     // the caller's own says all there is to say, but for the token
  add,      // the one that mcpx writes, token included
  none      // there is none, and none is owed
};

MetaEdit meta_edit(const call::Call& call, const HopContext& context) {
  const bool to_modern = mcp::era_of(context.to) == Era::modern;
  const json::Raw meta = call.message->meta;
  if (!meta.empty()) {
    const bool same = to_modern ? call.caller.revision == context.to &&
                                      inside(call.caller.client_capabilities, meta)
                                : mcp::era_of(call.caller.revision) == Era::legacy;
    const bool has_members = end_of_members(meta) > meta.data() + 1;
    const bool has_token = json::may_mention(meta, "progressToken");
    return same && has_members && !has_token ? MetaEdit::keep : MetaEdit::unknown;
  }
  if (call.message->has_meta) return MetaEdit::unknown;
  if (!to_modern) return context.progress_token.empty() ? MetaEdit::none : MetaEdit::add;
  const bool plain = !context.plain_meta.empty() && call.caller.log_level.empty() &&
                     call.caller.askable == 0 && call.caller.extensions.empty();
  return plain ? MetaEdit::add : MetaEdit::unknown;
}

void append_meta(std::string& out, const HopContext& context) {
  const bool to_modern = mcp::era_of(context.to) == Era::modern;
  const std::string_view meta = to_modern ? context.plain_meta : kEmptyObject;
  out.append(R"(,"_meta":)").append(meta.substr(0, meta.size() - 1));
  if (!context.progress_token.empty()) {
    out.append(to_modern ? R"(,"progressToken":)" : R"("progressToken":)");
    out.append(context.progress_token);
  }
  out += '}';
}

// The call that most are: parsed, a name to replace, arguments that are an object, and a `_meta`
// that gets a token at most, or is added whole. Its edits are at known places, so nothing has to be
// searched; empty for any other.
std::string plain_params(const call::Call& call, const HopContext& context) {
  if (!call.message || !json::is_object(call.params)) return {};
  const json::Raw target = target_of(call);
  if (target.empty()) return {};
  const json::Raw arguments = call.message->arguments;
  if (arguments.empty() ? call.method == mcp::Method::tools_call : !json::is_object(arguments)) {
    return {};
  }
  const MetaEdit edit = meta_edit(call, context);
  if (edit == MetaEdit::unknown) return {};
  if (call.method == mcp::Method::tools_call) {
    if (!call.task.empty()) return {};
    if (may_hold_task(call) && json::find(call.params, kTask)) return {};
  }

  std::string out;
  out.reserve(call.params.size() + call.target_value.size() + context.plain_meta.size() + 64);
  const char* at = call.params.data();
  const auto copy_to = [&out, &at](const char* end) {
    out.append(at, end);
    at = end;
  };
  const auto add_token = [&] {
    if (edit != MetaEdit::keep || context.progress_token.empty()) return;
    copy_to(end_of_members(call.message->meta));
    out.append(R"(,"progressToken":)").append(context.progress_token);
  };
  const bool meta_first = call.message->meta.data() < target.data();
  if (meta_first) add_token();
  copy_to(target.data());
  out += call.target_value;
  at += target.size();
  if (!meta_first) add_token();
  if (edit == MetaEdit::add) {
    copy_to(end_of_members(call.params));
    append_meta(out, context);
  }
  copy_to(call.params.data() + call.params.size());
  return out;
}

std::string notification_for(const call::Caller& caller, mcp::Method method, json::Raw params) {
  std::string spelled;
  mcp::append_notification_params_for(spelled, method, params, caller.revision);
  std::string out;
  rpc::append_notification(out, mcp::info(method).name, spelled);
  return out;
}

}  // namespace

std::string hop_params(const call::Call& call, const HopContext& context) {
  if (std::string plain = plain_params(call, context); !plain.empty()) return plain;
  const json::Raw original = call.params.empty() ? kEmptyObject : call.params;
  json::Splice params(original);
  if (!call.target_member.empty()) params.set(call.target_member, call.target_value);
  default_arguments(params, call);
  remove_context(params, call, context);
  if (call.method == mcp::Method::tools_call) set_task(params, call, context);
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
  return notification_for(caller, mcp::Method::notify_progress, splice.text());
}

bool wants_log(const call::Caller& caller, json::Raw params) {
  if (!caller.sink) return false;
  if (caller.log_level.empty()) return mcp::era_of(caller.revision) == Era::legacy;
  const auto level = json::find_string(params, "level");
  return level && severity(*level) >= severity(caller.log_level);
}

std::string extension_message(const rpc::Message& notification) {
  json::Splice params(notification.params.empty() ? kEmptyObject : notification.params);
  const auto meta = json::find(notification.params, "_meta");
  if (meta && json::find(*meta, mcp::kMetaSubscriptionId)) {
    params.set("_meta", json::Splice(*meta).remove(mcp::kMetaSubscriptionId).text());
  }
  std::string out;
  rpc::append_notification(out, notification.method,
                           notification.params.empty() ? json::Raw() : json::Raw(params.text()));
  return out;
}

std::string notice_params(json::Raw params, mcp::Revision from, mcp::Revision to) {
  const bool crosses = mcp::era_of(from) == Era::modern && mcp::era_of(to) == Era::legacy;
  const auto meta = crosses ? json::find(params, "_meta") : std::nullopt;
  if (!meta || !json::is_object(*meta)) return std::string(params);
  json::Splice left(*meta);
  remove_modern_keys(left);
  json::Splice splice(params);
  std::string text = text_of(left);
  text.empty() ? splice.remove("_meta") : splice.set("_meta", std::move(text));
  return splice.text();
}

std::string log_message_for(const call::Caller& caller, json::Raw params) {
  return notification_for(caller, mcp::Method::notify_message, params);
}

}  // namespace mcpx::upstream
