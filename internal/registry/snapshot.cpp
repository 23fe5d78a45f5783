#include "registry/snapshot.hpp"

#include <utility>

#include "config/config.hpp"
#include "mcp/uris.hpp"

namespace mcpx::registry {

const Rendered& Endpoint::list(mcp::ListKind kind, mcp::Revision revision) const {
  return lists_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(revision)];
}

std::optional<Target> Endpoint::find(const Names& names, std::string_view exposed) const {
  const auto found = names.find(std::string(exposed));
  if (found == names.end()) return std::nullopt;
  return found->second;
}

// A pass-through endpoint sends on whatever name the caller uses: the server knows best what it
// has, and its own error is the truest. Only what a filter hides is not there (case C72).
std::optional<Target> Endpoint::tool(std::string_view exposed) const {
  if (!server) return find(tools_, exposed);
  if (!config->tool_allowed(std::string(exposed))) return std::nullopt;
  return own(exposed);
}

std::optional<Target> Endpoint::prompt(std::string_view exposed) const {
  return server ? own(exposed) : find(prompts_, exposed);
}

// A qualified URI routes by itself: what a template expands to is in no list. Any other is for the
// server whose prefix is empty, if there is one.
std::optional<Target> Endpoint::resource(std::string_view exposed) const {
  if (server) return own(exposed);
  if (auto listed = find(resources_, exposed)) return listed;
  auto parsed = mcp::parse_exposed_uri(exposed);
  if (!parsed) {
    if (!bare_) return std::nullopt;
    Target target = *bare_;
    target.original = exposed;
    return target;
  }
  const auto found = servers_.find(parsed->server);
  if (found == servers_.end()) return std::nullopt;
  const bool own_uris = bare_ && bare_->server_name == parsed->server;
  return Target{found->second, std::move(parsed->server), std::move(parsed->original), own_uris};
}

std::optional<Target> Endpoint::own(std::string_view original) const {
  return Target{server, name, std::string(original)};
}

std::shared_ptr<const Endpoint> Snapshot::find(std::string_view endpoint) const {
  const auto found = endpoints.find(endpoint);
  return found == endpoints.end() ? nullptr : found->second;
}

}  // namespace mcpx::registry
