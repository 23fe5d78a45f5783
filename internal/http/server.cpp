#include "http/server.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "http/connection.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"

namespace mcpx::http {
namespace {

// Connections turned away with a 503 at one time; beyond, they are closed without a word.
constexpr std::size_t kTurnedAway = 64;

// The connections of one shard. Thread: that shard.
struct ShardSide {
  explicit ShardSide(runtime::Shard& shard) : group(shard) {}
  runtime::TaskGroup group;
  std::unordered_set<Connection*> connections;
  bool stopping = false;
};

bool matches(const Route& route, std::string_view path) {
  if (path.substr(0, route.prefix.size()) != route.prefix) return false;
  return path.size() == route.prefix.size() || path[route.prefix.size()] == '/' ||
         route.prefix.back() == '/';
}

}  // namespace

struct Server::Impl final : ServerSide {
  Impl(const ServerOptions& options_in, std::vector<Route> routes_in)
      : settings(options_in), routes(std::move(routes_in)) {
    std::stable_sort(routes.begin(), routes.end(), [](const Route& a, const Route& b) {
      return a.prefix.size() > b.prefix.size();
    });
  }

  const ServerOptions& options() const override { return settings; }
  Handler* route(std::string_view path) const override {
    for (const Route& candidate : routes) {
      if (matches(candidate, path)) return candidate.handler;
    }
    return nullptr;
  }
  std::uint64_t next_request_number() override { return ++requests; }

  ShardSide& side(runtime::Shard& shard) {
    const std::lock_guard guard(mutex);
    auto& found = sides[&shard];
    if (!found) found = std::make_unique<ShardSide>(shard);
    return *found;
  }

  Task<void> serve_connection(ShardSide& side, std::unique_ptr<Connection> connection);

  const ServerOptions settings;
  std::vector<Route> routes;  // longest prefix first
  std::atomic<std::size_t> open{0};
  std::atomic<std::uint64_t> requests{0};
  std::mutex mutex;  // of `sides`, taken once per connection; a side itself belongs to its shard
  std::unordered_map<runtime::Shard*, std::unique_ptr<ShardSide>> sides;
};

Task<void> Server::Impl::serve_connection(ShardSide& side, std::unique_ptr<Connection> connection) {
  co_await connection->run();
  side.connections.erase(connection.get());
  connection.reset();
  --open;
}

Server::Server(const ServerOptions& options, std::vector<Route> routes)
    : impl_(std::make_unique<Impl>(options, std::move(routes))) {}
Server::~Server() = default;

void Server::serve(runtime::Shard& shard, std::unique_ptr<net::ByteStream> stream,
                   Transport transport) {
  ShardSide& side = impl_->side(shard);
  const std::size_t limit = impl_->settings.connections;
  const std::size_t open = ++impl_->open;
  if (side.stopping || open > limit + kTurnedAway) {
    --impl_->open;
    return;  // the stream closes
  }
  const auto admission =
      open > limit ? Connection::Admission::turned_away : Connection::Admission::served;
  auto connection =
      std::make_unique<Connection>(*impl_, side.group, std::move(stream), transport, admission);
  side.connections.insert(connection.get());
  side.group.spawn("http connection", impl_->serve_connection(side, std::move(connection)));
}

std::size_t Server::connections() const {
  return impl_->open;
}

Task<void> Server::stop(runtime::Shard& shard, TimePoint deadline) {
  ShardSide& side = impl_->side(shard);
  side.stopping = true;
  // A copy: a connection may end, and leave the set, as soon as it is told.
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
