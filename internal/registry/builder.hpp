// Builder: servers and their catalogues in, a Snapshot out. Pure. Thread: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "registry/snapshot.hpp"
#include "upstream/catalogue.hpp"

namespace mcpx::registry {

// One server as the registry sees it when it builds.
struct ServerView {
  // Its own, or that of a newer configuration which changes only how it is shown.
  std::shared_ptr<const config::Server> config;
  std::shared_ptr<upstream::Server> server;              // in force; may be null
  std::shared_ptr<const upstream::Catalogue> catalogue;  // null until its lists were first read
};

struct BuildOptions {
  std::shared_ptr<const Profiles> profiles = std::make_shared<const Profiles>();
  std::shared_ptr<const config::Config> config;  // only carried along
  std::string server_info;                       // raw Implementation object of mcpx
};

// What `before` (may be null) made of servers that list the same as then is used again.
std::shared_ptr<const Snapshot> build_snapshot(const std::vector<ServerView>& servers,
                                               const BuildOptions& options, std::uint64_t version,
                                               const Snapshot* before = nullptr);

}  // namespace mcpx::registry
