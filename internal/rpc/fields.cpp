#include "rpc/fields.hpp"

namespace mcpx::rpc {
namespace {

using json::Raw;

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

Fields read_fields(Raw object) {
  Fields fields;
  json::Members members(object);
  while (const auto member = members.next()) {
    with_key(*member, [&](std::string_view key) {
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
