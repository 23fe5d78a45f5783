// The synchronous half of starting a child: find the program, make the pipes, posix_spawn the
// supervisor. Private to the room. Thread: any.
#pragma once

#include <string>

#include "base/result.hpp"
#include "process/child.hpp"
#include "process/descriptor.hpp"

namespace mcpx::process {

struct Spawned {
  pid_t supervisor = 0;
  Descriptor exit;                   // pidfd of the supervisor
  Descriptor control;                // our end of the socket pair, non-blocking
  Descriptor input, output, errors;  // our ends of the server's standard streams
};

// The file to run for a command, and its directory checked: so that the ordinary mistakes are
// answered at once and by name. Error: upstream.spawn_failed.
Result<std::string> locate_program(const Command& command);

Result<Spawned> spawn_supervised(const Command& command, const std::string& program,
                                 const Child::Options& options);

Error spawn_error(const std::string& program, const std::string& reason, std::string remedy = {});

}  // namespace mcpx::process
