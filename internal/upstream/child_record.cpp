#include "upstream/child_record.hpp"

#include <utility>

#include "process/sweep.hpp"
#include "store/store.hpp"

namespace mcpx::upstream {

ChildRecord::ChildRecord(store::Store* store, const std::string& server,
                         const process::Child& child)
    : store_(store) {
  if (!store_) return;
  for (const pid_t pid : {child.supervisor(), child.pid()}) {
    const auto mark = process::mark_of(pid);
    if (!mark) continue;  // it has ended already
    rows_.emplace_back(server, pid, static_cast<std::int64_t>(mark->start_ticks), mark->boot_id);
    store_->children().save(rows_.back());
  }
}

ChildRecord::~ChildRecord() {
  for (store::ChildRow& row : rows_)
    store_->children().forget(std::move(row));
}

}  // namespace mcpx::upstream
