// Child: one upstream server process and everything it spawns.
//
// Each child runs under mcpx-supervise, a tiny program of ours that is a child subreaper: whatever
// the server forks, daemonises or leaves behind ends up below it, so the whole tree can be ended
// and be known to be gone (case C02). The supervisor holds a pipe to the daemon and kills the tree
// when that closes, so nothing survives a SIGKILL of the daemon either (case C06); the server
// itself also has PR_SET_PDEATHSIG in case the supervisor is killed. Owned by the upstream instance
// that runs it. stop() must be awaited before destruction. Thread: home shard only.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/stream.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::process {

struct Command {
  std::string program;  // as configured; searched in PATH of `environment` if it has no '/'
  std::vector<std::string> args;                                 // without argv[0]
  std::vector<std::pair<std::string, std::string>> environment;  // complete
  std::string cwd;                                               // empty: the daemon's
};

struct ExitStatus {
  int code = 0;              // exit code, when signal is 0
  int signal = 0;            // the signal that ended it, or 0
  std::string text() const;  // "exit code 3", "signal 9 (Killed)"
};

// The last bytes a child wrote to standard error, whole lines, bounded.
class StderrRing {
 public:
  explicit StderrRing(std::size_t limit) : limit_(limit) {}
  void append(std::string_view bytes);
  std::string tail(std::size_t lines) const;    // the last complete or partial lines, newest last
  std::size_t total() const { return total_; }  // bytes ever written

 private:
  std::string text_;
  std::size_t limit_;
  std::size_t total_ = 0;
};

class Child {
 public:
  struct Options {
    std::string supervisor;  // path of mcpx-supervise
    std::size_t stderr_bytes = 64 * 1024;
    // The soft limit of open files that the server gets, 0: the daemon's. The daemon raises its
    // own, and programs that still use select(), or close every possible descriptor, suffer from
    // that.
    std::size_t open_files = 0;
  };
  // Starts the command. Errors: upstream.spawn_failed, with the command, the reason and (when the
  // program was not found) the PATH searched and how to extend it (case C73).
  static Task<Result<std::unique_ptr<Child>>> start(runtime::Shard& shard, Command command,
                                                    const Options& options);

  virtual ~Child() = default;
  virtual pid_t pid() const = 0;  // of the server itself, not of its supervisor
  virtual pid_t supervisor() const = 0;
  virtual net::ByteStream& input() = 0;   // its standard input
  virtual net::ByteStream& output() = 0;  // its standard output
  virtual const StderrRing& errors() const = 0;
  // Called once on the shard when the server process has ended by itself with a failure, or with
  // everything it started. (A wrapper that forks the real server and exits 0 has not ended: its
  // tree lives on.) Not called after stop() began. By then errors() holds its last lines; the end
  // of output() is usually seen a moment earlier.
  virtual void on_exit(std::function<void(ExitStatus)> callback) = 0;
  // Set from the moment a failure is known, a little before on_exit's callback.
  virtual std::optional<ExitStatus> exited() const = 0;
  // Ends the tree: closes its input, waits `grace`, SIGTERM to the group, waits `grace`, SIGKILL to
  // the whole tree; returns when nothing of it is left. Spec: basic/lifecycle#stdio.
  virtual Task<void> stop(Milliseconds grace) = 0;
  // Like stop() without the courtesy.
  virtual Task<void> kill() = 0;

 protected:
  Child() = default;
};

// Number of children alive in this process, for /v1/status. Thread: any.
std::size_t children_alive();

}  // namespace mcpx::process
