#include "http/server.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "http/connection.hpp"
#include "http/server_side.hpp"
#include "log/log.hpp"
#include "runtime/timer.hpp"

namespace mcpx::http {
namespace {

// Connections turned away with a 503 at one time; beyond, they are closed without a word.
constexpr std::size_t kTurnedAway = 64;

bool matches(const Route& route, std::string_view path) {
  if (path.substr(0, route.prefix.size()) != route.prefix) return false;
  return path.size() == route.prefix.size() || path[route.prefix.size()] == '/' ||
         route.prefix.back() == '/';
}

std::shared_ptr<const ServerOptions> completed(const ServerOptions& options) {
  auto out = std::make_shared<ServerOptions>(options);
  if (!out->access) out->access = std::make_shared<const Access>(AccessOptions());
  return out;
}

}  // namespace

Handler* ServerShared::route(std::string_view path) const {
  for (const Route& candidate : routes) {
    if (matches(candidate, path)) return candidate.handler;
  }
  return nullptr;
}

struct Server::Impl {
  Impl(const ServerOptions& options, std::vector<Route> routes) : settings(completed(options)) {
    shared.routes = std::move(routes);
    std::stable_sort(
        shared.routes.begin(), shared.routes.end(),
        [](const Route& a, const Route& b) { return a.prefix.size() > b.prefix.size(); });
  }

  ServerSide& side(runtime::Shard& shard) {
    const std::lock_guard guard(mutex);
    auto& found = sides[&shard];
    if (!found) found = std::make_shared<ServerSide>(shard, shared, settings);
    return *found;
  }

  Task<void> serve_connection(ServerSide& side, std::unique_ptr<Connection> connection);
  Task<void> serve_secure(ServerSide& side, std::unique_ptr<net::ByteStream> stream,
                          Connection::Admission admission);

  ServerShared shared;
  std::mutex mutex;  // of the next two, taken once per connection; a side belongs to its shard
  std::shared_ptr<const ServerOptions> settings;
  std::unordered_map<runtime::Shard*, std::shared_ptr<ServerSide>> sides;
};

Task<void> Server::Impl::serve_connection(ServerSide& side,
                                          std::unique_ptr<Connection> connection) {
  side.connections.insert(connection.get());
  co_await connection->run();
  side.connections.erase(connection.get());
  const bool counted = connection->counted;
  connection.reset();
  if (counted) --shared.open;
}

Task<void> Server::Impl::serve_secure(ServerSide& side, std::unique_ptr<net::ByteStream> stream,
                                      Connection::Admission admission) {
  Handshake handshake;
  const auto place = side.handshakes.insert(side.handshakes.end(), &handshake);
  const TimePoint deadline = Clock::now() + side.options->handshake_timeout;
  std::shared_ptr<const net::TlsContext> context = side.options->tls;
  const std::string peer = stream->peer();
  Result<net::AcceptedTls> accepted =
      co_await net::accept_tls(std::move(stream), std::move(context), deadline, &handshake.cancel);
  if (handshake.counted) side.handshakes.erase(place);  // else it was taken out
  if (!accepted || side.stopping || !handshake.counted) {
    if (!accepted) log::debug("{}: no TLS connection: {}", peer, accepted.error().message);
    if (handshake.counted) --shared.open;
    co_return;
  }
  if (!accepted->secure) admission = Connection::Admission::plain;
  auto connection = std::make_unique<Connection>(side, std::move(accepted->stream),
                                                 Server::Transport::tcp, admission);
  co_await serve_connection(side, std::move(connection));
}

Server::Server(const ServerOptions& options, std::vector<Route> routes)
    : impl_(std::make_unique<Impl>(options, std::move(routes))) {}
Server::~Server() = default;

void Server::serve(runtime::Shard& shard, std::unique_ptr<net::ByteStream> stream,
                   Transport transport) {
  ServerSide& side = impl_->side(shard);
  if (side.stopping) return;  // the stream closes
  const std::size_t limit = side.options->connections;
  std::size_t open = ++impl_->shared.open;
  if (open > limit && side.make_room()) --open;
  if (open > limit + kTurnedAway) {
    --impl_->shared.open;
    return;
  }
  const auto admission =
      open > limit ? Connection::Admission::turned_away : Connection::Admission::served;
  if (transport == Transport::tcp && side.options->tls) {
    side.group.spawn("tls handshake", impl_->serve_secure(side, std::move(stream), admission));
    return;
  }
  auto connection = std::make_unique<Connection>(side, std::move(stream), transport, admission);
  side.group.spawn("http connection", impl_->serve_connection(side, std::move(connection)));
}

void Server::reconfigure(const ServerOptions& options) {
  const std::lock_guard guard(impl_->mutex);
  impl_->settings = completed(options);
  for (const auto& [shard, side] : impl_->sides) {
    shard->post([side = side, next = impl_->settings] { side->options = next; });
  }
}

std::size_t Server::connections() const {
  return impl_->shared.open;
}

Task<void> Server::stop(runtime::Shard& shard, TimePoint deadline) {
  ServerSide& side = impl_->side(shard);
  side.stopping = true;
  // Copies: a connection may end, and leave the set, as soon as it is told.
  const std::vector<Handshake*> greeting(side.handshakes.begin(), side.handshakes.end());
  for (Handshake* handshake : greeting) {
    handshake->cancel.cancel("mcpx is stopping");
  }
  const std::vector<Connection*> now(side.connections.begin(), side.connections.end());
  for (Connection* connection : now) {
    connection->finish();
  }
  runtime::Watchdog watchdog(shard, [&side] {
    const std::vector<Connection*> late(side.connections.begin(), side.connections.end());
    for (Connection* connection : late)
      connection->abort();
  });
  watchdog.set(deadline);
  co_await side.group.join();
}

}  // namespace mcpx::http
