// The methods of MCP as data: their name, who sends them, in which revisions, how they are routed,
// and which result members are cacheable. Pure. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "mcp/revision.hpp"

namespace mcpx::mcp {

enum class Method : std::uint8_t {
  initialize,
  ping,
  server_discover,
  tools_list,
  tools_call,
  prompts_list,
  prompts_get,
  resources_list,
  resources_templates_list,
  resources_read,
  resources_subscribe,
  resources_unsubscribe,
  completion_complete,
  logging_set_level,
  subscriptions_listen,
  // of the extension io.modelcontextprotocol/skills (SEP-2640)
  skills_list,
  skills_get,
  resources_directory_read,
  // of the core of 2025-11-25 and of the extension io.modelcontextprotocol/tasks (SEP-2663)
  tasks_get,
  tasks_cancel,
  tasks_result,
  tasks_list,
  tasks_update,
  // notifications from the client
  notify_initialized,
  notify_cancelled,
  notify_progress,
  notify_roots_list_changed,
  // notifications from the server
  notify_message,
  notify_tools_list_changed,
  notify_prompts_list_changed,
  notify_resources_list_changed,
  notify_resources_updated,
  notify_subscriptions_acknowledged,
  // requests from a legacy server
  elicitation_create,
  sampling_create_message,
  roots_list,
  // Of no revision and no extension that mcpx knows: for the server behind it to answer.
  foreign,
};

// How a request finds its server on an aggregating endpoint.
enum class Routing : std::uint8_t { local, by_name, by_uri, by_ref, by_task };

struct MethodInfo {
  Method method;
  std::string_view name;  // on the wire
  Revision first, last;   // as a message of its own: 2026-07-28 has the requests of a legacy
                          // server only inside inputRequests, so they end with 2025-11-25
  bool notification;
  bool from_client;  // cancelled and progress travel both ways and count as the client's
  Routing routing;
  bool cacheable;  // its modern result carries ttlMs and cacheScope
  // The extension that defines it; empty: the core. Extensions are negotiated, not versioned, so
  // theirs exist in every revision (those of tasks since there are any) and only where the endpoint
  // advertises them.
  std::string_view extension = {};
};
// Those that have a name; `foreign` has none.
inline constexpr std::size_t kMethods = static_cast<std::size_t>(Method::roots_list) + 1;
const MethodInfo& info(Method method);
std::optional<Method> parse_method(std::string_view name);
Method method_of(std::string_view name);  // `foreign` for what is not known
bool exists_in(Method method, Revision revision);

enum class ListKind : std::uint8_t { tools, prompts, resources, resource_templates, skills };
inline constexpr std::size_t kListKinds = 5;
inline constexpr std::array<ListKind, kListKinds> kAllLists = {
    ListKind::tools, ListKind::prompts, ListKind::resources, ListKind::resource_templates,
    ListKind::skills};
struct ListInfo {
  ListKind kind;
  Method method;                // tools/list
  std::string_view member;      // "tools", "resourceTemplates"
  std::string_view capability;  // "tools", "prompts", "resources"; the extension's name
  std::string_view id_member;   // the member that names an item: "name", "uri", "uriTemplate"
};
const ListInfo& info(ListKind kind);

}  // namespace mcpx::mcp
