#include "daemon/servers.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "log/log.hpp"
#include "runtime/hop.hpp"
#include "runtime/timer.hpp"

namespace mcpx::daemon {
namespace {

// How often a server that finishes is asked whether it has. A call costs nothing for it.
constexpr Milliseconds kFirstLook{5}, kLongestLook{100};

Task<bool> stop_server(upstream::Server& server, TimePoint deadline) {
  co_await server.stop(deadline);
  co_return true;
}

Task<void> stop_at_home(std::shared_ptr<upstream::Server> server, TimePoint deadline) {
  const std::function<Task<bool>()> there = [&server, deadline] {
    return stop_server(*server, deadline);
  };
  co_await runtime::run_on<bool>(server->home(), there);
}

Task<bool> nothing() {
  co_return true;
}

}  // namespace

Task<void> settle(const std::vector<runtime::Shard*>& shards) {
  for (int round = 0; round < 2; ++round) {
    for (runtime::Shard* shard : shards) {
      const std::function<Task<bool>()> there = nothing;
      co_await runtime::run_on<bool>(*shard, there);
    }
  }
}

Servers::Servers(std::vector<runtime::Shard*> shards)
    : shards_(std::move(shards)), tasks_(*shards_.front()) {}

std::shared_ptr<upstream::Server> Servers::named(const std::string& name) const {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const auto& server) { return server->name() == name; });
  return found == running_.end() ? nullptr : *found;
}

ServerList Servers::next(const config::Config& config, const std::vector<config::Fate>& fates) {
  ServerList list;
  for (std::size_t i = 0; i < config.servers.size(); ++i) {
    auto before = named(config.servers[i].name);
    const bool stays = fates[i] == config::Fate::kept || fates[i] == config::Fate::relisted;
    if (before && stays) {
      list.push_back(std::move(before));
      continue;
    }
    runtime::Shard& home = before ? before->home() : *shards_[made_++ % shards_.size()];
    list.push_back(upstream::make_server(home, config.servers[i], environment_));
  }
  return list;
}

void Servers::adopt(ServerList next, Milliseconds grace) {
  for (const auto& server : running_) {
    if (std::find(next.begin(), next.end(), server) != next.end()) continue;
    ++retiring_;
    tasks_.spawn("retire server", retire(server, Clock::now() + grace));
  }
  running_ = std::move(next);
}

Task<void> Servers::retire(std::shared_ptr<upstream::Server> server, TimePoint deadline) {
  co_await wait_for_calls(server, deadline);
  const std::size_t late = server->in_flight();
  if (late > 0 && stop_by_ == kNever) {
    log::warning("server {}: {} calls are not done within reload_grace and are broken off",
                 server->name(), late);
  }
  const TimePoint stop_by = stop_by_ == kNever ? Clock::now() : stop_by_;
  co_await stop_at_home(server, stop_by);
  co_await settle(shards_);
  log::debug("server {}: what ran before the reload has ended", server->name());
  --retiring_;
}

Task<void> Servers::wait_for_calls(std::shared_ptr<upstream::Server> server, TimePoint deadline) {
  runtime::Timer timer(*shards_.front());
  Milliseconds look = kFirstLook;
  while (server->in_flight() > 0 && Clock::now() < deadline && stop_by_ == kNever) {
    co_await timer.sleep_for(look);
    look = std::min(2 * look, kLongestLook);
  }
}

Task<void> Servers::stop(TimePoint deadline) {
  stop_by_ = deadline;
  for (const auto& server : running_)
    tasks_.spawn("stop server", stop_at_home(server, deadline));
  co_await tasks_.join();
}

}  // namespace mcpx::daemon
