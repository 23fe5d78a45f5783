#include "downstream/fields.hpp"

#include <algorithm>

#include "mcp/header_codec.hpp"

namespace mcpx::downstream {
namespace {

// "text/html;q=0.8" -> "text/html"
std::string_view without_parameters(std::string_view value) {
  return trim(value.substr(0, value.find(';')));
}

// q=0 means "not acceptable" (RFC 9110, 12.4.2).
bool is_excluded(std::string_view value) {
  const auto at = value.find(';');
  if (at == std::string_view::npos) return false;
  const std::string_view parameters = value.substr(at + 1);
  const auto q = parameters.find("q=0");
  if (q == std::string_view::npos) return false;
  return parameters.substr(q + 3).find_first_of("123456789") == std::string_view::npos;
}

}  // namespace

std::string_view trim(std::string_view value) {
  const auto first = value.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return value.substr(first, value.find_last_not_of(" \t") - first + 1);
}

std::optional<std::string_view> field(const http1::Fields& fields, std::string_view name) {
  const auto value = fields.find(name);
  if (!value) return std::nullopt;
  return trim(*value);
}

bool is_json(const http1::Fields& fields) {
  const auto value = fields.find("Content-Type");
  return value && http1::equals_ignoring_case(without_parameters(*value), kJson);
}

Accepts accepts(const http1::Fields& fields) {
  Accepts found;
  bool any = false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!http1::equals_ignoring_case(fields.name_at(i), "Accept")) continue;
    any = true;
    std::string_view rest = fields.value_at(i);
    while (!rest.empty()) {
      const auto comma = std::min(rest.find(','), rest.size());
      const std::string_view entry = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      if (is_excluded(entry)) continue;
      const std::string_view type = without_parameters(entry);
      const bool all = type == "*/*";
      if (all || type == "application/*" || http1::equals_ignoring_case(type, kJson)) {
        found.json = true;
      }
      if (all || type == "text/*" || http1::equals_ignoring_case(type, kEventStream)) {
        found.events = true;
      }
    }
  }
  if (!any) found.json = found.events = true;
  return found;
}

std::optional<std::string> decode_mirrored(std::string_view value) {
  const bool clean = std::all_of(value.begin(), value.end(),
                                 [](char c) { return (c >= 0x20 && c <= 0x7e) || c == '\t'; });
  if (!clean) return std::nullopt;
  return mcp::decode_header(value);
}

}  // namespace mcpx::downstream
