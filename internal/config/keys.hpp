// The tables of keys: every key a configuration may hold is a row in one of them. Thread: any.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/reader.hpp"

namespace mcpx::config {

// Everything about one file while it is read.
struct Draft {
  Config config;
  std::map<std::string, Position> names;  // of servers, over `servers` and `mcpServers`
  std::map<std::string, Position> prefixes;
};

void read_root(Context& context, const Field& field, Draft& draft);

// `servers:` or `mcpServers:`, a mapping from name to server.
void read_servers(Context& context, const Field& field, Draft& draft);

// Every key as a dotted path, "listen.http", "servers.NAME.tools.allow", for documentation checks.
std::vector<std::string> known_keys();
std::vector<std::string> known_server_keys();

}  // namespace mcpx::config
