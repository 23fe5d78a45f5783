// The processes below this one, and signals to them. No C++ library.
//
// Everything a server starts stays below its supervisor, because that is a child subreaper: a
// process whose parent dies becomes the supervisor's own child.
#pragma once

#include <sys/types.h>

namespace supervise {

// Sends `signal` to each process below this one. The group `group` (0: none) is signalled as a
// whole, its members not once more: a second SIGTERM makes some servers skip their clean-up.
void signal_tree(int signal, pid_t group);

}  // namespace supervise
