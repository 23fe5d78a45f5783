#include "upstream/mirrored.hpp"

#include "json/json.hpp"
#include "mcp/header_codec.hpp"

namespace mcpx::upstream {
namespace {

// The parameter that Mcp-Name repeats; empty: the method has none.
std::string_view named_by(mcp::Method method) {
  switch (method) {
    case mcp::Method::tools_call:
    case mcp::Method::prompts_get:
      return "name";
    case mcp::Method::resources_read:
      return "uri";
    case mcp::Method::tasks_get:
    case mcp::Method::tasks_update:
    case mcp::Method::tasks_cancel:
      return "taskId";
    default:
      return {};
  }
}

json::Raw arguments_of(const call::Call& call) {
  if (call.message) return call.message->arguments;
  return json::find(call.params, "arguments").value_or(json::Raw());
}

}  // namespace

Mirrored::Mirrored(const call::Call& call, const Catalogue* offers) {
  const std::string_view member = named_by(call.method);
  if (member.empty()) return;
  const auto name = call.target_member == member ? json::decode_string(call.target_value)
                                                 : json::find_string(call.params, member);
  if (!name) return;
  name_ = mcp::encode_header(*name);
  if (call.method != mcp::Method::tools_call || !offers) return;
  const ToolTraits* traits = offers->traits_of(*name);
  if (!traits) return;
  const json::Raw arguments = arguments_of(call);
  for (const mcp::MirroredParam& param : traits->mirrored) {
    auto value = mcp::mirrored_value(arguments, param);
    if (value) params_.emplace_back(param.field, std::move(*value));
  }
}

void Mirrored::append_to(std::vector<http1::Field>& fields, std::string_view method) const {
  fields.emplace_back("Mcp-Method", method);
  if (name_) fields.emplace_back("Mcp-Name", *name_);
  for (const auto& [field, value] : params_)
    fields.emplace_back(field, value);
}

}  // namespace mcpx::upstream
