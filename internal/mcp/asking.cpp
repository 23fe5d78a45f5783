#include "mcp/asking.hpp"

#include <utility>

#include "json/splice.hpp"
#include "rpc/message.hpp"

namespace mcpx::mcp {
namespace {

using json::Raw;

// What clients answer when their user refused (2025-11-25 client/sampling, "Error Handling").
constexpr int kUserRejected = -1;

bool has_object(Raw object, std::string_view key) {
  const auto value = json::find(object, key);
  return value && json::is_object(*value);
}

Askable elicitation_of(Raw capability, Revision revision) {
  if (!defines(revision, Feature::elicitation)) return 0;
  if (revision < Revision::r2025_11_25) return kAskForm;  // it had no other mode
  const bool form = has_object(capability, "form");
  const bool url = has_object(capability, "url");
  if (!form && !url) return kAskForm;
  return static_cast<Askable>((form ? kAskForm : 0) | (url ? kAskUrl : 0));
}

Askable sampling_of(Raw capability, Revision revision) {
  Askable found = kAskSampling;
  if (revision < Revision::r2025_11_25) return found;
  if (has_object(capability, "tools")) found |= kAskSamplingTools;
  if (has_object(capability, "context")) found |= kAskSamplingContext;
  return found;
}

Askable roots_of(Raw capability, Revision revision) {
  const auto changes = json::find(capability, "listChanged");
  const bool says = changes && json::as_bool(*changes).value_or(false);
  const bool can_say = era_of(revision) == Era::legacy;
  return static_cast<Askable>(kAskRoots | (says && can_say ? kAskRootsChanges : 0));
}

bool is_elicitation(QuestionKind kind) {
  return kind == QuestionKind::form || kind == QuestionKind::url;
}

// A token of the server's would be taken for one of ours.
void remove_token(json::Splice& params, Raw original) {
  const auto meta = json::find(original, "_meta");
  if (!meta || !json::find(*meta, "progressToken")) return;
  const std::string rest = json::Splice(*meta).remove("progressToken").text();
  json::Members members(rest);
  if (members.next()) {
    params.set("_meta", rest);
  } else {
    params.remove("_meta");
  }
}

void spell_elicitation(json::Splice& params, Raw original, QuestionKind kind,
                       const QuestionContext& context) {
  if (kind == QuestionKind::form && context.to < Revision::r2025_11_25) params.remove("mode");
  if (kind == QuestionKind::url) {
    if (context.to == Revision::r2025_11_25) {
      params.set_default("elicitationId", json::quoted(context.elicitation_id));
    } else {
      params.remove("elicitationId");
    }
  }
  if (context.server.empty()) return;
  const auto message = json::find_string(original, "message");
  if (!message) return;
  std::string named = "[";
  named.append(context.server).append("] ").append(*message);
  params.set("message", json::quoted(named));
}

// "thisServer" is every server that mcpx offers on an endpoint that merges them, which is more than
// the one that asks may see.
void spell_sampling(json::Splice& params, const QuestionContext& context) {
  const bool gated = context.to >= Revision::r2025_11_25;
  const bool allowed = !gated || (context.askable & kAskSamplingContext);
  if (!context.server.empty() || !allowed) params.remove("includeContext");
}

}  // namespace

Askable askable_of(Raw capabilities, Revision revision) {
  Askable found = 0;
  if (!json::is_object(capabilities)) return found;
  json::Members members(capabilities);
  while (const auto member = members.next()) {
    if (!json::is_object(member->value)) continue;
    if (member->key_is("elicitation")) found |= elicitation_of(member->value, revision);
    if (member->key_is("sampling")) found |= sampling_of(member->value, revision);
    if (member->key_is("roots")) found |= roots_of(member->value, revision);
  }
  return found;
}

std::string client_capabilities(Askable askable) {
  json::ObjectBuilder out;
  if (askable & kAskRoots) {
    out.raw("roots", askable & kAskRootsChanges ? R"({"listChanged":true})" : "{}");
  }
  if (askable & kAskSampling) {
    json::ObjectBuilder sampling;
    if (askable & kAskSamplingTools) sampling.raw("tools", "{}");
    if (askable & kAskSamplingContext) sampling.raw("context", "{}");
    out.raw("sampling", sampling.take());
  }
  if (askable & (kAskForm | kAskUrl)) {
    // Servers of 2025-06-18 know only the empty object, which is the form mode in every revision.
    json::ObjectBuilder elicitation;
    if (askable & kAskUrl) {
      if (askable & kAskForm) elicitation.raw("form", "{}");
      elicitation.raw("url", "{}");
    }
    out.raw("elicitation", elicitation.take());
  }
  return out.take();
}

std::string widened_capabilities(Raw capabilities, Askable askable, Askable extra) {
  const std::string all = client_capabilities(static_cast<Askable>(askable | extra));
  json::Splice widened(capabilities);
  const std::pair<std::string_view, Askable> kinds[] = {
      {"elicitation", kAskForm | kAskUrl},
      {"sampling", kAskSampling | kAskSamplingTools | kAskSamplingContext},
      {"roots", kAskRoots}};
  for (const auto& [name, bits] : kinds) {
    const auto own = json::find(all, name);
    if ((extra & bits) && own) widened.set(name, std::string(*own));
  }
  return widened.text();
}

std::optional<QuestionKind> question_kind(std::string_view method, Raw params) {
  if (method == "roots/list") return QuestionKind::roots;
  if (method == "sampling/createMessage") return QuestionKind::sampling;
  if (method != "elicitation/create") return std::nullopt;
  const auto mode = json::find(params, "mode");
  if (!mode) return QuestionKind::form;
  const auto name = json::decode_string(*mode);
  if (name == "form") return QuestionKind::form;
  if (name == "url") return QuestionKind::url;
  return std::nullopt;
}

Askable needed_for(QuestionKind kind, Raw params) {
  switch (kind) {
    case QuestionKind::form:
      return kAskForm;
    case QuestionKind::url:
      return kAskUrl;
    case QuestionKind::sampling: {
      const bool tools = json::find(params, "tools") || json::find(params, "toolChoice");
      return static_cast<Askable>(kAskSampling | (tools ? kAskSamplingTools : 0));
    }
    case QuestionKind::roots:
      return kAskRoots;
  }
  return 0;
}

// A mode or an option that was not declared is -32602, a method that was not is -32601 (2025-11-25
// client/elicitation and client/sampling, "Error Handling").
std::string undeclared_error(QuestionKind kind, Askable askable) {
  const bool other_mode = is_elicitation(kind) && (askable & (kAskForm | kAskUrl));
  if (other_mode) {
    return rpc::error_object(rpc::kInvalidParams,
                             kind == QuestionKind::url
                                 ? "the client did not declare elicitation in url mode"
                                 : "the client did not declare elicitation in form mode");
  }
  if (kind == QuestionKind::sampling && (askable & kAskSampling)) {
    return rpc::error_object(rpc::kInvalidParams, "the client did not declare sampling.tools");
  }
  const std::string_view what = is_elicitation(kind)          ? "elicitation"
                                : kind == QuestionKind::roots ? "roots"
                                                              : "sampling";
  return rpc::error_object(rpc::kMethodNotFound, "the client did not declare " + std::string(what));
}

NoAnswer no_answer(QuestionKind kind, std::string_view why) {
  NoAnswer none;
  if (is_elicitation(kind)) {
    none.result = R"({"action":"cancel"})";
  } else if (kind == QuestionKind::sampling) {
    none.error = rpc::error_object(kUserRejected, "no message was sampled: " + std::string(why));
  } else {
    none.error =
        rpc::error_object(rpc::kInternalError, "the roots are not known: " + std::string(why));
  }
  return none;
}

std::string question_params_for(QuestionKind kind, Raw params, const QuestionContext& context) {
  json::Splice splice(params);
  remove_token(splice, params);
  splice.remove("task");  // mcpx declares no tasks of its own as a client
  if (kind == QuestionKind::sampling) {
    spell_sampling(splice, context);
  } else if (is_elicitation(kind)) {
    spell_elicitation(splice, params, kind, context);
  }
  return splice.text();
}

bool is_answer(QuestionKind kind, Raw result) {
  if (!json::is_object(result)) return false;
  if (kind == QuestionKind::sampling) return json::find(result, "content").has_value();
  if (kind == QuestionKind::roots) {
    const auto roots = json::find(result, "roots");
    return roots && json::is_array(*roots);
  }
  const auto action = json::find_string(result, "action");
  return action == "accept" || action == "decline" || action == "cancel";
}

std::string answer_for(QuestionKind kind, Raw params, Raw result) {
  json::Splice answer(result);
  answer.remove("resultType");
  const bool accepted =
      kind == QuestionKind::form && json::find_string(result, "action") == "accept";
  const auto properties =
      accepted ? json::find(params, "requestedSchema", "properties") : std::nullopt;
  if (!properties || !json::is_object(*properties)) return answer.text();
  const Raw content = json::find(result, "content").value_or("{}");
  if (!json::is_object(content)) return answer.text();
  json::Splice filled(content);
  json::Members members(*properties);
  while (const auto member = members.next()) {
    const auto name = json::decode_string(member->key);
    const auto preset = json::find(member->value, "default");
    if (name && preset && !json::find(content, *name)) filled.set(*name, std::string(*preset));
  }
  if (filled.changed()) answer.set("content", filled.text());
  return answer.text();
}

}  // namespace mcpx::mcp
