// Servers: the upstream servers of the daemon: those in force, and those that a reload has taken
// out and that finish what they are at.
//
// A server keeps its shard for its life, and hands it on to the one that takes its place.
// Thread: the first shard, except retiring().
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "config/config.hpp"
#include "config/diff.hpp"
#include "runtime/shard.hpp"
#include "runtime/task_group.hpp"
#include "upstream/server.hpp"

namespace mcpx::daemon {

using ServerList = std::vector<std::shared_ptr<upstream::Server>>;

class Servers {
 public:
  explicit Servers(std::vector<runtime::Shard*> shards);

  // What every server made from now on is given.
  void use(upstream::Environment environment) { environment_ = std::move(environment); }
  const upstream::Environment& environment() const { return environment_; }

  // Those of `config` in its order: the running ones that are kept, and new ones, not started.
  ServerList next(const config::Config& config, const std::vector<config::Fate>& fates);
  // They are the running ones from now on. Nothing new goes to the others any more; their calls
  // under way have until `grace` is over, then their children end.
  void adopt(ServerList next, Milliseconds grace);

  const ServerList& running() const { return running_; }
  std::size_t retiring() const { return retiring_; }  // any thread

  // All of them, those that are finishing too.
  Task<void> stop(TimePoint deadline);
  void clear() { running_.clear(); }

 private:
  std::shared_ptr<upstream::Server> named(const std::string& name) const;
  Task<void> retire(std::shared_ptr<upstream::Server> server, TimePoint deadline);
  Task<void> wait_for_calls(std::shared_ptr<upstream::Server> server, TimePoint deadline);

  std::vector<runtime::Shard*> shards_;
  upstream::Environment environment_;
  ServerList running_;
  std::size_t made_ = 0;  // with a shard of their own choice
  std::atomic<std::size_t> retiring_{0};
  TimePoint stop_by_ = kNever;
  runtime::TaskGroup tasks_;
};

// Whatever was posted to a shard before now has run when this is done, and what that posted in
// turn.
Task<void> settle(const std::vector<runtime::Shard*>& shards);

}  // namespace mcpx::daemon
