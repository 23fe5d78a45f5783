// Starting mcpxd for `mcpx connect --spawn`: detached, with its output in a log file.
// Thread: any.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "client.hpp"

namespace mcpx::cli {

using EnvironmentFunction = std::function<std::optional<std::string>(const std::string&)>;

struct Spawned {
  pid_t pid = -1;
  std::string log;  // the file with its output
};

// "$XDG_STATE_HOME/mcpx/mcpxd.log" or "~/.local/state/mcpx/mcpxd.log".
std::string spawn_log_path(const EnvironmentFunction& environment);

// The mcpxd beside this program, else the one in PATH. Error: connect.spawn.
Result<Spawned> spawn_daemon(const std::string& config, const EnvironmentFunction& environment);

// How it ended, if it did: "exit code 1", "signal 9". Reaps it.
std::optional<std::string> ended(const Spawned& daemon);

// The last lines of a log.
std::string log_tail(const std::string& path);

// Starts mcpxd unless the one wanted answers, and waits until it does. Error: connect.spawn.
Result<void> ensure_daemon(const Daemon& wanted, const std::string& config, Milliseconds wait,
                           const EnvironmentFunction& environment);

}  // namespace mcpx::cli
