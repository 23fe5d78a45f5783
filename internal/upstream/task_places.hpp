// TaskPlaces: which link of a legacy server has a task, where it has several instances: the others
// do not know it (2025-11-25 basic/utilities/tasks). Of the last few thousand. Thread: the server's
// home shard.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "call/call.hpp"
#include "upstream/link.hpp"

namespace mcpx::upstream {

class TaskPlaces {
 public:
  // After a call that was to be a task.
  void note(const call::Call& call, const Reply& reply, const std::shared_ptr<Link>& link);
  // For a request about one; null: it is none, or its link is gone.
  std::shared_ptr<Link> find(const call::Call& call) const;

 private:
  static constexpr std::size_t kAtMost = 4096;
  std::unordered_map<std::string, std::weak_ptr<Link>> places_;  // by the server's own id
  std::deque<std::string> order_;                                // the oldest first
};

}  // namespace mcpx::upstream
