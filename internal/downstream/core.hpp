// Core: what every request of the Service shares. Local: the part of it that belongs to one shard.
// Internal to the room. Made by Service; outlives every request.
// Thread: Core is read only once started, except where its members say otherwise; Local its shard.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "ask/desk.hpp"
#include "ask/keyring.hpp"
#include "ask/state.hpp"
#include "config/config.hpp"
#include "downstream/asked.hpp"
#include "downstream/change_streams.hpp"
#include "downstream/in_flight.hpp"
#include "downstream/replays.hpp"
#include "downstream/session.hpp"
#include "downstream/slow_calls.hpp"
#include "downstream/sse_clients.hpp"
#include "downstream/subscriptions.hpp"
#include "json/json.hpp"
#include "registry/registry.hpp"
#include "runtime/cancel.hpp"
#include "runtime/shard.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::broker {
class Broker;
}
namespace mcpx::tasks {
class Book;
}

namespace mcpx::downstream {

// Often enough for proxies that close silent connections after a minute, seldom enough to cost
// nothing.
inline constexpr Milliseconds kKeepAlive{15'000};

using EndpointPtr = std::shared_ptr<const registry::Endpoint>;

struct Core;

struct Local {
  Local(runtime::Shard& shard_in, const Core& core, std::shared_ptr<const ask::Seal> seal);

  runtime::Shard& shard;
  runtime::TaskGroup tasks;  // writers of call streams; each is awaited by its request
  InFlight in_flight;
  Asked asked;
  ask::States states;  // of calls that need input
  ask::Desk desk;
  SlowCalls slow_calls;
  Replays replays;
  SseClients sse;
  ChangeStreams streams;
  runtime::CancelSource over;  // fires when the daemon is about to stop
};

struct Core : std::enable_shared_from_this<Core> {
  Core(registry::Registry& registry_in, std::vector<runtime::Shard*> shards_in);

  // In force on the calling shard; there until its next suspension.
  const config::Config& config() const { return registry.config(); }

  Local& local(const runtime::Shard& shard) const { return *locals[shard.index()]; }
  // True if the configuration has that endpoint and it is enabled.
  bool has_endpoint(std::string_view name) const;
  // ["/mcp","/mcp/a"]: raw, for the error that says which there are.
  std::string endpoint_paths() const;

  registry::Registry& registry;
  std::vector<runtime::Shard*> shards;
  const std::string server_info;  // raw Implementation object: mcpx itself
  const std::string run;          // in event ids: this run of the daemon
  const std::string mark;         // of this run of the daemon, in ids of questions
  store::Store* store = nullptr;  // what is kept over a restart; may be null
  SessionDirectory sessions;
  Subscriptions subscriptions;
  std::vector<std::unique_ptr<Local>> locals;  // by shard index
  std::vector<ask::Desk*> desks;               // theirs; null where there is none
  std::unique_ptr<ask::Keyring> keyring;       // null without a store; the first shard
  broker::Broker* broker = nullptr;            // may be null; set before start()
  std::shared_ptr<tasks::Book> tasks;          // made by start(); the first shard
  std::atomic<std::size_t> task_streams{0};    // streams that are told of tasks
  // The servers had their chance to come up before the first list of /mcp; any shard.
  std::atomic<bool> settled{false};
};

// The endpoint in the snapshot of the calling shard; null while there is none.
EndpointPtr endpoint_now(const Core& core, std::string_view name);
// The same after a bounded wait for something to list, as long as there is nothing (case C13).
Task<EndpointPtr> endpoint_when_ready(Core& core, std::string name);
// The same for lists: the first one of /mcp also waits a moment for servers that are still coming.
Task<EndpointPtr> endpoint_when_listed(Core& core, std::string name);

}  // namespace mcpx::downstream
