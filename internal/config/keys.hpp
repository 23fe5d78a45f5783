// The tables of keys: every key a configuration may hold is a row in one of them. Thread: any.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/reader.hpp"
#include "config/server_draft.hpp"

namespace mcpx::config {

struct ServerDefaults {
  std::optional<ProxyChoice> proxy;
  std::optional<std::vector<Root>> roots;
};

// Everything about one file while it is read.
struct Draft {
  Config config;
  std::map<std::string, Position> names;  // of servers, over `servers` and `mcpServers`
  std::map<std::string, Position> prefixes;
  // What a server may leave to the file, and what each of `config.servers` says itself.
  ServerDefaults file_defaults;
  std::vector<ServerDefaults> defaults;
  bool state_dir_set = false;
};

void read_root(Context& context, const Field& field, Draft& draft);

// `servers:` or `mcpServers:`, a mapping from name to server.
void read_servers(Context& context, const Field& field, Draft& draft);

// After everything was read: what servers left to the file, and what the environment decides.
void apply_defaults(Context& context, Draft& draft);

// Every key as a dotted path, "listen.http", "servers.NAME.tools.allow", for documentation checks.
std::vector<std::string> known_keys();
std::vector<std::string> known_server_keys();

}  // namespace mcpx::config
