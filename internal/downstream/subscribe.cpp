#include "downstream/subscribe.hpp"

#include <fmt/format.h>

#include <utility>

#include "downstream/targets.hpp"
#include "mcp/error_codes.hpp"
#include "upstream/server.hpp"

namespace mcpx::downstream {
namespace {

using Added = Subscriptions::Added;

// Where the resource is, and how it will be told of.
struct Place {
  Place(registry::Target target_in, Watched watched_in)
      : target(std::move(target_in)), watched(std::move(watched_in)) {}
  registry::Target target;
  Watched watched;
};
using Placed = std::variant<Place, Answer>;

Placed place_at(const registry::Endpoint& endpoint, const Request& request) {
  if (json::find(endpoint.capabilities_legacy, "resources", "subscribe") != "true") {
    return method_not_found(request);
  }
  Resolution resolution = resolve(endpoint, request);
  if (auto* refusal = std::get_if<Answer>(&resolution)) return std::move(*refusal);
  registry::Target target = std::move(std::get<Resolved>(resolution).target);
  auto server = server_named(request.core.registry, target.server_name);
  if (!server) return no_catalogue();  // a reload took it out this moment
  call::Caller caller;
  describe_caller(caller, request);
  std::string shown = json::decode_string(request.message.uri).value_or("");
  upstream::Watcher watcher = server->watcher_of(caller);
  Watched watched(endpoint, target, std::move(server), std::move(watcher), std::move(shown));
  return Place(std::move(target), std::move(watched));
}

Task<Placed> place_of(Request& request) {
  std::string name(request.endpoint);
  EndpointPtr endpoint = co_await endpoint_when_ready(request.core, std::move(name));
  if (!endpoint) co_return no_catalogue();
  Placed placed = place_at(*endpoint, request);
  if (std::holds_alternative<Answer>(placed) && may_still_come(request)) {
    std::string all;
    endpoint = co_await endpoint_when_listed(request.core, std::move(all));
    if (!endpoint) co_return no_catalogue();
    placed = place_at(*endpoint, request);
  }
  co_return placed;
}

Answer too_many(std::size_t limit) {
  json::ObjectBuilder data;
  const std::string remedy =
      "unsubscribe from resources that are no longer needed, or raise limits.subscriptions";
  data.string("code", "session.subscriptions").string("remedy", remedy);
  return Answer::error(
      rpc::kInternalError,
      fmt::format("this session has {} subscriptions to resources, the limit; {}", limit, remedy),
      data.take());
}

}  // namespace

Task<Answer> subscribe(Request& request) {
  Placed placed = co_await place_of(request);
  if (auto* refusal = std::get_if<Answer>(&placed)) co_return std::move(*refusal);
  Place& place = std::get<Place>(placed);
  Subscriptions& subscriptions = request.core.subscriptions;
  const Session& session = *request.session;
  const std::size_t limit = request.core.config().limits.subscriptions;
  const Added expected = subscriptions.would_add(session, place.watched.key(), limit);
  if (expected == Added::known) co_return Answer::result("{}");
  if (expected == Added::full) co_return too_many(limit);

  upstream::Watcher watcher = place.watched.watcher;
  std::string uri = place.watched.uri;
  call::Outcome outcome = co_await place.watched.on->watch(std::move(watcher), std::move(uri));
  if (!outcome.ok()) co_return spell_error(outcome, request, place.target);
  const Added added = co_await subscriptions.add(session, place.watched, limit);
  if (added != Added::added) unwatch(place.watched);
  if (added == Added::full) co_return too_many(limit);
  SessionPtr changed = session.shared_from_this();
  co_await request.core.sessions.changed(std::move(changed));
  co_return Answer::result("{}");
}

// One that was never made, or is over, is no error: nothing more will be told of it.
Task<Answer> unsubscribe(Request& request) {
  Placed placed = co_await place_of(request);
  if (auto* refusal = std::get_if<Answer>(&placed)) co_return std::move(*refusal);
  const Place& place = std::get<Place>(placed);
  std::string key = place.watched.key();
  std::optional<Watched> removed =
      co_await request.core.subscriptions.remove(*request.session, std::move(key));
  if (removed) {
    unwatch(*removed);
    SessionPtr changed = request.session->shared_from_this();
    co_await request.core.sessions.changed(std::move(changed));
  }
  co_return Answer::result("{}");
}

// Where its resources are is asked of the configuration alone: no server needs to be up yet.
Task<void> restore_subscriptions(Core& core, SessionPtr session, std::string uris) {
  const EndpointPtr endpoint = endpoint_now(core, session->endpoint);
  if (!endpoint || !json::is_array(uris)) co_return;
  call::Caller caller;
  caller.revision = session->revision;
  caller.session = session->id;
  caller.principal = session->principal;
  caller.askable = session->askable;
  const std::size_t limit = core.config().limits.subscriptions;
  runtime::TaskGroup& tasks = core.local(*core.shards.front()).tasks;
  json::Elements elements(uris);
  while (const auto element = elements.next()) {
    std::string shown = json::decode_string(*element).value_or("");
    const auto target = endpoint->resource(shown);
    auto server = target ? server_named(core.registry, target->server_name) : nullptr;
    if (!server) continue;  // it is not there any more
    upstream::Watcher watcher = server->watcher_of(caller);
    Watched before(*endpoint, *target, nullptr, std::move(watcher), std::move(shown));
    co_await core.subscriptions.restore(session, std::move(before), std::move(server), limit,
                                        tasks);
  }
}

void end_subscriptions(Core& core, const Session& session) {
  const WatchedSet had = core.subscriptions.forget(session);
  if (&runtime::Shard::current() != core.shards.front()) return;
  for (const auto& [key, watched] : had)
    unwatch(watched);
}

}  // namespace mcpx::downstream
