// mcpx-supervise: stands between the daemon and one server, so that the server's whole process tree
// can be ended and be known to be gone.
//
//     mcpx-supervise CONTROL-FD OPEN-FILES PROGRAM ARGV0 [ARG...]
//
// Standard input, output and error are the pipes meant for the server. CONTROL-FD is one end of a
// socket pair to the daemon (internal/process/supervise_protocol.hpp says what passes over it).
// OPEN-FILES is the server's soft limit of descriptors, 0 for that of the daemon. The
// supervisor is a child subreaper: what the server forks, daemonises or leaves behind becomes its
// child. It ends when nothing is left below it; it kills what is below it when the server fails,
// when the daemon says so, and when the daemon is gone, however it went.
//
// Signals are blocked, all of them: a Ctrl-C or a stray SIGTERM must not end it before its
// children. It waits in poll() and never blocks anywhere else.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/supervise_protocol.hpp"
#include "tree.hpp"

using mcpx::process::Report;
using mcpx::process::ReportKind;

namespace {

constexpr int kFirstRetryMs = 10;
constexpr int kLastRetryMs = 500;

struct Supervisor {
  int control;
  rlim_t open_files;
  int signals = -1;
  pid_t server = 0;
  bool server_lives = false;
  bool killing = false;
  int retry_ms = kFirstRetryMs;
};

// The daemon reads at most three of these and the socket buffers more, so a failure to send means
// that the daemon is gone; then the next poll() says so too.
void report(const Supervisor& supervisor, ReportKind kind, int value) {
  const Report record{kind, value};
  if (supervisor.control < 0) return;
  send(supervisor.control, &record, sizeof record, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void limit_open_files(rlim_t wanted) {
  rlimit limit{};
  if (wanted == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0 || wanted > limit.rlim_max) return;
  limit.rlim_cur = wanted;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// In the forked child: becomes the server, or writes errno to `failure`.
[[noreturn]] void become_server(pid_t supervisor, rlim_t open_files, int failure,
                                const char* program, char** argv) {
  setpgid(0, 0);
  limit_open_files(open_files);
  // Should the supervisor itself be killed, the server goes with it. The second check is for the
  // case that it died before the request was made.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(127);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);  // refused for SIGKILL, SIGSTOP and libc's own
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(program, argv);  // every descriptor above 2 is close-on-exec
  const int error = errno;
  const ssize_t written = write(failure, &error, sizeof error);
  _exit(written == sizeof error ? 127 : 126);
}

// Starts the server; answers 0 or the errno of fork or exec.
int start_server(Supervisor& supervisor, const char* program, char** argv) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return errno;
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) become_server(self, supervisor.open_files, failure[1], program, argv);
  close(failure[1]);
  int error = 0;
  ssize_t got;
  do {
    got = read(failure[0], &error, sizeof error);  // ends at exec or exit of the child
  } while (got < 0 && errno == EINTR);
  close(failure[0]);
  if (got == sizeof error) {
    waitpid(child, nullptr, 0);
    return error;
  }
  supervisor.server = child;
  supervisor.server_lives = true;
  return 0;
}

// Lets go of the server's pipes: whoever reads them must see the end when the server closes them.
void drop_standard_streams() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (null >= 0) {
      dup2(null, descriptor);
    } else {
      close(descriptor);
    }
  }
  if (null > 2) close(null);
}

int open_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, nullptr);  // ignored, it would keep exit codes from us
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

void note_exit(Supervisor& supervisor, int status) {
  supervisor.server_lives = false;
  if (WIFEXITED(status)) {
    report(supervisor, ReportKind::exited, WEXITSTATUS(status));
    // A wrapper that starts the real server and exits with 0 has done its work: its tree lives on.
    if (WEXITSTATUS(status) == 0) return;
  } else {
    report(supervisor, ReportKind::killed, WTERMSIG(status));
  }
  supervisor.killing = true;
}

// Reaps whatever has ended, orphans included. False when nothing is left.
bool reap(Supervisor& supervisor) {
  while (true) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid == 0) return true;
    if (pid < 0) return errno != ECHILD;
    supervisor.retry_ms = kFirstRetryMs;
    if (pid == supervisor.server && supervisor.server_lives) note_exit(supervisor, status);
  }
}

void obey(Supervisor& supervisor) {
  char order = 0;
  const ssize_t got = recv(supervisor.control, &order, 1, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {  // the daemon has closed, or has died
    close(supervisor.control);
    supervisor.control = -1;
    supervisor.killing = true;
  } else if (order == mcpx::process::kKill) {
    supervisor.killing = true;
  } else if (order == mcpx::process::kTerminate && !supervisor.killing) {
    // The group's id is certainly the server's only while the server is not reaped.
    supervise::signal_tree(SIGTERM, supervisor.server_lives ? supervisor.server : 0);
  }
}

void supervise_until_gone(Supervisor& supervisor) {
  while (reap(supervisor)) {
    int timeout = -1;
    if (supervisor.killing) {
      supervise::signal_tree(SIGKILL, 0);
      // What forked while we looked is found in the next round; what cannot be killed (another
      // user's, or stuck in the kernel) is asked ever more rarely.
      timeout = supervisor.retry_ms;
      supervisor.retry_ms = timeout * 2 < kLastRetryMs ? timeout * 2 : kLastRetryMs;
    }
    pollfd events[2] = {{supervisor.signals, POLLIN, 0}, {supervisor.control, POLLIN, 0}};
    if (poll(events, 2, timeout) <= 0) continue;
    signalfd_siginfo ignored;
    while (read(supervisor.signals, &ignored, sizeof ignored) > 0) {
    }
    if (events[1].revents != 0) obey(supervisor);
  }
  report(supervisor, ReportKind::gone, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fputs(
        "usage: mcpx-supervise CONTROL-FD OPEN-FILES PROGRAM ARGV0 [ARG...]\n"
        "Started by mcpxd; of no use by hand.\n",
        stderr);
    return 2;
  }
  Supervisor supervisor{atoi(argv[1]), strtoul(argv[2], nullptr, 10)};
  fcntl(supervisor.control, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  supervisor.signals = open_signals();
  const int error = supervisor.signals < 0 ? errno : start_server(supervisor, argv[3], argv + 4);
  if (error != 0) {
    report(supervisor, ReportKind::not_started, error);
    return 127;
  }
  drop_standard_streams();
  report(supervisor, ReportKind::started, supervisor.server);
  supervise_until_gone(supervisor);
  return 0;
}
