// What a reload has to do: one configuration against the next. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace mcpx::config {

enum class Fate : std::uint8_t {
  kept,      // nothing that is about it has changed
  relisted,  // runs on; what is shown of it, or under which names, is another
  changed,   // another one takes its place
  added
};

struct Difference {
  std::vector<Fate> servers;         // of the new configuration, in its order
  std::vector<std::string> removed;  // names, in the order of the old one
};

// A server is what its block says, references resolved, and what of the whole file it runs under:
// `path` of those with a command, the limits on what servers send.
Difference difference(const Config& before, const Config& after);

// The settings of `after` that take effect only when the daemon that started with `running` is
// started again, by the names they have in the file: "listen.http".
std::vector<std::string> restart_needed(const Config& running, const Config& after);

}  // namespace mcpx::config
