// Reloader: reads the configuration again and makes the running daemon what it says.
//
// One at a time. Whoever asks while one is under way gets the answer of the next, which reads the
// file anew for all of them. A configuration that does not load changes nothing.
// Thread: reload() any shard; the rest the first shard.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "admin/admin.hpp"
#include "config/config.hpp"
#include "config/diff.hpp"
#include "daemon/servers.hpp"
#include "registry/registry.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/shard.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::daemon {

class Reloader {
 public:
  using Read = std::function<config::LoadResult()>;  // runs on a thread of its own
  using ConfigPtr = std::shared_ptr<const config::Config>;
  // What else follows a configuration that is about to be, or is, in force; each on the first
  // shard.
  struct Followers {
    // Before new servers start: what is a secret now, and was one before.
    std::function<void(const ConfigPtr&, std::shared_ptr<const Redactor>)> coming;
    // After the registry has it; the endpoints named are gone.
    std::function<Task<void>(ConfigPtr, std::vector<std::string>)> there;
  };

  // `running` is what the daemon has started with. The registry and the servers outlive it.
  Reloader(runtime::Shard& home, Read read, ConfigPtr running, registry::Registry& registry,
           Servers& servers, Followers followers);

  // Answers when it is done, or was refused; either is in the log too.
  Task<admin::Reloaded> reload();

  const ConfigPtr& config() const { return config_; }  // in force

  void hurry();       // the daemon stops: nothing is waited for, and nothing new begun
  Task<void> join();  // after hurry()

 private:
  using Loaded = std::shared_ptr<const config::LoadResult>;
  using Waiting = std::vector<std::shared_ptr<runtime::OneShot<admin::Reloaded>>>;

  Task<admin::Reloaded> ask();
  Task<void> run();
  Task<admin::Reloaded> once();
  Task<Loaded> load();
  Task<admin::Reloaded> apply(ConfigPtr after);
  std::vector<std::string> secrets_with(const config::Config& after);
  admin::Reloaded refused(const std::vector<config::Problem>& problems) const;

  runtime::Shard& home_;
  Read read_;
  const ConfigPtr started_with_;
  ConfigPtr config_;
  registry::Registry& registry_;
  Servers& servers_;
  Followers followers_;
  std::set<std::string> former_secrets_;
  Waiting waiting_;
  bool running_ = false, stopping_ = false;
  runtime::TaskGroup tasks_;
};

}  // namespace mcpx::daemon
