#include "daemon/recovery.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "log/log.hpp"
#include "process/sweep.hpp"

namespace mcpx::daemon {
namespace {

// Short: their daemon is dead, nobody waits for what they still do, and this one waits to start.
constexpr Milliseconds kGrace{500};

bool is_alive(const process::SweepReport& report, const store::ChildRow& row) {
  return std::any_of(report.alive.begin(), report.alive.end(), [&](const auto& process) {
    return process.pid == row.pid &&
           process.start_ticks == static_cast<std::uint64_t>(row.start_ticks);
  });
}

}  // namespace

Task<void> end_left_children(runtime::Shard& shard, store::Store& store) {
  const Result<std::vector<store::ChildRow>> rows = co_await store.children().all();
  if (!rows || rows->empty()) co_return;
  std::vector<process::Mark> marks;
  for (const store::ChildRow& row : *rows)
    marks.emplace_back(row.pid, static_cast<std::uint64_t>(row.start_ticks), row.boot_id);
  const process::SweepReport report = co_await process::sweep(shard, std::move(marks), kGrace);
  if (report.found != 0) {
    log::warning("an earlier mcpxd had left {} of its processes; they were ended", report.found);
  }
  for (const process::ProcessRow& process : report.alive)
    log::error("process {}, left by an earlier mcpxd, cannot be killed", process.pid);
  for (const store::ChildRow& row : *rows) {
    if (!is_alive(report, row)) store.children().forget(row);
  }
}

}  // namespace mcpx::daemon
