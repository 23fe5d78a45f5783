// What mcpx-supervise and the daemon say to each other over the control socket.
//
// The socket is an AF_UNIX SOCK_SEQPACKET pair: one record per message, so neither side frames, and
// end of file means the other process is gone. Shared with a program that has no C++ library:
// nothing but plain data here. Thread: any.
#pragma once

#include <stdint.h>

namespace mcpx::process {

// Daemon to supervisor: one byte.
inline constexpr char kTerminate = 'T';  // SIGTERM to everything below the supervisor
inline constexpr char kKill = 'K';       // SIGKILL to it, again and again until nothing is left

// Supervisor to daemon, in this order: started or not_started; exited or killed; gone.
enum class ReportKind : int32_t {
  started = 1,      // value: process id of the server
  not_started = 2,  // value: errno of exec (or fork); nothing follows
  exited = 3,       // value: exit code of the server
  killed = 4,       // value: the signal that ended the server
  gone = 5,         // nothing of the tree is left; the supervisor exits
};

struct Report {
  ReportKind kind;
  int32_t value;
};

}  // namespace mcpx::process
