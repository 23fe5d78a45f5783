#include "rpc/fields.hpp"

#include <simdjson.h>

#include <utility>

#include "json/scan.hpp"

namespace mcpx::rpc {
namespace {

using json::Raw;
namespace ondemand = simdjson::ondemand;

// The token or container as text. On-Demand leaves white space behind tokens and containers.
bool span_of(ondemand::value& value, Raw& out) {
  ondemand::json_type type;
  if (value.type().get(type)) return false;
  if (type == ondemand::json_type::object) {
    ondemand::object object;
    if (value.get_object().get(object) || object.raw_json().get(out)) return false;
  } else if (type == ondemand::json_type::array) {
    ondemand::array array;
    if (value.get_array().get(array) || array.raw_json().get(out)) return false;
  } else {
    out = value.raw_json_token();
  }
  out = json::trimmed(out);
  return true;
}

bool read_params(ondemand::value& value, Fields& fields, Raw& span) {
  ondemand::object object;
  if (value.get_object().get(object)) return false;
  for (auto item : object) {
    ondemand::field field;
    std::string_view key;
    Raw inner;
    if (std::move(item).get(field) || field.unescaped_key().get(key)) return false;
    if (!span_of(field.value(), inner)) return false;
    fields.param(key, inner);
  }
  if (object.raw_json().get(span)) return false;
  span = json::trimmed(span);
  return true;
}

bool read_top(ondemand::field& field, Fields& fields) {
  std::string_view key;
  if (field.unescaped_key().get(key)) return false;
  ondemand::value& value = field.value();
  ondemand::json_type type;
  if (value.type().get(type)) return false;
  Raw span;
  const bool params = key == "params" && type == ondemand::json_type::object;
  if (!(params ? read_params(value, fields, span) : span_of(value, span))) return false;
  fields.top(params ? std::string_view("params") : key, span);
  return true;
}

// Passes on the unescaped key, unless it holds a lone surrogate and so is no key of the protocol.
template <class Use>
void with_key(const json::Member& member, Use use) {
  const std::string_view inner = member.key.substr(1, member.key.size() - 2);
  if (inner.find('\\') == std::string_view::npos) {
    use(inner);
  } else if (const auto decoded = json::decode_string(member.key)) {
    use(std::string_view(*decoded));
  }
}

}  // namespace

void Fields::keep(Raw& slot, Raw value, std::string_view key) {
  if (!slot.empty() && duplicate.empty()) duplicate = key;
  slot = value;
}

void Fields::top(std::string_view key, Raw value) {
  if (key == "jsonrpc") return keep(jsonrpc, value, "jsonrpc");
  if (key == "id") {
    id_twice = id_twice || !id.empty();
    return keep(id, value, "id");
  }
  if (key == "method") return keep(method, value, "method");
  if (key == "params") return keep(params, value, "params");
  if (key == "result") return keep(result, value, "result");
  if (key == "error") return keep(error, value, "error");
}

void Fields::param(std::string_view key, Raw value) {
  if (key == "name") return keep(name, value, "name");
  if (key == "uri") return keep(uri, value, "uri");
  if (key == "taskId") return keep(task_id, value, "taskId");
  if (key == "cursor") return keep(cursor, value, "cursor");
  if (key == "_meta") return keep(meta, value, "_meta");
  // Not a key of the protocol's own, so a second copy is the server's to judge; the first counts.
  if (key == "arguments" && arguments.empty()) arguments = value;
}

std::optional<Fields> read_on_demand(const PaddedBuffer& text) {
  thread_local ondemand::parser parser;
  ondemand::document document;
  ondemand::object object;
  const std::size_t allocated = text.size() + PaddedBuffer::kPadding;
  if (parser.iterate(text.data(), text.size(), allocated).get(document)) return std::nullopt;
  if (document.get_object().get(object)) return std::nullopt;
  Fields fields;
  for (auto item : object) {
    ondemand::field field;
    if (std::move(item).get(field) || !read_top(field, fields)) return std::nullopt;
  }
  return fields;
}

Fields read_by_walking(Raw object) {
  Fields fields;
  json::Members members(object);
  while (const auto member = members.next()) {
    with_key(*member, [&](std::string_view key) {
      // What is inside comes first, as On-Demand has it: the span of params is known at its end.
      const bool params = key == "params" && json::is_object(member->value);
      json::Members inner(params ? member->value : Raw());
      while (const auto param = inner.next()) {
        with_key(*param, [&](std::string_view name) { fields.param(name, param->value); });
      }
      fields.top(key, member->value);
    });
  }
  return fields;
}

}  // namespace mcpx::rpc
