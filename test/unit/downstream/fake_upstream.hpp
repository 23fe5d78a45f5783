// upstream::Server as a script: linked instead of the real one, so that the registry and the rooms
// above it run as they are, without children or sockets. One script per server name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "upstream/server.hpp"

namespace mcpx::test {

struct ServerScript {
  // What call() answers; by default {"content":[{"type":"text","text":"NAME"}]}.
  std::function<Task<call::Outcome>(const call::Call&)> call;
  std::shared_ptr<const upstream::Catalogue> catalogue;
  upstream::Status status;
  mcp::Era era = mcp::Era::legacy;
  int calls = 0;
  std::string last_params, last_target;  // of the latest call
  // What is watched now, and how often; what cannot be watched, with the error object for it.
  std::map<std::string, int> watched;
  std::map<std::string, std::string> unwatchable;
  // Set by the registry.
  std::function<void(std::vector<upstream::ResourceUpdate>)> on_updated;
  std::function<void(mcp::ListKind, bool)> on_catalogue;
  std::function<void(upstream::State)> on_state;
};

// The script of that server, made on first use; forget_scripts() between tests.
ServerScript& script(const std::string& name);
void forget_scripts();

// A catalogue with these tools, prompts and resources, of a server of `revision`.
std::shared_ptr<const upstream::Catalogue> catalogue_of(const std::vector<std::string>& tools,
                                                        const std::vector<std::string>& prompts,
                                                        const std::vector<std::string>& resources);

}  // namespace mcpx::test
