#include "downstream/core.hpp"

#include <algorithm>
#include <utility>

namespace mcpx::downstream {
namespace {

// Often enough for proxies that close silent connections after a minute, seldom enough to cost
// nothing.
constexpr Milliseconds kKeepAlive{15'000};

std::string own_info() {
  json::ObjectBuilder info;
  return info.string("name", "mcpx").string("version", MCPX_VERSION).take();
}

}  // namespace

Core::Core(registry::Registry& registry_in, std::vector<runtime::Shard*> shards_in)
    : registry(registry_in),
      shards(std::move(shards_in)),
      server_info(own_info()),
      sessions(shards, registry.config().limits.sessions) {
  for (runtime::Shard* shard : shards) {
    locals.resize(std::max(locals.size(), shard->index() + 1));
    locals[shard->index()] = std::make_unique<Local>(*shard, server_info, kKeepAlive);
  }
}

bool Core::has_endpoint(std::string_view name) const {
  if (name.empty()) return true;
  const auto& servers = config().servers;
  return std::any_of(servers.begin(), servers.end(),
                     [&](const auto& server) { return server.enabled && server.name == name; });
}

std::string Core::endpoint_paths() const {
  std::string paths = "[\"/mcp\"";
  for (const auto& server : config().servers) {
    if (!server.enabled) continue;
    paths += ',';
    json::append_string(paths, "/mcp/" + server.name);
  }
  return paths + "]";
}

EndpointPtr endpoint_now(const Core& core, std::string_view name) {
  const auto snapshot = core.registry.current();
  if (!snapshot) return nullptr;
  return snapshot->find(name);
}

Task<EndpointPtr> endpoint_when_ready(Core& core, std::string name) {
  EndpointPtr endpoint = endpoint_now(core, name);
  if (endpoint && endpoint->ready) co_return endpoint;
  const TimePoint deadline = Clock::now() + core.config().ready_wait;
  co_await core.registry.wait_ready(name, deadline);
  co_return endpoint_now(core, name);
}

Task<EndpointPtr> endpoint_when_listed(Core& core, std::string name) {
  if (name.empty() && !core.settled.load(std::memory_order_relaxed)) {
    const TimePoint deadline = Clock::now() + core.config().ready_wait;
    co_await core.registry.wait_ready(name, deadline);
    core.settled.store(true, std::memory_order_relaxed);
  }
  co_return co_await endpoint_when_ready(core, std::move(name));
}

}  // namespace mcpx::downstream
