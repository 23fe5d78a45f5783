// The process table as /proc shows it. Shared with mcpx-supervise, which has no C++ library: plain
// C calls only. A row may be out of date as soon as it is read. Thread: any.
#pragma once

#include <sys/types.h>

namespace mcpx::process {

struct ProcessRow {
  pid_t pid;
  pid_t parent;
  pid_t group;
  pid_t session;
  unsigned long long start_ticks;  // since the boot, in clock ticks
  char state;                      // 'Z': a zombie
};

bool read_process(pid_t pid, ProcessRow& row);

// Calls `visit` once for each process there is.
void each_process(void (*visit)(const ProcessRow& row, void* context), void* context);

// Sends `signal` to the process that `seen` describes, not to a stranger that has got its number
// since: pins whoever has the number now, and looks again. `same` compares the two rows.
void signal_process(const ProcessRow& seen, int signal,
                    bool (*same)(const ProcessRow& seen, const ProcessRow& now));

}  // namespace mcpx::process
