#include "tree.hpp"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace supervise {
namespace {

struct Process {
  pid_t pid;
  pid_t parent;
  pid_t group;
};

// A growing array; on memory exhaustion it keeps what it has, and the next round sees the rest.
struct Processes {
  Process* items = nullptr;
  size_t size = 0;
  size_t capacity = 0;

  ~Processes() { free(items); }
  void add(const Process& process) {
    if (size == capacity) {
      const size_t wanted = capacity == 0 ? 256 : capacity * 2;
      void* grown = realloc(items, wanted * sizeof(Process));
      if (!grown) return;
      items = static_cast<Process*>(grown);
      capacity = wanted;
    }
    items[size++] = process;
  }
};

// Reads parent and group from /proc/<pid>/stat. The name before them may hold any byte, so the
// fields are counted from its last ')'.
bool read_process(pid_t pid, Process& process) {
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
  int parent = 0;
  int group = 0;
  if (!name_end || sscanf(name_end + 1, " %*c %d %d", &parent, &group) != 2) return false;
  process = Process{pid, parent, group};
  return true;
}

void read_all(Processes& all) {
  DIR* proc = opendir("/proc");
  if (!proc) return;
  while (const dirent* entry = readdir(proc)) {
    if (!isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    Process process;
    if (read_process(static_cast<pid_t>(atoi(entry->d_name)), process)) all.add(process);
  }
  closedir(proc);
}

bool is_below(const Process* below, size_t count, pid_t parent, pid_t self) {
  if (parent == self) return true;
  for (size_t i = 0; i < count; ++i) {
    if (below[i].pid == parent) return true;
  }
  return false;
}

// Moves what is below `self` to the front and answers how many those are. A child may be listed
// before its parent (process ids wrap), so this repeats until a pass finds nothing more.
size_t gather_below(Processes& all, pid_t self) {
  size_t count = 0;
  for (bool found = true; found;) {
    found = false;
    for (size_t i = count; i < all.size; ++i) {
      if (!is_below(all.items, count, all.items[i].parent, self)) continue;
      const Process process = all.items[i];
      all.items[i] = all.items[count];
      all.items[count++] = process;
      found = true;
    }
  }
  return count;
}

// A child of ours keeps its process id until we reap it. Anything deeper may be reaped by its own
// parent at any moment and its id given to a stranger, so that one is pinned first and looked at
// again: if it still has the parent we saw (or has become ours), it is the process we mean.
void signal_one(const Process& process, int signal, pid_t self) {
  if (process.parent == self) {
    kill(process.pid, signal);
    return;
  }
  const int pinned = static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
  if (pinned < 0) return;
  Process now;
  if (read_process(process.pid, now) && (now.parent == process.parent || now.parent == self)) {
    syscall(SYS_pidfd_send_signal, pinned, signal, nullptr, 0);
  }
  close(pinned);
}

}  // namespace

void signal_tree(int signal, pid_t group) {
  const pid_t self = getpid();
  if (group > 0) kill(-group, signal);
  Processes all;
  read_all(all);
  const size_t below = gather_below(all, self);
  for (size_t i = 0; i < below; ++i) {
    const Process& process = all.items[i];
    if (group == 0 || process.group != group) signal_one(process, signal, self);
  }
}

}  // namespace supervise
