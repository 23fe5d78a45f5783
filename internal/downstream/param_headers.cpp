#include "downstream/param_headers.hpp"

#include <fmt/core.h>

#include <utility>

#include "downstream/fields.hpp"

namespace mcpx::downstream {
namespace {

constexpr std::string_view kAnnotation = "x-mcp-header";
constexpr std::size_t kDeepest = 32;  // levels of nested object properties

void collect(json::Raw schema, std::vector<std::string>& path, std::vector<MirroredParam>& found) {
  const auto properties = json::find(schema, "properties");
  if (!properties || !json::is_object(*properties) || path.size() >= kDeepest) return;
  json::Members members(*properties);
  while (const auto member = members.next()) {
    const auto name = json::decode_string(member->key);
    if (!name || !json::is_object(member->value)) continue;
    path.push_back(*name);
    const auto header = json::find_string(member->value, kAnnotation);
    if (header && !header->empty()) found.push_back({fmt::format("Mcp-Param-{}", *header), path});
    collect(member->value, path, found);
    path.pop_back();
  }
}

// The argument at the path; nullopt when it is absent or null, which are the same here.
std::optional<json::Raw> value_at(json::Raw arguments, const std::vector<std::string>& path) {
  json::Raw at = arguments;
  for (const std::string& key : path) {
    const auto inner = json::find(at, std::string_view(key));
    if (!inner) return std::nullopt;
    at = *inner;
  }
  if (at == "null") return std::nullopt;
  return at;
}

bool same(std::string_view field, json::Raw value) {
  switch (json::kind_of(value)) {
    case json::Kind::string:
      return json::decode_string(value) == field;
    case json::Kind::boolean:
      return value == field;
    case json::Kind::number: {
      // Numerically: 42.0 and 42 are the same.
      if (value == field) return true;
      PaddedBuffer text(field);
      if (json::validate(text, json::Limits()).has_error()) return false;
      const auto sent = json::as_integer(field);
      return sent && sent == json::as_integer(value);
    }
    default:
      return true;  // not a value that can be mirrored
  }
}

std::optional<std::string> check(const http1::Fields& fields, const MirroredParam& param,
                                 json::Raw arguments) {
  const auto value = value_at(arguments, param.path);
  const auto header = field(fields, param.field);
  if (!value && !header) return std::nullopt;
  if (!header) return fmt::format("the {} header is missing", param.field);
  if (!value) return fmt::format("{} mirrors an argument that is not there", param.field);
  if (fields.count(param.field) > 1) return fmt::format("the {} header is repeated", param.field);
  const auto decoded = decode_mirrored(*header);
  if (!decoded) return fmt::format("{} header value is malformed", param.field);
  if (same(*decoded, *value)) return std::nullopt;
  return fmt::format("{} header value '{}' does not match the argument", param.field, *decoded);
}

}  // namespace

std::vector<MirroredParam> mirrored_params(json::Raw input_schema) {
  std::vector<MirroredParam> found;
  std::vector<std::string> path;
  if (input_schema.find(kAnnotation) != json::Raw::npos) collect(input_schema, path, found);
  return found;
}

std::optional<std::string> mismatched_param(const http1::Fields& fields,
                                            const std::vector<MirroredParam>& params,
                                            json::Raw arguments) {
  for (const MirroredParam& param : params) {
    if (auto wrong = check(fields, param, arguments)) return wrong;
  }
  return std::nullopt;
}

const std::vector<MirroredParam>* ParamHeaders::find(
    const std::shared_ptr<const registry::Endpoint>& endpoint, const std::string& tool) {
  Table& table = tables_[endpoint->name];
  if (table.endpoint.lock() != endpoint) {
    table.endpoint = endpoint;
    table.tools.clear();
    for (const auto& row : endpoint->tools()) {
      const auto schema = json::find(row.definition, "inputSchema");
      auto params = schema ? mirrored_params(*schema) : std::vector<MirroredParam>();
      if (!params.empty()) table.tools.emplace(row.exposed, std::move(params));
    }
  }
  const auto found = table.tools.find(tool);
  return found == table.tools.end() ? nullptr : &found->second;
}

}  // namespace mcpx::downstream
