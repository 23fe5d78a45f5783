// The methods of MCP as data: their name, who sends them, in which revisions, how they are routed,
// and which result members are cacheable. Pure. Thread: any.
#pragma once

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
};

// How a request finds its server on an aggregating endpoint.
enum class Routing : std::uint8_t { local, by_name, by_uri, by_ref };

struct MethodInfo {
  Method method;
  std::string_view name;  // on the wire
  Revision first, last;   // as a message of its own: 2026-07-28 has the requests of a legacy
                          // server only inside inputRequests, so they end with 2025-11-25
  bool notification;
  bool from_client;  // cancelled and progress travel both ways and count as the client's
  Routing routing;
  bool cacheable;  // its modern result carries ttlMs and cacheScope
};
inline constexpr std::size_t kMethods = static_cast<std::size_t>(Method::roots_list) + 1;
const MethodInfo& info(Method method);
std::optional<Method> parse_method(std::string_view name);
bool exists_in(Method method, Revision revision);

enum class ListKind : std::uint8_t { tools, prompts, resources, resource_templates };
inline constexpr std::size_t kListKinds = 4;
struct ListInfo {
  ListKind kind;
  Method method;                // tools/list
  std::string_view member;      // "tools", "resourceTemplates"
  std::string_view capability;  // "tools", "prompts", "resources"
  std::string_view id_member;   // the member that names an item: "name", "uri", "uriTemplate"
};
const ListInfo& info(ListKind kind);

}  // namespace mcpx::mcp
