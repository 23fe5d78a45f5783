// One request to the daemon's /v1 and its answer, for commands that ask once and print.
// Thread: startup (runs a shard of its own until the answer is there).
#pragma once

#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace mcpx::cli {

struct Answer {
  unsigned status = 0;
  std::string body;
};

// Errors: cli.url (a bad --url), cli.unreachable, cli.failed, each with a remedy.
Result<Answer> ask_daemon(const std::string& url, std::string_view method,
                          const std::string& target, std::string_view body, Milliseconds timeout);

// The exit code an error of ask_daemon() stands for.
int exit_code_of(const Error& error);

// What to do when nobody answers.
std::string unreachable_remedy();

// A tool or server name as one segment of a path.
std::string percent_encoded(std::string_view text);

}  // namespace mcpx::cli
