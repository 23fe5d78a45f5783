#include "mcp/method.hpp"

#include <algorithm>
#include <array>

#include "mcp/extensions.hpp"

namespace mcpx::mcp {
namespace {

using enum Revision;

constexpr Revision kFirst = r2024_11_05;
constexpr Revision kLast = kLatestModern;
constexpr bool kRequest = false;
constexpr bool kNotification = true;
constexpr bool kClient = true;
constexpr bool kServer = false;
constexpr bool kCacheable = true;

// In the order of the enum. Source: ClientRequest, ServerRequest, ClientNotification and
// ServerNotification in schema.json of each revision; cacheable are the results that extend
// CacheableResult. The methods of skills: SEP-2640; of tasks, where no schema has them: SEP-2663.
constexpr std::array<MethodInfo, kMethods + 1> kMethodTable = {{
    {Method::initialize, "initialize", kFirst, kLatestLegacy, kRequest, kClient, Routing::local,
     false},
    {Method::ping, "ping", kFirst, kLatestLegacy, kRequest, kClient, Routing::local, false},
    {Method::server_discover, "server/discover", r2026_07_28, kLast, kRequest, kClient,
     Routing::local, kCacheable},
    {Method::tools_list, "tools/list", kFirst, kLast, kRequest, kClient, Routing::local,
     kCacheable},
    {Method::tools_call, "tools/call", kFirst, kLast, kRequest, kClient, Routing::by_name, false},
    {Method::prompts_list, "prompts/list", kFirst, kLast, kRequest, kClient, Routing::local,
     kCacheable},
    {Method::prompts_get, "prompts/get", kFirst, kLast, kRequest, kClient, Routing::by_name, false},
    {Method::resources_list, "resources/list", kFirst, kLast, kRequest, kClient, Routing::local,
     kCacheable},
    {Method::resources_templates_list, "resources/templates/list", kFirst, kLast, kRequest, kClient,
     Routing::local, kCacheable},
    {Method::resources_read, "resources/read", kFirst, kLast, kRequest, kClient, Routing::by_uri,
     kCacheable},
    {Method::resources_subscribe, "resources/subscribe", kFirst, kLatestLegacy, kRequest, kClient,
     Routing::by_uri, false},
    {Method::resources_unsubscribe, "resources/unsubscribe", kFirst, kLatestLegacy, kRequest,
     kClient, Routing::by_uri, false},
    {Method::completion_complete, "completion/complete", kFirst, kLast, kRequest, kClient,
     Routing::by_ref, false},
    {Method::logging_set_level, "logging/setLevel", kFirst, kLatestLegacy, kRequest, kClient,
     Routing::local, false},
    {Method::subscriptions_listen, "subscriptions/listen", r2026_07_28, kLast, kRequest, kClient,
     Routing::local, false},
    {Method::skills_list, "skills/list", kFirst, kLast, kRequest, kClient, Routing::local,
     kCacheable, kSkills},
    {Method::skills_get, "skills/get", kFirst, kLast, kRequest, kClient, Routing::by_uri,
     kCacheable, kSkills},
    {Method::resources_directory_read, "resources/directory/read", kFirst, kLast, kRequest, kClient,
     Routing::by_uri, false, kSkills},
    {Method::tasks_get, "tasks/get", kLatestLegacy, kLast, kRequest, kClient, Routing::by_task,
     false, kTasks},
    {Method::tasks_cancel, "tasks/cancel", kLatestLegacy, kLast, kRequest, kClient,
     Routing::by_task, false, kTasks},
    {Method::tasks_result, "tasks/result", kLatestLegacy, kLatestLegacy, kRequest, kClient,
     Routing::by_task, false},
    {Method::tasks_list, "tasks/list", kLatestLegacy, kLatestLegacy, kRequest, kClient,
     Routing::local, false},
    {Method::tasks_update, "tasks/update", r2026_07_28, kLast, kRequest, kClient, Routing::by_task,
     false, kTasks},
    {Method::notify_initialized, "notifications/initialized", kFirst, kLatestLegacy, kNotification,
     kClient, Routing::local, false},
    {Method::notify_cancelled, "notifications/cancelled", kFirst, kLast, kNotification, kClient,
     Routing::local, false},
    {Method::notify_progress, "notifications/progress", kFirst, kLast, kNotification, kClient,
     Routing::local, false},
    {Method::notify_roots_list_changed, "notifications/roots/list_changed", kFirst, kLatestLegacy,
     kNotification, kClient, Routing::local, false},
    {Method::notify_message, "notifications/message", kFirst, kLast, kNotification, kServer,
     Routing::local, false},
    {Method::notify_tools_list_changed, "notifications/tools/list_changed", kFirst, kLast,
     kNotification, kServer, Routing::local, false},
    {Method::notify_prompts_list_changed, "notifications/prompts/list_changed", kFirst, kLast,
     kNotification, kServer, Routing::local, false},
    {Method::notify_resources_list_changed, "notifications/resources/list_changed", kFirst, kLast,
     kNotification, kServer, Routing::local, false},
    {Method::notify_resources_updated, "notifications/resources/updated", kFirst, kLast,
     kNotification, kServer, Routing::local, false},
    {Method::notify_subscriptions_acknowledged, "notifications/subscriptions/acknowledged",
     r2026_07_28, kLast, kNotification, kServer, Routing::local, false},
    {Method::elicitation_create, "elicitation/create", r2025_06_18, kLatestLegacy, kRequest,
     kServer, Routing::local, false},
    {Method::sampling_create_message, "sampling/createMessage", kFirst, kLatestLegacy, kRequest,
     kServer, Routing::local, false},
    {Method::roots_list, "roots/list", kFirst, kLatestLegacy, kRequest, kServer, Routing::local,
     false},
    {Method::foreign, "", kFirst, kLast, kRequest, kClient, Routing::local, false},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kMethodTable.size(); ++i) {
    if (static_cast<std::size_t>(kMethodTable[i].method) != i) return false;
  }
  return true;
}
static_assert(in_order(), "one row per method, in the order of the enum");

// The names sorted by length, then text: comparing lengths first makes a look-up five
// cheap steps and one comparison of text.
constexpr bool before(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

constexpr std::array<std::uint8_t, kMethods> sorted_by_name() {
  std::array<std::uint8_t, kMethods> order{};
  for (std::size_t i = 0; i < kMethods; ++i)
    order[i] = static_cast<std::uint8_t>(i);
  std::sort(order.begin(), order.end(), [](std::uint8_t a, std::uint8_t b) {
    return before(kMethodTable[a].name, kMethodTable[b].name);
  });
  return order;
}
constexpr auto kByName = sorted_by_name();

constexpr std::array<ListInfo, kListKinds> kListTable = {{
    {ListKind::tools, Method::tools_list, "tools", "tools", "name"},
    {ListKind::prompts, Method::prompts_list, "prompts", "prompts", "name"},
    {ListKind::resources, Method::resources_list, "resources", "resources", "uri"},
    {ListKind::resource_templates, Method::resources_templates_list, "resourceTemplates",
     "resources", "uriTemplate"},
    {ListKind::skills, Method::skills_list, "skills", kSkills, "uri"},
}};

}  // namespace

const MethodInfo& info(Method method) {
  return kMethodTable[static_cast<std::size_t>(method)];
}

std::optional<Method> parse_method(std::string_view name) {
  const auto at = std::lower_bound(kByName.begin(), kByName.end(), name,
                                   [](std::uint8_t row, std::string_view wanted) {
                                     return before(kMethodTable[row].name, wanted);
                                   });
  if (at == kByName.end() || kMethodTable[*at].name != name) return std::nullopt;
  return kMethodTable[*at].method;
}

Method method_of(std::string_view name) {
  return parse_method(name).value_or(Method::foreign);
}

bool exists_in(Method method, Revision revision) {
  const MethodInfo& row = info(method);
  return row.first <= revision && revision <= row.last;
}

const ListInfo& info(ListKind kind) {
  return kListTable[static_cast<std::size_t>(kind)];
}

}  // namespace mcpx::mcp
