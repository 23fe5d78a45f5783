// Memory: what an earlier daemon found out about a server, and what is kept for a later one: its
// era and its last good lists, so that a start-up serves them at once and asks nothing twice.
//
// Both hold for the server's configuration (config::digest), not for its name. Private lists are
// not kept: they belong to whoever was authorised when they were read. Without a store nothing is
// kept. Thread: home shard of the server.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "mcp/probe.hpp"
#include "runtime/task.hpp"
#include "store/store.hpp"
#include "upstream/catalogue.hpp"

namespace mcpx::upstream {

struct Known {
  std::optional<mcp::Era> era;
  std::shared_ptr<const Catalogue> catalogue;  // null when there is none
};

class Memory {
 public:
  Memory(const config::Server& config, store::Store* store);

  Task<Known> recall();
  // The era of that revision; nullopt: what was known is refuted.
  Task<void> keep_era(std::optional<mcp::Revision> revision);
  Task<void> keep_catalogue(std::shared_ptr<const Catalogue> catalogue);

 private:
  const std::string name_, digest_;
  store::Store* const store_;
};

// The texts that are kept. reading them back answers null for what this mcpx did not write.
std::string facts_text(const Catalogue& catalogue);
std::string lists_text(const Catalogue& catalogue);
std::shared_ptr<const Catalogue> catalogue_of(const std::string& facts, const std::string& lists);

}  // namespace mcpx::upstream
