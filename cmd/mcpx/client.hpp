// One request to the daemon's /v1 and its answer, for commands that ask once and print.
// Thread: startup (runs a shard of its own until the answer is there).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/tls.hpp"

namespace mcpx::cli {

struct Answer {
  unsigned status = 0;
  std::string body;
};

// Where the daemon is, and how to get in.
struct Daemon {
  std::string url;            // "http://...", "https://..." or "unix:/..."
  std::string authorization;  // the header, "Bearer ..."; empty: none
  std::string ca_file;        // authorities trusted instead of the system's, for https
};

// TLS for a daemon at https; null for one that needs none. Error: cli.tls.
Result<std::shared_ptr<const net::TlsContext>> tls_for(const Daemon& daemon);

// Errors: cli.url (a bad --url), cli.tls, cli.unreachable, cli.failed, each with a remedy.
Result<Answer> ask_daemon(const Daemon& daemon, std::string_view method, const std::string& target,
                          std::string_view body, Milliseconds timeout);

// The exit code an error of ask_daemon() stands for.
int exit_code_of(const Error& error);

// What to do when nobody answers.
std::string unreachable_remedy();

// A tool or server name as one segment of a path.
std::string percent_encoded(std::string_view text);

}  // namespace mcpx::cli
