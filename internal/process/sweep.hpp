// The sweep after a crash: ends what an earlier daemon has left, and nothing else.
//
// A supervisor ends its tree when its daemon is gone, so there is something to sweep only where the
// supervisor was killed or stopped too. The daemon records a Mark of each supervisor and server it
// starts; the next daemon gives them to sweep(). A process id alone may be a stranger's by then:
// only with the boot and the time of its start is it the process that was recorded. What cannot be
// proven to be ours (a daemonised grandchild of a tree whose every recorded process is gone) is
// left alone. Thread: marks and left_behind() any, sweep() its shard.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "process/proc_stat.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::process {

// One process for ever: its number, when it started (field 22 of /proc/PID/stat) and in which boot.
struct Mark {
  Mark(pid_t pid_, std::uint64_t start_ticks_, std::string boot_id_)
      : pid(pid_), start_ticks(start_ticks_), boot_id(std::move(boot_id_)) {}

  pid_t pid;
  std::uint64_t start_ticks;
  std::string boot_id;
};

std::string boot_id();                   // of the running kernel; empty if it does not say
std::optional<Mark> mark_of(pid_t pid);  // nullopt: there is no such process
std::vector<ProcessRow> process_table();

// Which processes of `table` are to be ended: those recorded in this boot and still the same, what
// is below them, and what is in the session that a recorded supervisor made. Never `self` or what
// shares its session. Pure.
std::vector<ProcessRow> left_behind(std::span<const Mark> recorded,
                                    std::span<const ProcessRow> table, std::string_view boot,
                                    const ProcessRow& self);

struct SweepReport {
  std::size_t found = 0;          // processes that had been left
  std::vector<ProcessRow> alive;  // those that even SIGKILL has not ended in time
};

// SIGTERM to all of them at once, SIGKILL to what is there after `grace`, new processes of the
// trees included; ends when none is left or two seconds later.
Task<SweepReport> sweep(runtime::Shard& shard, std::vector<Mark> recorded, Milliseconds grace);

}  // namespace mcpx::process
