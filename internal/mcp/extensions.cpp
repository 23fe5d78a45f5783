#include "mcp/extensions.hpp"

#include "json/splice.hpp"

namespace mcpx::mcp {

namespace {

std::optional<json::Raw> map_of(json::Raw capabilities) {
  if (!json::may_mention(capabilities, "extensions")) return std::nullopt;
  const auto extensions = json::find(capabilities, "extensions");
  if (!extensions || !json::is_object(*extensions)) return std::nullopt;
  return extensions;
}

json::Splice carried(json::Raw extensions, bool whole, bool tasks) {
  json::Splice kept(extensions);
  json::Members members(extensions);
  while (const auto member = members.next()) {
    const bool known = member->key_is(kApps) || member->key_is(kSkills);
    const bool kept_here = member->key_is(kTasks) ? tasks : whole;
    const auto key = json::decode_string(member->key);
    if (known || kept_here || !key) continue;
    kept.remove(*key);
  }
  return kept;
}

}  // namespace

std::string carried_extensions(json::Raw capabilities, bool whole) {
  const auto extensions = map_of(capabilities);
  if (!extensions) return {};
  std::string text = carried(*extensions, whole, false).text();
  return json::Members(text).next() ? text : std::string();
}

std::string carried_capabilities(json::Raw capabilities, bool whole, bool tasks) {
  const auto extensions = map_of(capabilities);
  if (!extensions) return {};
  const json::Splice kept = carried(*extensions, whole, tasks);
  if (!kept.changed()) return {};
  return json::Splice(capabilities).set("extensions", kept.text()).text();
}

std::string with_extensions(std::string capabilities, std::string_view extensions) {
  if (extensions.empty()) return capabilities;
  return json::Splice(capabilities).set("extensions", std::string(extensions)).text();
}

std::optional<json::Raw> extension_settings(json::Raw capabilities, std::string_view extension) {
  const auto settings = json::find(capabilities, "extensions", extension);
  if (!settings || !json::is_object(*settings)) return std::nullopt;
  return settings;
}

bool offers_tasks(json::Raw capabilities, Revision revision) {
  if (era_of(revision) == Era::modern) return extension_settings(capabilities, kTasks).has_value();
  return revision == Revision::r2025_11_25 &&
         json::find(capabilities, "tasks", "requests", "tools", "call").has_value();
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

bool is_foreign_notification(std::string_view method) {
  if (method == "notifications/elicitation/complete") return false;  // 2025-11-25
  return !parse_method(method) && !method.starts_with("notifications/tasks");
}

bool is_app_only(json::Raw tool) {
  if (!json::may_mention(tool, "visibility")) return false;
  const auto visibility = json::find(tool, "_meta", "ui", "visibility");
  if (!visibility || !json::is_array(*visibility)) return false;
  bool app = false;
  json::Elements elements(*visibility);
  while (const auto element = elements.next()) {
    const auto who = json::decode_string(*element);
    if (who == "model") return false;
    app = app || who == "app";
  }
  return app;
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
