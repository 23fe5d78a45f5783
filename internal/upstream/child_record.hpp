// ChildRecord: tells the store of a child and its supervisor for as long as they run, so that the
// next daemon can find them should this one be killed. Owned by the link of the child. Thread: home
// shard only.
#pragma once

#include <string>
#include <vector>

#include "process/child.hpp"
#include "store/children.hpp"

namespace mcpx::store {
class Store;
}

namespace mcpx::upstream {

class ChildRecord {
 public:
  // `store` may be null: then nothing is recorded.
  ChildRecord(store::Store* store, const std::string& server, const process::Child& child);
  ~ChildRecord();
  ChildRecord(const ChildRecord&) = delete;
  ChildRecord& operator=(const ChildRecord&) = delete;

 private:
  store::Store* store_;
  std::vector<store::ChildRow> rows_;
};

}  // namespace mcpx::upstream
