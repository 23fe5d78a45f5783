// Following the daemon's events, over reconnections. Thread: startup (runs a shard of its own).
#pragma once

#include <functional>
#include <string_view>

#include "command.hpp"

namespace mcpx::cli {

// Calls `told` with each event until the daemon is away for too long. The exit code.
int follow_events(const Context& context, std::function<void(std::string_view event)> told);

}  // namespace mcpx::cli
