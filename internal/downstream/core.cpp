#include "downstream/core.hpp"

#include <algorithm>
#include <utility>

namespace mcpx::downstream {
namespace {

std::string own_info() {
  json::ObjectBuilder info;
  return info.string("name", "mcpx").string("version", MCPX_VERSION).take();
}

// Each shard keeps an even share of what is kept in all.
ReplayLimits replay_limits(const Core& core) {
  ReplayLimits limits;
  limits.events = core.config().limits.replay_events;
  limits.bytes = core.config().limits.replay_bytes;
  limits.total_bytes = core.config().limits.replay_total / core.shards.size();
  return limits;
}

}  // namespace

Local::Local(runtime::Shard& shard_in, const Core& core, std::shared_ptr<const ask::Seal> seal)
    : shard(shard_in),
      tasks(shard_in),
      states(std::move(seal), core.mark),
      desk(shard_in, states),
      slow_calls(shard_in),
      replays(shard_in, core.run, [&core] { return replay_limits(core); }),
      streams(shard_in, core.server_info, kKeepAlive) {}

Core::Core(registry::Registry& registry_in, std::vector<runtime::Shard*> shards_in)
    : registry(registry_in),
      shards(std::move(shards_in)),
      server_info(own_info()),
      run(random_run()),
      mark(random_run()),
      sessions(shards, registry.config().limits.sessions),
      subscriptions(shards) {
  const std::vector<ask::Seal::Key> keys{ask::Seal::random_key()};
  const auto seal = std::make_shared<const ask::Seal>(keys);
  for (runtime::Shard* shard : shards) {
    locals.resize(std::max(locals.size(), shard->index() + 1));
    desks.resize(locals.size());
    locals[shard->index()] = std::make_unique<Local>(*shard, *this, seal);
    desks[shard->index()] = &locals[shard->index()]->desk;
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
