#include "rpc/fields.hpp"

#include <limits>

namespace mcpx::rpc {

using json::Raw;

// Unescaped, unless it holds a lone surrogate and so is no key of the protocol.
Raw* Fields::member(Raw key, std::size_t level) {
  const std::string_view inner = key.substr(1, key.size() - 2);
  if (inner.find('\\') == std::string_view::npos) return slot_of(inner, level);
  const auto decoded = json::decode_string(key);
  return slot_of(decoded ? std::string_view(*decoded) : std::string_view(), level);
}

Raw* Fields::slot_of(std::string_view key, std::size_t level) {
  if (level == 1) {
    in_params_ = key == "params";
    return top(key);
  }
  return in_params_ ? param(key) : nullptr;
}

// The last of two counts, and that there are two is noted.
Raw* Fields::once(Raw& slot, std::string_view key) {
  if (!slot.empty() && duplicate.empty()) duplicate = key;
  return &slot;
}

Raw* Fields::top(std::string_view key) {
  if (key == "jsonrpc") return once(jsonrpc, "jsonrpc");
  if (key == "id") {
    id_twice = id_twice || !id.empty();
    return once(id, "id");
  }
  if (key == "method") return once(method, "method");
  if (key == "params") return once(params, "params");
  if (key == "result") return once(result, "result");
  if (key == "error") return once(error, "error");
  return nullptr;
}

Raw* Fields::param(std::string_view key) {
  if (key == "name") return once(name, "name");
  if (key == "uri") return once(uri, "uri");
  if (key == "taskId") return once(task_id, "taskId");
  if (key == "cursor") return once(cursor, "cursor");
  if (key == "_meta") return once(meta, "_meta");
  // Not a key of the protocol's own, so a second copy is the server's to judge; the first counts.
  return key == "arguments" && arguments.empty() ? &arguments : nullptr;
}

Fields read_fields(Raw object) {
  Fields fields;
  constexpr json::Limits kAny{std::numeric_limits<std::size_t>::max()};
  static_cast<void>(json::validate(object, kAny, &fields));
  return fields;
}

}  // namespace mcpx::rpc
