#include "downstream/targets.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "json/splice.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/extensions.hpp"

namespace mcpx::downstream {
namespace {

// How many edits turn one name into another; more than kFarthest count as kFarthest + 1.
constexpr std::size_t kFarthest = 3;
constexpr std::size_t kLongestCompared = 64;
// A wrong name must not cost a shard more than a moment, whatever the catalogue's size.
constexpr std::size_t kMostCompared = 512;

std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (gap > kFarthest || a.size() > kLongestCompared || b.size() > kLongestCompared) {
    return kFarthest + 1;
  }
  std::array<std::size_t, kLongestCompared + 1> row;
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    std::size_t best = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
      best = std::min(best, row[j]);
    }
    if (best > kFarthest) return kFarthest + 1;
  }
  return row[b.size()];
}

// The exposed tool the caller probably meant; empty if none is close.
std::string_view closest_tool(const registry::Endpoint& endpoint, std::string_view name) {
  std::string_view closest;
  std::size_t nearest = std::min(kFarthest, name.size() / 3) + 1;
  std::size_t compared = 0;
  for (const registry::Entry* tool : endpoint.tools()) {
    if (tool->original == name) return tool->exposed;  // forgot the prefix
    if (++compared > kMostCompared) break;
    const std::size_t far = distance(name, tool->exposed);
    if (far < nearest) {
      nearest = far;
      closest = tool->exposed;
    }
  }
  return closest;
}

Answer invalid(std::string_view message) {
  return Answer::error(rpc::kInvalidParams, message);
}

Answer missing(std::string_view member) {
  return invalid(fmt::format("Invalid params: '{}' must be a string", member));
}

std::string path_of(std::string_view endpoint) {
  return endpoint.empty() ? "/mcp" : fmt::format("/mcp/{}", endpoint);
}

Answer unknown_tool(const registry::Endpoint& endpoint, const Request& request,
                    std::string_view name) {
  const std::string_view closest = closest_tool(endpoint, name);
  const std::string remedy = closest.empty()
                                 ? std::string("list the tools again: the name may have changed")
                                 : fmt::format("did you mean '{}'?", closest);
  json::ObjectBuilder data;
  data.string("code", "tool.unknown").string("remedy", remedy);
  return Answer::error(
      rpc::kInvalidParams,
      fmt::format("Unknown tool: {} (on {}); {}", name, path_of(request.endpoint), remedy),
      data.take());
}

Answer unknown_prompt(const Request& request, std::string_view name) {
  json::ObjectBuilder data;
  data.string("code", "prompt.unknown").string("remedy", "list the prompts again");
  return Answer::error(rpc::kInvalidParams,
                       fmt::format("Unknown prompt: {} (on {})", name, path_of(request.endpoint)),
                       data.take());
}

// -32002 is what legacy revisions define for it, -32602 what 2026-07-28 and SEP-2640 do; `uri` in
// all of them.
Answer unknown_resource(const Request& request, std::string_view uri) {
  json::ObjectBuilder data;
  data.string("uri", uri);
  const bool legacy_code = !request.modern() && mcp::info(request.method).extension.empty();
  std::string_view message = "Resource not found";
  if (request.method == mcp::Method::skills_get) message = "There is no skill of that URI";
  if (request.method == mcp::Method::resources_directory_read) {
    message = "There is no directory of that URI";
  }
  return Answer::error(legacy_code ? mcp::kResourceNotFound : rpc::kInvalidParams, message,
                       data.take());
}

// Whether the server of a resource knows the method: what one server offers is not asked of
// another.
bool knows(const registry::Endpoint& endpoint, mcp::Method method, const registry::Target& target) {
  if (mcp::info(method).extension.empty()) return true;
  const json::Raw capabilities = endpoint.capabilities_of(*target.server);
  if (method == mcp::Method::resources_directory_read) {
    return mcp::offers_directories(capabilities);
  }
  return mcp::offers(capabilities, mcp::ListKind::skills);
}

// What is the same on both sides is left alone: the params then pass byte for byte.
Resolved resolved(registry::Target target, std::string_view member, std::string_view exposed) {
  Resolved found;
  if (target.original != exposed) {
    found.member = member;
    found.value = json::quoted(target.original);
  }
  found.target = std::move(target);
  return found;
}

Resolution resolve_ref(const registry::Endpoint& endpoint, const Request& request) {
  const auto ref = json::find(request.message.params, "ref");
  const auto type = ref ? json::find_string(*ref, "type") : std::nullopt;
  if (!type) return invalid("Invalid params: 'ref' must be an object with a 'type'");
  const bool prompt = *type == "ref/prompt";
  if (!prompt && *type != "ref/resource") {
    return invalid("Invalid params: 'ref.type' must be 'ref/prompt' or 'ref/resource'");
  }
  const std::string_view member = prompt ? "name" : "uri";
  const auto value = json::find_string(*ref, member);
  if (!value) return missing(prompt ? "ref.name" : "ref.uri");
  auto target = prompt ? endpoint.prompt(*value) : endpoint.resource(*value);
  if (!target) {
    if (prompt) return unknown_prompt(request, *value);
    return unknown_resource(request, *value);
  }
  Resolved found;
  if (target->original != *value) {
    found.member = "ref";
    found.value = json::Splice(*ref).set(member, json::quoted(target->original)).text();
  }
  found.target = std::move(*target);
  return found;
}

}  // namespace

Resolution resolve(const registry::Endpoint& endpoint, const Request& request) {
  if (request.method == mcp::Method::foreign) {
    return Resolved{{endpoint.server, endpoint.name, {}, false}, {}, {}};
  }
  switch (mcp::info(request.method).routing) {
    case mcp::Routing::by_ref:
      return resolve_ref(endpoint, request);
    case mcp::Routing::by_uri: {
      const auto uri = json::decode_string(request.message.uri);
      if (!uri) return missing("uri");
      auto target = endpoint.resource(*uri);
      if (!target || !knows(endpoint, request.method, *target)) {
        return unknown_resource(request, *uri);
      }
      return resolved(std::move(*target), "uri", *uri);
    }
    default: {
      const auto name = json::decode_string(request.message.name);
      if (!name) return missing("name");
      const bool tool = request.method == mcp::Method::tools_call;
      auto target = tool ? endpoint.tool(*name) : endpoint.prompt(*name);
      if (target) return resolved(std::move(*target), "name", *name);
      if (tool) return unknown_tool(endpoint, request, *name);
      return unknown_prompt(request, *name);
    }
  }
}

}  // namespace mcpx::downstream
