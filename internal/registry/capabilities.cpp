#include "registry/capabilities.hpp"

#include <algorithm>

#include "json/splice.hpp"
#include "mcp/extensions.hpp"

namespace mcpx::registry {
namespace {

constexpr std::string_view kAlways =
    R"({"completions":{},"logging":{},"prompts":{"listChanged":true},)"
    R"("resources":{"listChanged":true},"tools":{"listChanged":true}})";
constexpr std::string_view kSubscribe =
    R"({"completions":{},"logging":{},"prompts":{"listChanged":true},)"
    R"("resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}})";

bool is_empty(json::Raw object) {
  return !json::Members(object).next().has_value();
}

}  // namespace

std::string passed_capabilities(json::Raw own) {
  json::ObjectBuilder out;
  for (const std::string_view key : {"completions", "experimental", "logging"}) {
    if (const auto value = json::find(own, key)) out.raw(key, *value);
  }
  for (const std::string_view key : {"prompts", "resources", "tools"}) {
    const auto value = json::find(own, key);
    if (!value || !json::is_object(*value)) continue;
    json::Splice member(*value);
    member.set("listChanged", "true");
    out.raw(key, member.text());
  }
  const auto extensions = json::find(own, "extensions");
  if (extensions && json::is_object(*extensions)) {
    const std::string routed = json::Splice(*extensions).remove(mcp::kTasks).text();
    if (!is_empty(routed)) out.raw("extensions", routed);
  }
  return out.take();
}

std::string merged_capabilities(const std::vector<std::string_view>& servers, bool subscribe) {
  const std::string_view always = subscribe ? kSubscribe : kAlways;
  const auto any = [&](auto offers) { return std::any_of(servers.begin(), servers.end(), offers); };
  json::ObjectBuilder extensions;
  if (any([](json::Raw own) { return mcp::extension_settings(own, mcp::kSkills).has_value(); })) {
    extensions.raw(mcp::kSkills, any(mcp::offers_directories) ? R"({"directoryRead":true})" : "{}");
  }
  if (any([](json::Raw own) { return mcp::extension_settings(own, mcp::kApps).has_value(); })) {
    extensions.raw(mcp::kApps, "{}");
  }
  const std::string routed = extensions.take();
  if (is_empty(routed)) return std::string(always);
  return json::Splice(always).set("extensions", routed).text();
}

std::string with_tasks_extension(json::Raw capabilities) {
  const json::Raw others = json::find(capabilities, "extensions").value_or("{}");
  const std::string extensions = json::Splice(others).set(mcp::kTasks, "{}").text();
  return json::Splice(capabilities).set("extensions", extensions).text();
}

std::string with_tasks_capability(json::Raw capabilities) {
  return json::Splice(capabilities)
      .set("tasks", R"({"list":{},"cancel":{},"requests":{"tools":{"call":{}}}})")
      .text();
}

}  // namespace mcpx::registry
