#include "downstream/render.hpp"

#include "downstream/modern_checks.hpp"
#include "json/splice.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::downstream {
namespace {

json::Raw or_empty(const std::string& object) {
  return object.empty() ? json::Raw("{}") : json::Raw(object);
}

}  // namespace

mcp::Revision negotiate(json::Raw params) {
  const auto asked = json::find_string(params, "protocolVersion");
  const auto revision = asked ? mcp::parse_revision(*asked) : std::nullopt;
  if (revision && mcp::era_of(*revision) == mcp::Era::legacy) return *revision;
  return mcp::kLatestLegacy;
}

std::string initialize_result(const registry::Endpoint* endpoint, mcp::Revision revision,
                              std::string_view server_info) {
  json::ObjectBuilder result;
  result.string("protocolVersion", mcp::text(revision));
  std::string capabilities = "{}";
  if (endpoint && !endpoint->capabilities_legacy.empty()) {
    capabilities = endpoint->capabilities_legacy;
  }
  if (!mcp::defines(revision, mcp::Feature::completions_capability)) {
    capabilities = json::Splice(capabilities).remove("completions").text();
  }
  if (revision < mcp::kLatestLegacy && json::may_mention(capabilities, "tasks")) {
    capabilities = json::Splice(capabilities).remove("tasks").text();
  }
  result.raw("capabilities", capabilities).raw("serverInfo", server_info);
  if (endpoint && !endpoint->instructions.empty()) {
    result.string("instructions", endpoint->instructions);
  }
  return result.take();
}

std::string discover_result(const registry::Endpoint& endpoint, std::string_view server_info,
                            TimePoint now) {
  json::ObjectBuilder meta;
  meta.raw(mcp::kMetaServerInfo, server_info);
  json::ObjectBuilder result;
  result.string("resultType", "complete");
  result.raw("supportedVersions", modern_versions());
  result.raw("capabilities", or_empty(endpoint.capabilities_modern));
  if (!endpoint.instructions.empty()) result.string("instructions", endpoint.instructions);
  const mcp::CacheHints cache = endpoint.discovery(now);
  result.integer("ttlMs", cache.ttl_ms);
  result.string("cacheScope", cache.is_private ? "private" : "public");
  result.raw("_meta", meta.take());
  return result.take();
}

}  // namespace mcpx::downstream
