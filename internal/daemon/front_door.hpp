// What the configuration says of clients, as the HTTP server wants it; and the descriptors that
// serving them takes. Thread: any.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"
#include "config/config.hpp"
#include "http/server.hpp"

namespace mcpx::daemon {

// As the loader reads it, and refused too when the files of listen.tls cannot be used.
config::LoadResult load(const std::string& file, const config::Environment& environment);

// Reads the files of listen.tls. Errors: net.tls, with the file that is wrong.
Result<http::ServerOptions> server_options(const config::Config& config);

// Whether other machines reach the address.
bool open_to_others(const config::Listen& listen);

struct OpenFiles {
  std::size_t before = 0;  // the soft limit that was found, for children
  std::size_t now = 0;     // the soft limit from here on
};
// Raises the soft limit of open files to the hard one.
OpenFiles raise_open_files();

// How many connections of clients leave enough descriptors for all else: `wanted`, or less, which
// is logged.
std::size_t affordable_connections(const config::Config& config, std::size_t open_files);

}  // namespace mcpx::daemon
