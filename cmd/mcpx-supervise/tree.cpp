#include "tree.hpp"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/proc_stat.hpp"

using mcpx::process::ProcessRow;

namespace supervise {
namespace {

// A growing array; on memory exhaustion it keeps what it has, and the next round sees the rest.
struct Processes {
  ProcessRow* items = nullptr;
  size_t size = 0;
  size_t capacity = 0;

  ~Processes() { free(items); }
  void add(const ProcessRow& process) {
    if (size == capacity) {
      const size_t wanted = capacity == 0 ? 256 : capacity * 2;
      void* grown = realloc(items, wanted * sizeof(ProcessRow));
      if (!grown) return;
      items = static_cast<ProcessRow*>(grown);
      capacity = wanted;
    }
    items[size++] = process;
  }
};

void collect(const ProcessRow& row, void* processes) {
  static_cast<Processes*>(processes)->add(row);
}

bool is_below(const ProcessRow* below, size_t count, pid_t parent, pid_t self) {
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
      const ProcessRow process = all.items[i];
      all.items[i] = all.items[count];
      all.items[count++] = process;
      found = true;
    }
  }
  return count;
}

// Its parent is still who it was, or it has become an orphan and so ours.
bool still_below(const ProcessRow& seen, const ProcessRow& now) {
  return now.parent == seen.parent || now.parent == getpid();
}

// A child of ours keeps its process id until we reap it. Anything deeper may be reaped by its own
// parent at any moment and its id given to a stranger.
void signal_one(const ProcessRow& process, int signal, pid_t self) {
  if (process.parent == self) {
    kill(process.pid, signal);
  } else {
    mcpx::process::signal_process(process, signal, still_below);
  }
}

}  // namespace

void signal_tree(int signal, pid_t group) {
  const pid_t self = getpid();
  if (group > 0) kill(-group, signal);
  Processes all;
  mcpx::process::each_process(collect, &all);
  const size_t below = gather_below(all, self);
  for (size_t i = 0; i < below; ++i) {
    const ProcessRow& process = all.items[i];
    if (group == 0 || process.group != group) signal_one(process, signal, self);
  }
}

}  // namespace supervise
