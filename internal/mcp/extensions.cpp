#include "mcp/extensions.hpp"

namespace mcpx::mcp {

std::optional<json::Raw> extension_settings(json::Raw capabilities, std::string_view extension) {
  const auto settings = json::find(capabilities, "extensions", extension);
  if (!settings || !json::is_object(*settings)) return std::nullopt;
  return settings;
}

bool declares_others(json::Raw capabilities) {
  const auto declared = json::find(capabilities, "extensions");
  if (!declared || !json::is_object(*declared)) return false;
  json::Members members(*declared);
  while (const auto member = members.next()) {
    const bool known = member->key_is(kSkills) || member->key_is(kApps) || member->key_is(kTasks);
    if (!known) return true;
  }
  return false;
}

bool offers(json::Raw capabilities, ListKind kind) {
  if (kind == ListKind::skills) return extension_settings(capabilities, kSkills).has_value();
  return json::find(capabilities, info(kind).capability).has_value();
}

bool offers_directories(json::Raw capabilities) {
  const auto settings = extension_settings(capabilities, kSkills);
  return settings && json::find(*settings, "directoryRead") == "true";
}

}  // namespace mcpx::mcp
