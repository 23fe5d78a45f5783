// Snapshot: the merged catalogue at one moment: what each endpoint lists, and where each name goes.
//
// Built by the Registry from the servers' catalogues, immutable, shared by every shard. Lists are
// rendered for each revision when it is built, so that serving one is a write. Order is that of the
// configuration, then of each server's own list. Thread: any.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mcp/method.hpp"
#include "mcp/revision.hpp"
#include "mcp/spelling.hpp"
#include "upstream/catalogue.hpp"

namespace mcpx::upstream {
class Server;
}
namespace mcpx::config {
struct Config;
struct Server;
}  // namespace mcpx::config

namespace mcpx::registry {

struct Target {
  upstream::Server* server = nullptr;  // there as long as the endpoint it was found by
  std::string server_name;
  std::string original;   // the name or URI the server knows
  bool own_uris = false;  // the endpoint shows the server's URIs as they are
};

// A whole list result body: `{"tools":[...]}` with what the revision asks for besides.
using Rendered = std::shared_ptr<const std::string>;

// Holds its servers: one that a reload took out is there until its last endpoint is let go.
class Endpoint {
 public:
  std::string name;  // empty: the aggregating endpoint /mcp; else the server of /mcp/{name}
  upstream::Server* server = nullptr;  // of a pass-through endpoint; null on /mcp
  std::shared_ptr<const config::Server> config;
  bool ready = false;  // pass-through: its server's lists were read once; aggregate: any server's
  std::string instructions;                              // decoded; may be empty
  std::string capabilities_legacy, capabilities_modern;  // raw objects, as advertised

  const Rendered& list(mcp::ListKind kind, mcp::Revision revision) const;
  std::optional<Target> tool(std::string_view exposed) const;
  std::optional<Target> prompt(std::string_view exposed) const;
  std::optional<Target> resource(std::string_view exposed) const;  // listed, template or qualified
  bool aggregate() const { return server == nullptr; }
  const std::vector<upstream::Server*>& sources() const { return sources_; }  // all it lists of
  // Exposed tools in list order, for /v1/tools.
  struct ToolRow {
    std::string exposed, original, server;
    std::string definition;  // raw, with the exposed name
  };
  const std::vector<ToolRow>& tools() const { return tool_rows_; }

 private:
  friend class Builder;
  using Names = std::unordered_map<std::string, Target>;
  std::optional<Target> find(const Names& names, std::string_view exposed) const;
  std::optional<Target> own(std::string_view original) const;

  std::array<std::array<Rendered, mcp::kRevisions>, mcp::kListKinds> lists_;
  Names tools_, prompts_, resources_;
  std::map<std::string, upstream::Server*, std::less<>> servers_;  // by name, for qualified URIs
  // The one server whose prefix is empty: a URI that is not qualified is one of its own.
  std::optional<Target> bare_;
  std::vector<ToolRow> tool_rows_;
  std::vector<upstream::Server*> sources_;
  std::vector<std::shared_ptr<upstream::Server>> held_;  // what the pointers above point to
};

struct Snapshot {
  std::uint64_t version = 0;
  std::shared_ptr<const config::Config> config;            // in force
  std::vector<std::shared_ptr<upstream::Server>> servers;  // in the order of the configuration
  std::vector<std::string> collisions;  // what was renamed and why, for /v1/status
  std::map<std::string, std::shared_ptr<const Endpoint>, std::less<>> endpoints;  // "" is /mcp

  std::shared_ptr<const Endpoint> find(std::string_view endpoint) const;
};

}  // namespace mcpx::registry
