#include "downstream/param_headers.hpp"

#include <fmt/core.h>

#include "downstream/fields.hpp"

namespace mcpx::downstream {
namespace {

bool same(std::string_view field, json::Raw value) {
  switch (json::kind_of(value)) {
    case json::Kind::string:
      return json::decode_string(value) == field;
    case json::Kind::boolean:
      return value == field;
    case json::Kind::number: {
      // Numerically: 42.0 and 42 are the same.
      if (value == field) return true;
      if (json::validate(field, json::Limits()).has_error()) return false;
      const auto sent = json::as_integer(field);
      return sent && sent == json::as_integer(value);
    }
    default:
      return true;  // not a value that can be mirrored
  }
}

std::optional<std::string> check(const http1::Fields& fields, const mcp::MirroredParam& param,
                                 json::Raw arguments) {
  const auto value = mcp::mirrored_argument(arguments, param);
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

std::optional<std::string> mismatched_param(const http1::Fields& fields,
                                            const std::vector<mcp::MirroredParam>& params,
                                            json::Raw arguments) {
  for (const mcp::MirroredParam& param : params) {
    if (auto wrong = check(fields, param, arguments)) return wrong;
  }
  return std::nullopt;
}

}  // namespace mcpx::downstream
