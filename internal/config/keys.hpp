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

// `listen:`, with what is checked when all of the file is known.
struct ListenDraft : Listen {
  std::optional<Position> open_at;            // of an address beyond loopback
  std::map<std::string, Position> endpoints;  // that tokens name
};

// Everything about one file while it is read.
struct Draft {
  Config config;
  ListenDraft listen;                     // becomes config.listen
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

// The mappings inside `listen:` (listen_keys.cpp), and what must hold between its keys.
void read_tokens(Context& context, const Field& field, ListenDraft& listen);
void read_listen_tls(Context& context, const Field& field, ListenDraft& listen);
void read_listen_timeouts(Context& context, const Field& field, ListenDraft& listen);
void check_listen(Context& context, Draft& draft);
void add_listen_keys(std::vector<std::string>& out);  // "listen.tls.cert"

// `clients:`, a mapping from pattern to client.
void read_clients(Context& context, const Field& field, Draft& draft);
// A number of entries, or "all", which is 0.
void read_page_size(Context& context, const Field& field, std::size_t& size);

// `broker:`, what becomes of questions that no connected client can answer.
void read_broker(Context& context, const Field& field, Draft& draft);
void add_broker_keys(std::vector<std::string>& out);  // "broker.policy"

// After everything was read: what servers left to the file, and what the environment decides.
void apply_defaults(Context& context, Draft& draft);

// Every key as a dotted path, "listen.http", "servers.NAME.tools.allow", for documentation checks.
std::vector<std::string> known_keys();
std::vector<std::string> known_server_keys();
std::vector<std::string> known_client_keys();

}  // namespace mcpx::config
