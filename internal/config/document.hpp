// The text of a configuration as a tree that knows where everything was written.
//
// yaml-cpp's events feed it, so that depth, size and what aliases expand to are bounded here,
// before anything recursive sees the text, and duplicate keys stay visible. JSON is read by the
// same way: it is YAML in flow style. Thread: any.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/problems.hpp"

namespace mcpx::config {

struct Node;
// Shared, because an alias is a second way to the same node.
using NodePtr = std::shared_ptr<const Node>;

struct Node {
  enum class Kind { null, scalar, list, mapping };
  struct Entry {
    std::string key;
    Position at;  // of the key
    NodePtr value;
  };

  Kind kind = Kind::null;
  Position at;
  std::string scalar;          // as written, escapes resolved
  bool plain = false;          // a scalar without quotes: may mean a number or a boolean
  std::vector<NodePtr> items;  // of a list
  std::vector<Entry> entries;  // of a mapping: duplicates refused, merge keys (`<<`) resolved
  std::size_t weight = 1;      // nodes in this subtree, aliases counted each time

  const Entry* find(std::string_view key) const;
};

inline constexpr std::size_t kMaximumFileBytes = 4u << 20;
inline constexpr std::size_t kMaximumDepth = 64;
inline constexpr std::size_t kMaximumNodes = 100'000;

// Null (and at least one problem) when the text is not one YAML or JSON document; a null node when
// it is empty. Syntax errors end the reading; duplicate keys are reported and reading goes on.
NodePtr read_document(std::string_view text, Problems& problems);

}  // namespace mcpx::config
