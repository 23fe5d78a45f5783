#include "process/sweep.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "runtime/timer.hpp"

namespace mcpx::process {
namespace {

constexpr Milliseconds kLook(20);         // between two looks at the process table
constexpr Milliseconds kKillTime(2'000);  // what is not gone by then is stuck in the kernel

bool dead(const ProcessRow& row) {
  return row.state == 'Z' || row.state == 'X';
}

bool same_process(const ProcessRow& seen, const ProcessRow& now) {
  return seen.pid == now.pid && seen.start_ticks == now.start_ticks;
}

bool has(std::span<const ProcessRow> rows, const ProcessRow& wanted) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const ProcessRow& row) { return same_process(row, wanted); });
}

bool was_recorded(std::span<const Mark> recorded, const ProcessRow& row, std::string_view boot) {
  return std::any_of(recorded.begin(), recorded.end(), [&](const Mark& mark) {
    return mark.pid == row.pid && mark.start_ticks == row.start_ticks && mark.boot_id == boot;
  });
}

// A child is never older than its parent: a row that says so was read while numbers changed hands.
bool is_below(std::span<const ProcessRow> parents, const ProcessRow& row) {
  return std::any_of(parents.begin(), parents.end(), [&](const ProcessRow& parent) {
    return row.parent == parent.pid && row.start_ticks >= parent.start_ticks;
  });
}

// A supervisor leads a session. While one of its recorded processes lives in it, the kernel gives
// the number of the session to nobody else, whether its leader lives or not.
bool in_session_of(std::span<const ProcessRow> roots, std::span<const Mark> recorded,
                   const ProcessRow& row) {
  const bool shared = std::any_of(roots.begin(), roots.end(), [&](const ProcessRow& root) {
    return root.session == row.session;
  });
  return shared && std::any_of(recorded.begin(), recorded.end(),
                               [&](const Mark& mark) { return mark.pid == row.session; });
}

bool spared(const ProcessRow& row, const ProcessRow& self) {
  return row.pid <= 1 || row.pid == self.pid || row.session == self.session;
}

// `found` and everything of the table that is below it.
void add_descendants(std::vector<ProcessRow>& found, std::span<const ProcessRow> table,
                     const ProcessRow& self) {
  for (bool more = true; more;) {
    more = false;
    for (const ProcessRow& row : table) {
      if (dead(row) || spared(row, self) || has(found, row) || !is_below(found, row)) continue;
      found.push_back(row);
      more = true;
    }
  }
}

void signal_all(std::span<const ProcessRow> rows, int signal) {
  for (const ProcessRow& row : rows)
    signal_process(row, signal, same_process);
}

// What of `rows` is still there, and what has been started below it since.
std::vector<ProcessRow> still_there(std::span<const ProcessRow> rows, const ProcessRow& self) {
  const std::vector<ProcessRow> table = process_table();
  std::vector<ProcessRow> there;
  for (const ProcessRow& row : table) {
    if (!dead(row) && has(rows, row)) there.push_back(row);
  }
  add_descendants(there, table, self);
  return there;
}

}  // namespace

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::optional<Mark> mark_of(pid_t pid) {
  ProcessRow row;
  if (!read_process(pid, row)) return std::nullopt;
  return Mark(pid, row.start_ticks, boot_id());
}

std::vector<ProcessRow> process_table() {
  std::vector<ProcessRow> table;
  const auto add = [](const ProcessRow& row, void* rows) {
    static_cast<std::vector<ProcessRow>*>(rows)->push_back(row);
  };
  each_process(add, &table);
  return table;
}

std::vector<ProcessRow> left_behind(std::span<const Mark> recorded,
                                    std::span<const ProcessRow> table, std::string_view boot,
                                    const ProcessRow& self) {
  std::vector<ProcessRow> roots;
  if (boot.empty()) return roots;  // then nothing can be proven
  for (const ProcessRow& row : table) {
    if (dead(row) || spared(row, self) || !was_recorded(recorded, row, boot)) continue;
    roots.push_back(row);
  }
  std::vector<ProcessRow> found = roots;
  for (const ProcessRow& row : table) {
    if (dead(row) || spared(row, self) || has(found, row)) continue;
    if (in_session_of(roots, recorded, row)) found.push_back(row);
  }
  add_descendants(found, table, self);
  return found;
}

Task<SweepReport> sweep(runtime::Shard& shard, std::vector<Mark> recorded, Milliseconds grace) {
  SweepReport report;
  ProcessRow self{};
  if (!read_process(::getpid(), self)) co_return report;
  report.alive = left_behind(recorded, process_table(), boot_id(), self);
  report.found = report.alive.size();
  signal_all(report.alive, SIGTERM);
  runtime::Timer turn(shard);
  const TimePoint courtesy = Clock::now() + grace;
  const TimePoint patience = courtesy + kKillTime;
  while (!report.alive.empty() && Clock::now() < patience) {
    if (Clock::now() >= courtesy) signal_all(report.alive, SIGKILL);
    co_await turn.sleep_for(kLook);
    report.alive = still_there(report.alive, self);
  }
  co_return report;
}

}  // namespace mcpx::process
