#include "process/child.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "base/check.hpp"
#include "log/log.hpp"
#include "net/endpoint.hpp"
#include "process/proc_stat.hpp"
#include "process/spawn.hpp"
#include "process/supervise_protocol.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/readiness.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"

namespace mcpx::process {
namespace {

constexpr Milliseconds kStartDeadline(10'000);  // from posix_spawn to the supervisor's first report
constexpr Milliseconds kDrainTime(1'000);       // for what is still in the stderr pipe at the end
constexpr Milliseconds kFailureTime(2'000);     // a failed server's tree may take this long to go
constexpr Milliseconds kKillTime(5'000);        // after this the supervisor itself is killed
constexpr int kSessionRounds = 8;               // of looking for what a killed supervisor left

std::atomic<std::size_t> alive = 0;

// A write to a pipe whose reader has died raises SIGPIPE, which would end the daemon.
void ignore_broken_pipes() {
  static const auto previous = ::signal(SIGPIPE, SIG_IGN);
  static_cast<void>(previous);
}

// Kills the members of a session whose leader is dead but not yet reaped: until then the kernel
// gives its number to nobody else. What forks meanwhile is found in the next round.
void kill_session(pid_t session) {
  struct Search {
    pid_t session;
    bool found;
  };
  const auto visit = [](const ProcessRow& row, void* context) {
    auto& search = *static_cast<Search*>(context);
    if (row.session != search.session || row.pid == search.session) return;
    search.found = true;
    signal_process(row, SIGKILL, [](const ProcessRow& seen, const ProcessRow& now) {
      return seen.session == now.session;
    });
  };
  for (int round = 0; round < kSessionRounds; ++round) {
    Search search{session, false};
    each_process(visit, &search);
    if (!search.found) return;
  }
}

// There is no PR_SET_PDEATHSIG between daemon and supervisor: it fires when the *thread* that
// spawned ends, and the supervisor must outlive the daemon to kill the tree. The end of the control
// socket tells it. Between supervisor and server it is set; a supervisor has one thread.
//
// Should somebody SIGKILL a supervisor, its server dies of that, and we kill what is left of the
// supervisor's session. What has left the session (a daemonised server) only loses its pipes: it
// belongs to init, or to the unit's cgroup. The daemon is no subreaper itself: it would have to
// reap strangers' children and could not tell them from its own.
class SupervisedChild final : public Child {
 public:
  SupervisedChild(runtime::Shard& shard, Spawned spawned, std::string name,
                  std::size_t stderr_bytes)
      : shard_(shard),
        name_(std::move(name)),
        supervisor_(spawned.supervisor),
        control_(std::move(spawned.control)),
        exit_(std::move(spawned.exit)),
        reports_(shard),
        ended_(shard),
        spawned_(std::move(spawned)),
        ring_(stderr_bytes),
        failure_watchdog_(shard, [this] { announce_exit(); }),
        tasks_(shard) {
    const int failures[] = {reports_.watch(control_.get()), ended_.watch(exit_.get())};
    MCPX_CHECK(failures[0] == 0 && failures[1] == 0);
    ended_.input_exhausted();  // it runs, or is about to
    ++alive;
    tasks_.spawn("process.watch", watch());
  }
  ~SupervisedChild() override { MCPX_CHECK(closed_.is_open()); }

  Task<Report> started();
  void adopt_streams();

  pid_t pid() const override { return server_; }
  pid_t supervisor() const override { return supervisor_; }
  net::ByteStream& input() override { return *input_; }
  net::ByteStream& output() override { return *output_; }
  const StderrRing& errors() const override { return ring_; }
  void on_exit(std::function<void(ExitStatus)> callback) override;
  std::optional<ExitStatus> exited() const override { return status_; }
  Task<void> stop(Milliseconds grace) override;
  Task<void> kill() override;

 private:
  Task<void> watch();
  Task<void> drain_errors();
  Task<void> pause(Milliseconds time);
  Task<void> finish();
  bool take_reports();
  void take(const Report& report);
  void supervisor_ended();
  void announce_exit();
  void send(char order);
  void end_pause() {
    if (pause_) pause_->cancel();
  }
  bool over() const { return gone_.is_open() || kill_wanted_; }

  runtime::Shard& shard_;
  std::string name_;
  pid_t supervisor_;
  pid_t server_ = 0;
  Descriptor control_;  // to the supervisor
  Descriptor exit_;     // its pidfd
  runtime::Readiness reports_;
  runtime::Readiness ended_;
  Spawned spawned_;  // the server's streams, until adopt_streams()
  std::unique_ptr<net::ByteStream> input_, output_, errors_;
  StderrRing ring_;
  runtime::OneShot<Report> started_;
  std::optional<ExitStatus> server_status_;  // of the server process
  std::optional<ExitStatus> status_;         // as exited() tells it
  std::function<void(ExitStatus)> callback_;
  bool reported_gone_ = false;
  bool stopping_ = false;
  bool kill_wanted_ = false;
  runtime::Timer* pause_ = nullptr;
  runtime::Latch drained_;  // standard error has ended
  runtime::Latch gone_;     // nothing of the tree is left, the supervisor is reaped
  runtime::Latch closed_;   // and our tasks have ended
  runtime::Watchdog failure_watchdog_;
  runtime::TaskGroup tasks_;
};

Task<Report> SupervisedChild::started() {
  runtime::Watchdog late(shard_, [this] { started_.set({ReportKind::not_started, ETIMEDOUT}); });
  late.set(Clock::now() + kStartDeadline);
  Report first = co_await started_.wait();
  co_return first;
}

void SupervisedChild::adopt_streams() {
  const auto adopt = [this](Descriptor& descriptor, std::string_view stream) {
    return net::adopt_descriptor(shard_, descriptor.release(),
                                 fmt::format("pid {} {}", server_, stream));
  };
  input_ = adopt(spawned_.input, "stdin");
  output_ = adopt(spawned_.output, "stdout");
  errors_ = adopt(spawned_.errors, "stderr");
  tasks_.spawn("process.stderr", drain_errors());
}

// Reads standard error to its end, always: a child that fills an unread pipe stops (case C15).
Task<void> SupervisedChild::drain_errors() {
  std::array<char, 8192> buffer;
  while (true) {
    auto got = co_await errors_->read_some(buffer);
    if (!got || *got == 0) break;
    ring_.append(std::string_view(buffer.data(), *got));
  }
  drained_.open();
}

Task<void> SupervisedChild::watch() {
  while (take_reports()) {
    reports_.input_exhausted();
    co_await reports_.readable();
  }
  co_await ended_.readable();
  supervisor_ended();
  // Whoever lets go of us last may do so on another shard.
  reports_.release();
  ended_.release();
  if (errors_) {
    errors_->read_deadline(Clock::now() + kDrainTime);
    co_await drained_.wait();
  }
  --alive;
  gone_.open();
  announce_exit();
  end_pause();
}

// False at the end of the control socket.
bool SupervisedChild::take_reports() {
  while (true) {
    Report report;
    const ssize_t got = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT);
    if (got == sizeof report) {
      take(report);
      continue;
    }
    // A supervisor that ended with an order of ours unread: its reports are still to be had.
    if (got < 0 && (errno == ECONNRESET || errno == EINTR)) continue;
    return got < 0 && errno == EAGAIN;
  }
}

void SupervisedChild::take(const Report& report) {
  switch (report.kind) {
    case ReportKind::started:
      server_ = report.value;
      started_.set(report);
      return;
    case ReportKind::not_started:
      reported_gone_ = true;
      started_.set(report);
      return;
    case ReportKind::exited:
      server_status_ = ExitStatus{report.value, 0};
      break;
    case ReportKind::killed:
      server_status_ = ExitStatus{0, report.value};
      break;
    case ReportKind::gone:
      reported_gone_ = true;
      return;
  }
  // Only a failure ends a server whose tree lives on. The rest of that is being killed, and the
  // last lines of standard error are on their way: announce_exit() waits for both, but not long.
  if (server_status_->code != 0 || server_status_->signal != 0) {
    status_ = server_status_;
    failure_watchdog_.set(Clock::now() + kFailureTime);
  }
  end_pause();
}

void SupervisedChild::supervisor_ended() {
  if (!reported_gone_) {
    log::warning("{}: supervisor {} was killed; killing what it left", name_, supervisor_);
    kill_session(supervisor_);
    // A wrapper may have exited with 0 before; what has ended now did not.
    if (!status_) server_status_ = ExitStatus{0, SIGKILL};
  }
  siginfo_t info{};
  ::waitid(P_PIDFD, static_cast<id_t>(exit_.get()), &info, WEXITED | WNOHANG);
  started_.set({ReportKind::not_started, ECHILD});  // in case it was killed before it reported
  if (!status_) status_ = server_status_;
}

void SupervisedChild::announce_exit() {
  failure_watchdog_.clear();
  if (stopping_ || !callback_ || !status_) return;
  const auto callback = std::exchange(callback_, nullptr);
  callback(*status_);
}

void SupervisedChild::on_exit(std::function<void(ExitStatus)> callback) {
  callback_ = std::move(callback);
  // Already over: told from the event loop all the same, never from in here.
  if (gone_.is_open()) failure_watchdog_.set(Clock::now());
}

void SupervisedChild::send(char order) {
  // Fails only when the supervisor has gone already.
  if (control_) ::send(control_.get(), &order, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

Task<void> SupervisedChild::pause(Milliseconds time) {
  runtime::Timer timer(shard_);
  pause_ = &timer;
  co_await timer.sleep_for(time);
  pause_ = nullptr;
}

Task<void> SupervisedChild::stop(Milliseconds grace) {
  if (std::exchange(stopping_, true)) {
    co_await closed_.wait();
    co_return;
  }
  if (input_) input_->close();
  // Ends early when the server exits: what it leaves behind needs no courtesy.
  if (!over()) co_await pause(grace);
  if (!over()) send(kTerminate);
  const TimePoint patience = Clock::now() + grace;
  while (!over() && Clock::now() < patience) {
    co_await pause(std::chrono::ceil<Milliseconds>(patience - Clock::now()));
  }
  if (!gone_.is_open()) send(kKill);
  co_await finish();
}

Task<void> SupervisedChild::kill() {
  kill_wanted_ = true;
  send(kKill);
  if (std::exchange(stopping_, true)) {
    end_pause();
    co_await closed_.wait();
    co_return;
  }
  if (input_) input_->close();
  co_await finish();
}

Task<void> SupervisedChild::finish() {
  runtime::Watchdog stuck(shard_, [this] {
    log::error("{}: processes below supervisor {} cannot be killed; giving them up", name_,
               supervisor_);
    ::kill(supervisor_, SIGKILL);  // not reaped yet, so the number is still its own
  });
  if (!gone_.is_open()) stuck.set(Clock::now() + kKillTime);
  co_await gone_.wait();
  stuck.clear();
  if (output_) output_->close();
  if (errors_) errors_->close();
  co_await tasks_.join();
  closed_.open();
}

Error refusal(const Command& command, const std::string& program, int error) {
  std::string remedy;
  if (error == ENOENT) remedy = "its first line (#!) names an interpreter that does not exist";
  if (error == ENOEXEC) remedy = "a script needs a first line such as #!/bin/sh";
  if (error == EAGAIN) remedy = "raise the limit of processes (TasksMax=, ulimit -u)";
  const std::string reason = std::error_code(error, std::generic_category()).message();
  return spawn_error(command.program, fmt::format("{}: {}", program, reason), std::move(remedy));
}

}  // namespace

std::string ExitStatus::text() const {
  if (signal == 0) return fmt::format("exit code {}", code);
  const char* description = ::sigdescr_np(signal);
  return fmt::format("signal {} ({})", signal, description ? description : "unknown");
}

std::size_t children_alive() {
  return alive;
}

Task<Result<std::unique_ptr<Child>>> Child::start(runtime::Shard& shard, Command command,
                                                  const Options& options) {
  ignore_broken_pipes();
  const std::size_t stderr_bytes = options.stderr_bytes;
  Result<std::string> program = locate_program(command);
  if (!program) co_return program.error();
  Result<Spawned> spawned = spawn_supervised(command, *program, options);
  if (!spawned) co_return spawned.error();
  auto child =
      std::make_unique<SupervisedChild>(shard, std::move(*spawned), command.program, stderr_bytes);
  const Report first = co_await child->started();
  if (first.kind != ReportKind::started) {
    co_await child->kill();
    co_return refusal(command, *program, first.value);
  }
  child->adopt_streams();
  std::unique_ptr<Child> result = std::move(child);
  co_return result;
}

}  // namespace mcpx::process
