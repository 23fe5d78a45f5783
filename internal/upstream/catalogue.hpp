// Catalogue: what one server offers, as it said so, at one moment. Immutable; shared as a snapshot
// between the server's home shard, the registry and every reader. Thread: any.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/method.hpp"
#include "mcp/probe.hpp"

namespace mcpx::upstream {

// One tool, prompt, resource or template: its raw definition and the member that names it, decoded.
struct Item {
  std::string id;          // name, uri or uriTemplate
  std::string definition;  // raw object, byte for byte
};

struct List {
  std::vector<Item> items;
  std::int64_t ttl_ms = 0;  // smallest of its pages; 0 from a legacy server
  bool is_private = false;  // true if any page said so
};

struct Catalogue {
  mcp::ServerFacts facts;
  std::array<List, mcp::kListKinds> lists;
  std::vector<std::string> remarks;  // what was odd: a repeated cursor, an item without a name

  // True if the server says of that tool, by its own name, that calling it again does no harm.
  bool repeatable(std::string_view tool) const;
  const List& list(mcp::ListKind kind) const { return lists[static_cast<std::size_t>(kind)]; }
};

}  // namespace mcpx::upstream
