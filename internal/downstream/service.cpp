#include "downstream/service.hpp"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>

#include "downstream/answer.hpp"
#include "downstream/core.hpp"
#include "downstream/fields.hpp"
#include "downstream/post.hpp"
#include "downstream/session_routes.hpp"
#include "downstream/sse_clients.hpp"
#include "downstream/subscribe.hpp"
#include "downstream/substitute.hpp"
#include "downstream/task_methods.hpp"
#include "rpc/message.hpp"
#include "runtime/hop.hpp"
#include "tasks/book.hpp"
#include "upstream/server.hpp"

namespace mcpx::downstream {
namespace {

constexpr std::string_view kSseRoot = "/sse";

// "/mcp" -> "", "/mcp/files" and "/mcp/files/" -> "files"; nullopt for deeper paths.
std::optional<std::string_view> endpoint_of(std::string_view path) {
  constexpr std::string_view kRoot = "/mcp";
  if (!path.starts_with(kRoot) && !path.starts_with(kSseRoot)) return std::nullopt;
  path.remove_prefix(kRoot.size());
  if (!path.empty() && path.front() == '/') path.remove_prefix(1);
  if (!path.empty() && path.back() == '/') path.remove_suffix(1);
  if (path.find('/') != std::string_view::npos) return std::nullopt;
  return path;
}

Task<void> refuse_endpoint(const Core& core, http::Exchange& exchange) {
  json::ObjectBuilder data;
  data.string("code", "endpoint.unknown");
  data.string("remedy", "use one of the endpoints listed, or add the server to the configuration");
  data.raw("endpoints", core.endpoint_paths());
  const std::string body = data.take();
  const std::string message = fmt::format("no endpoint {} here", exchange.head().path());
  co_await send_error(exchange, 404, json::Raw(), rpc::kInvalidRequest, message, body);
}

Task<void> refuse_sse(http::Exchange& exchange) {
  json::ObjectBuilder data;
  data.string("code", "sse.off");
  data.string("remedy", "use Streamable HTTP at /mcp, or set listen.legacy_sse: true");
  const std::string body = data.take();
  const std::string message = "HTTP+SSE is not served here";
  co_await send_error(exchange, 404, json::Raw(), rpc::kInvalidRequest, message, body);
}

Task<bool> listen_to(Core& core, runtime::Shard& shard) {
  // The registry may outlive the service.
  std::weak_ptr<Core> weak = core.weak_from_this();
  core.registry.on_change([weak, &shard](const registry::Change& change) {
    if (const auto alive = weak.lock()) alive->local(shard).streams.publish(change);
  });
  core.registry.on_replaced([weak, &shard] {
    const auto alive = weak.lock();
    if (!alive) return;
    Local& local = alive->local(shard);
    local.streams.renew(alive->registry, local.tasks);
    if (&shard == alive->shards.front()) alive->subscriptions.renew(alive->registry, local.tasks);
  });
  core.registry.on_updates([weak, &shard](const registry::Updates& updates) {
    const auto alive = weak.lock();
    if (alive) alive->local(shard).streams.publish(updates, alive->subscriptions);
  });
  co_return true;
}

// What a server holds for that session alone is not needed any more.
void end_at_servers(Core& core, const Session& session) {
  const auto snapshot = core.registry.current();
  if (!snapshot) return;
  for (const auto& [name, endpoint] : snapshot->endpoints) {
    if (endpoint->server && endpoint->config->scope == config::Scope::session) {
      endpoint->server->end_session(session.id);
    }
  }
}

// Everywhere from here on; a requestState that was given out before stays good.
Task<bool> use_there(Core& core, runtime::Shard& shard, std::shared_ptr<const ask::Seal> seal) {
  core.local(shard).states.use(std::move(seal));
  co_return true;
}

// Before the first request, so that all of a daemon's states are made with keys that are kept.
Task<void> begin_keyring(Core& core, store::Store& store) {
  runtime::Shard& home = *core.shards.front();
  core.store = &store;
  core.keyring = std::make_unique<ask::Keyring>(home, store);
  const std::shared_ptr<const ask::Seal> seal = co_await core.keyring->refresh();
  for (runtime::Shard* shard : core.shards) {
    if (!seal) break;  // the store has logged why
    const std::function<Task<bool>()> there = [&core, shard, seal] {
      return use_there(core, *shard, seal);
    };
    co_await runtime::run_on<bool>(*shard, there);
  }
  const auto publish = [&core](const std::shared_ptr<const ask::Seal>& next) {
    for (runtime::Shard* shard : core.shards) {
      shard->post([owner = core.shared_from_this(), shard, next] {
        owner->local(*shard).states.use(next);
      });
    }
  };
  core.local(home).tasks.spawn("keys", core.keyring->tend(publish));
}

Task<bool> tend_sessions(std::shared_ptr<Core> core, store::Store* store) {
  Core& owner = *core;
  if (store) {
    co_await begin_keyring(owner, *store);
    co_await owner.sessions.keep_in(*store, owner.config().session_idle);
  }
  owner.tasks = make_book(owner, store);
  co_await owner.tasks->restore();
  const std::function<Milliseconds()> idle = [&owner] { return owner.config().session_idle; };
  owner.local(*owner.shards.front()).tasks.spawn("sessions", owner.sessions.tend(idle));
  co_return true;
}

// The id of a session that may be one of an earlier daemon; empty: it is known, or none is named.
std::string sleeping_session(const Core& core, const http::Exchange& exchange) {
  const auto id = field(exchange.head().fields, kSessionField);
  return id && !core.sessions.find(*id) ? std::string(*id) : std::string();
}

Task<void> serve(Core& core, http::Exchange& exchange) {
  const std::string_view method = exchange.head().method;
  const auto endpoint = endpoint_of(exchange.head().path());
  if (!endpoint || !core.has_endpoint(*endpoint)) return refuse_endpoint(core, exchange);
  if (exchange.head().path().starts_with(kSseRoot)) {
    if (!core.config().listen.legacy_sse) return refuse_sse(exchange);
    return serve_sse(core, exchange, std::string(*endpoint));
  }
  if (method == "POST") return serve_post(core, exchange, *endpoint);
  if (method == "GET") return serve_get(core, exchange, *endpoint);
  if (method == "DELETE") return serve_delete(core, exchange, *endpoint);
  return refuse_method(exchange, "POST, GET, DELETE");
}

Task<void> wake_and_serve(Core& core, http::Exchange& exchange, std::string session) {
  co_await core.sessions.wake(std::move(session));
  co_await serve(core, exchange);
}

Task<bool> join_tasks(Core& core, runtime::Shard& shard) {
  if (core.tasks && &core.tasks->home() == &shard) co_await core.tasks->join();
  co_await core.local(shard).desk.join();
  co_await core.local(shard).tasks.join();
  co_return true;
}

}  // namespace

Service::Service(registry::Registry& registry, std::vector<runtime::Shard*> shards)
    : core_(std::make_shared<Core>(registry, std::move(shards))) {
  Core* core = core_.get();
  core->sessions.keep_subscriptions(
      [core](const Session& session) { return core->subscriptions.listed(session); },
      [core](SessionPtr session, std::string uris) {
        return restore_subscriptions(*core, std::move(session), std::move(uris));
      });
  core->sessions.on_end([core](runtime::Shard& shard, const Session& session) {
    core->local(shard).streams.end_session(session);
    if (!session.live.finishes.load(std::memory_order_relaxed)) {
      core->local(shard).in_flight.cancel_all(session, "the session was ended");
    }
    core->local(shard).replays.end_session(session);
    core->local(shard).sse.end_session(session);
    end_subscriptions(*core, session);
    if (&shard != core->shards.front()) return;
    if (core->tasks) core->tasks->end_session(session.id);
    end_at_servers(*core, session);
  });
}

Service::~Service() = default;

void Service::ask_instead(broker::Broker& broker) {
  core_->broker = &broker;
}

void Service::redrive(std::vector<store::QuestionRow> rows) {
  downstream::redrive(*core_, std::move(rows));
}

Task<void> Service::start() {
  const std::function<Task<bool>()> tend = [core = core_, store = store_] {
    return tend_sessions(core, store);
  };
  co_await runtime::run_on<bool>(*core_->shards.front(), tend);
  for (runtime::Shard* shard : core_->shards) {
    const std::function<Task<bool>()> make = [core = core_, shard] {
      return listen_to(*core, *shard);
    };
    co_await runtime::run_on<bool>(*shard, make);
  }
}

Task<void> Service::handle(http::Exchange& exchange) {
  if (core_->sessions.asleep()) {
    std::string id = sleeping_session(*core_, exchange);
    if (!id.empty()) return wake_and_serve(*core_, exchange, std::move(id));
  }
  return serve(*core_, exchange);
}

Task<void> Service::reconfigured(std::vector<std::string> gone) {
  core_->sessions.set_limit(core_->config().limits.sessions);
  for (const std::string& endpoint : gone) {
    for (runtime::Shard* shard : core_->shards) {
      shard->post(
          [core = core_, shard, endpoint] { core->local(*shard).streams.end_endpoint(endpoint); });
    }
    co_await core_->sessions.end_all_of(endpoint);
  }
}

void Service::begin_shutdown() {
  core_->shards.front()->post([core = core_] {
    core->sessions.stop_tending();
    if (core->keyring) core->keyring->stop();
    if (core->tasks) core->tasks->shut_down();
  });
  for (runtime::Shard* shard : core_->shards) {
    shard->post([core = core_, shard] {
      core->local(*shard).streams.shut_down();
      core->local(*shard).sse.shut_down();
      core->local(*shard).desk.shut_down();
      core->local(*shard).over.cancel("mcpx is stopping");
    });
  }
}

Task<void> Service::stop() {
  for (runtime::Shard* shard : core_->shards) {
    const std::function<Task<bool>()> make = [core = core_, shard] {
      return join_tasks(*core, *shard);
    };
    co_await runtime::run_on<bool>(*shard, make);
  }
}

std::size_t Service::sessions() const {
  return core_->sessions.size();
}

}  // namespace mcpx::downstream
