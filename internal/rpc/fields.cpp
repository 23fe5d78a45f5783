#include "rpc/fields.hpp"

namespace mcpx::rpc {
namespace {

using json::Raw;

// Passes on the unescaped key, unless it holds a lone surrogate and so is no key of the protocol.
template <class Use>
void with_key(Raw key, Use use) {
  const std::string_view inner = key.substr(1, key.size() - 2);
  if (inner.find('\\') == std::string_view::npos) {
    use(inner);
  } else if (const auto decoded = json::decode_string(key)) {
    use(std::string_view(*decoded));
  }
}

// Reads the members of params; answers the place behind them.
const char* read_params(Raw rest, Fields& fields) {
  json::Members params(rest);
  for (Raw key = params.next_key(); !key.empty(); key = params.next_key()) {
    const Raw value = params.take_value();
    with_key(key, [&](std::string_view name) { fields.param(name, value); });
  }
  return params.closed();
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

Fields read_fields(Raw object) {
  Fields fields;
  json::Members members(object);
  for (Raw key = members.next_key(); !key.empty(); key = members.next_key()) {
    bool read = false;
    with_key(key, [&](std::string_view name) {
      const Raw rest = members.rest();
      // One pass: the end of params is where its members end.
      const bool inside = name == "params" && json::is_object(rest);
      const Raw value =
          inside ? members.take_value_to(read_params(rest, fields)) : members.take_value();
      fields.top(name, value);
      read = true;
    });
    if (!read) static_cast<void>(members.take_value());
  }
  return fields;
}

}  // namespace mcpx::rpc
