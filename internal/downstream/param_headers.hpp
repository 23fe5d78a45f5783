// Mcp-Param-* fields: tool arguments that a tool's schema asks to see mirrored (`x-mcp-header`),
// and the check that field and argument say the same (2026-07-28 basic/transports/streamable-http,
// "Server Behavior for Custom Headers"). Thread: ParamHeaders its shard; the rest any.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "http1/message.hpp"
#include "json/json.hpp"
#include "mcp/param_headers.hpp"
#include "registry/snapshot.hpp"

namespace mcpx::downstream {

// What is wrong with the fields, for a HeaderMismatch error; nullopt when they agree.
std::optional<std::string> mismatched_param(const http1::Fields& fields,
                                            const std::vector<mcp::MirroredParam>& params,
                                            json::Raw arguments);

// The annotations of every tool of an endpoint, read once per snapshot.
class ParamHeaders {
 public:
  // Null for a tool without annotations.
  const std::vector<mcp::MirroredParam>* find(
      const std::shared_ptr<const registry::Endpoint>& endpoint, const std::string& tool);

 private:
  struct Table {
    std::weak_ptr<const registry::Endpoint> endpoint;  // an old snapshot is not kept alive
    std::unordered_map<std::string, std::vector<mcp::MirroredParam>> tools;
  };
  std::map<std::string, Table> tables_;  // by endpoint name
};

}  // namespace mcpx::downstream
