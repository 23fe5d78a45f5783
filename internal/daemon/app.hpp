// App: the daemon: makes the rooms in order, waits for a signal, takes them down in reverse. SIGHUP
// reloads the configuration (reload.hpp).
//
// Start: shards, the store and the sweep of what a killed daemon left, servers, registry,
// downstream and admin, listeners. Stop (style.md P8): stop accepting, let requests finish within
// shutdown_grace, end streams, stop servers and their children, join, let the shards run dry, close
// the log. Thread: startup (the main thread).
#pragma once

#include <functional>
#include <string>

#include "config/config.hpp"

namespace mcpx::daemon {

struct Options {
  std::string supervisor;  // path of mcpx-supervise; empty: beside this program, or in libexec
  // Reads the configuration again, for a reload; empty: SIGHUP is without effect.
  std::function<config::LoadResult()> read;
};

// Runs until SIGTERM or SIGINT. The exit status of the process: 0 after an orderly stop, 1 when it
// could not start (why is in the log).
int run(const config::Config& config, const Options& options);

}  // namespace mcpx::daemon
