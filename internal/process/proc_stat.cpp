#include "process/proc_stat.hpp"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mcpx::process {

// The name in /proc/<pid>/stat may hold any byte, so the fields are counted from its last ')'.
bool read_process(pid_t pid, ProcessRow& row) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[512];
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = '\0';
  const char* name_end = strrchr(text, ')');
  char state = 0;
  int parent = 0;
  int group = 0;
  int session = 0;
  unsigned long long start = 0;
  if (!name_end) return false;
  // Fields 3 to 6 and 22 of proc(5).
  const int fields = sscanf(
      name_end + 1, " %c %d %d %d %*d %*d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
      &state, &parent, &group, &session, &start);
  if (fields != 5) return false;
  row = ProcessRow{pid, parent, group, session, start, state};
  return true;
}

void each_process(void (*visit)(const ProcessRow& row, void* context), void* context) {
  DIR* proc = opendir("/proc");
  if (!proc) return;
  while (const dirent* entry = readdir(proc)) {
    if (!isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    ProcessRow row;
    if (read_process(static_cast<pid_t>(atoi(entry->d_name)), row)) visit(row, context);
  }
  closedir(proc);
}

void signal_process(const ProcessRow& seen, int signal,
                    bool (*same)(const ProcessRow& seen, const ProcessRow& now)) {
  const int pinned = static_cast<int>(syscall(SYS_pidfd_open, seen.pid, 0));
  if (pinned < 0) return;
  ProcessRow now;
  if (read_process(seen.pid, now) && same(seen, now)) {
    syscall(SYS_pidfd_send_signal, pinned, signal, nullptr, 0);
  }
  close(pinned);
}

}  // namespace mcpx::process
