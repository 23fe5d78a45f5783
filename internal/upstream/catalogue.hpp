// Catalogue: what one server offers, as it said so, at one moment. Immutable; shared as a snapshot
// between the server's home shard, the registry and every reader. Thread: any.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "mcp/method.hpp"
#include "mcp/param_headers.hpp"
#include "mcp/probe.hpp"

namespace mcpx::upstream {

// One tool, prompt, resource or template: its raw definition and the member that names it, decoded.
struct Item {
  std::string id;          // name, uri or uriTemplate
  std::string definition;  // raw object, byte for byte
};

// What is said to stay the same for longer is believed for this long.
inline constexpr std::int64_t kFreshAtMostMs = std::int64_t{30} * 24 * 3'600 * 1'000;

struct List {
  std::vector<Item> items;
  std::int64_t ttl_ms = 0;  // smallest of its pages; 0 from a legacy server
  bool is_private = false;  // true if any page said so
  // Until when it may be served without asking again: what its pages allow, of a modern server. A
  // legacy list lives until list_changed.
  TimePoint fresh_until = kNever;
  // What was odd: a repeated cursor, an item without a name, a tool that had to be left out.
  std::vector<std::string> remarks;
};

// Whether a call of a tool of 2025-11-25 may be, or has to be, a task.
enum class TaskSupport : std::uint8_t { forbidden, optional, required };

// What a call of one tool depends on, read from its definition.
struct ToolTraits {
  std::vector<mcp::MirroredParam> mirrored;  // arguments its server wants to see in header fields
  bool repeatable = false;                   // the server says that calling it again does no harm
  TaskSupport tasks = TaskSupport::forbidden;
  bool app_only = false;  // it is for the interface of an app, not for a model (SEP-1865)
};

struct Catalogue {
  mcp::ServerFacts facts;
  std::array<List, mcp::kListKinds> lists;
  std::vector<std::string> remarks;  // those of all lists

  // Reads the traits of the tools; whoever has filled in the lists calls it once.
  void note_traits();

  const List& list(mcp::ListKind kind) const { return lists[static_cast<std::size_t>(kind)]; }
  // By the tool's own name; null for one that has none (or is not listed).
  const ToolTraits* traits_of(std::string_view tool) const;
  // True if the server says of that tool that calling it again does no harm.
  bool repeatable(std::string_view tool) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, ToolTraits, Hash, std::equal_to<>> traits_;
};

}  // namespace mcpx::upstream
