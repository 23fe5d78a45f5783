#include "config/diff.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace mcpx::config {
namespace {

// How a server is shown is for whoever merges the lists, not for the server.
Server as_it_runs(const Server& server) {
  Server copy = server;
  copy.prefix.reset();
  copy.tools_allow.clear();
  copy.tools_deny.clear();
  return copy;
}

bool same_surroundings(const Config& before, const Config& after, const Server& server) {
  const Limits &a = before.limits, &b = after.limits;
  if (a.message_bytes != b.message_bytes || a.json_depth != b.json_depth ||
      a.calls_per_server != b.calls_per_server) {
    return false;
  }
  // What it is told that it may ask when no client is there.
  if (before.broker.declare != after.broker.declare) return false;
  if (server.is_http()) return true;
  return a.stderr_bytes == b.stderr_bytes && before.path_extra == after.path_extra;
}

const Server* named(const Config& config, const std::string& name) {
  const auto found = std::find_if(config.servers.begin(), config.servers.end(),
                                  [&](const Server& server) { return server.name == name; });
  return found == config.servers.end() ? nullptr : &*found;
}

Fate fate_of(const Config& before, const Config& after, const Server& server) {
  const Server* was = named(before, server.name);
  if (!was) return Fate::added;
  if (!same_surroundings(before, after, server)) return Fate::changed;
  if (*was == server) return Fate::kept;
  return as_it_runs(*was) == as_it_runs(server) ? Fate::relisted : Fate::changed;
}

}  // namespace

Difference difference(const Config& before, const Config& after) {
  Difference out;
  for (const Server& server : after.servers)
    out.servers.push_back(fate_of(before, after, server));
  for (const Server& server : before.servers) {
    if (!named(after, server.name)) out.removed.push_back(server.name);
  }
  return out;
}

std::vector<std::string> restart_needed(const Config& running, const Config& after) {
  const Listen &a = running.listen, &b = after.listen;
  const bool http =
      a.http_enabled != b.http_enabled || a.http_host != b.http_host || a.http_port != b.http_port;
  const std::pair<std::string_view, bool> fixed[] = {
      {"listen.http", http},
      {"listen.unix", a.unix_path != b.unix_path},
      {"threads", running.threads != after.threads},
      {"state_dir", running.state_dir != after.state_dir},
  };
  std::vector<std::string> out;
  for (const auto& [name, differs] : fixed) {
    if (differs) out.emplace_back(name);
  }
  return out;
}

}  // namespace mcpx::config
