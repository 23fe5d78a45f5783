#include "process/spawn.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "process/environment.hpp"

namespace mcpx::process {
namespace {

constexpr int kControl = 3;  // the number the control socket has in the supervisor

std::string reason_of(int error) {
  return std::error_code(error, std::generic_category()).message();
}

Result<void> check_cwd(const Command& command) {
  if (command.cwd.empty()) return {};
  const auto refuse = [&](const std::string& reason) {
    return spawn_error(command.program, fmt::format("its directory {} {}", command.cwd, reason),
                       "correct `cwd:` of this server");
  };
  struct stat info {};
  if (::stat(command.cwd.c_str(), &info) != 0) {
    return refuse(errno == ENOENT ? "does not exist" : "cannot be read: " + reason_of(errno));
  }
  if (!S_ISDIR(info.st_mode)) return refuse("is not a directory");
  if (::access(command.cwd.c_str(), X_OK) != 0) return refuse("cannot be entered");
  return {};
}

Result<void> check_file(const std::string& program, const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) {
    return spawn_error(program, fmt::format("{}: {}", file, reason_of(errno)),
                       "correct `command:` of this server");
  }
  if (S_ISDIR(info.st_mode)) {
    return spawn_error(program, file + " is a directory", "name a program in `command:`");
  }
  if (!S_ISREG(info.st_mode)) return spawn_error(program, file + " is not a file");
  if (::access(file.c_str(), X_OK) != 0) {
    return spawn_error(program, file + " is not executable",
                       fmt::format("chmod +x {}, or name its interpreter in `command:`", file));
  }
  return {};
}

struct Pipe {
  Descriptor read, write;
};

// A descriptor that is to become 0..3 in the supervisor must not be one of them now (it can be when
// the daemon was started with its own closed): a later dup2 would overwrite it.
bool move_up(Descriptor& descriptor) {
  if (descriptor.get() > kControl) return true;
  Descriptor moved(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kControl + 1));
  descriptor = std::move(moved);
  return descriptor.get() >= 0;
}

bool make_pipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read = Descriptor(ends[0]);
  pipe.write = Descriptor(ends[1]);
  return true;
}

bool make_control(Descriptor& ours, Descriptor& theirs) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  ours = Descriptor(ends[0]);
  theirs = Descriptor(ends[1]);
  return ::fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0;
}

// The supervisor's side of everything.
struct Ends {
  Descriptor input, output, errors, control;
};

bool make_streams(Spawned& ours, Ends& theirs) {
  Pipe input, output, errors;
  if (!make_pipe(input) || !make_pipe(output) || !make_pipe(errors)) return false;
  if (!make_control(ours.control, theirs.control)) return false;
  ours.input = std::move(input.write);
  ours.output = std::move(output.read);
  ours.errors = std::move(errors.read);
  theirs.input = std::move(input.read);
  theirs.output = std::move(output.write);
  theirs.errors = std::move(errors.write);
  return move_up(theirs.input) && move_up(theirs.output) && move_up(theirs.errors) &&
         move_up(theirs.control);
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& string : strings)
    list.push_back(string.data());
  list.push_back(nullptr);
  return list;
}

// posix_spawn's two argument objects; errors of these calls are out of memory only, and then the
// spawn itself fails.
class SpawnPlan {
 public:
  SpawnPlan(const Ends& ends, const std::string& cwd) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, ends.input.get(), 0);
    ::posix_spawn_file_actions_adddup2(&actions_, ends.output.get(), 1);
    ::posix_spawn_file_actions_adddup2(&actions_, ends.errors.get(), 2);
    ::posix_spawn_file_actions_adddup2(&actions_, ends.control.get(), kControl);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, kControl + 1);
    if (!cwd.empty()) ::posix_spawn_file_actions_addchdir_np(&actions_, cwd.c_str());

    ::posix_spawnattr_init(&attributes_);
    // A session of its own is a process group of its own without a terminal: a Ctrl-C or a hang-up
    // of the daemon's terminal does not reach it, and a server that opens /dev/tty to ask for a
    // password gets an error instead of being stopped for ever.
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  int spawn(pid_t& pid, const std::string& file, std::vector<std::string> arguments,
            std::vector<std::string> environment) const {
    return ::posix_spawn(&pid, file.c_str(), &actions_, &attributes_, pointers(arguments).data(),
                         pointers(environment).data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<std::string> supervisor_arguments(const Command& command, const std::string& program,
                                              std::size_t open_files) {
  std::vector<std::string> arguments = {"mcpx-supervise", std::to_string(kControl),
                                        std::to_string(open_files), program, command.program};
  arguments.insert(arguments.end(), command.args.begin(), command.args.end());
  return arguments;
}

std::vector<std::string> environment_entries(const Command& command) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : command.environment)
    entries.push_back(name + "=" + value);
  return entries;
}

}  // namespace

Error spawn_error(const std::string& program, const std::string& reason, std::string remedy) {
  return Error("upstream.spawn_failed", fmt::format("cannot start '{}': {}", program, reason),
               std::move(remedy));
}

Result<std::string> locate_program(const Command& command) {
  if (auto cwd = check_cwd(command); !cwd) return cwd.error();
  std::string path;
  for (const auto& [name, value] : command.environment) {
    if (name == "PATH") path = value;
  }
  std::string file = find_program(command.program, path, command.cwd);
  if (file.empty()) {
    return spawn_error(command.program,
                       fmt::format("no such program in the PATH searched ({})", path),
                       "add its directory to `path:` at the top level of the configuration, or "
                       "give an absolute path in `command:` of this server");
  }
  if (auto usable = check_file(command.program, file); !usable) return usable.error();
  return file;
}

Result<Spawned> spawn_supervised(const Command& command, const std::string& program,
                                 const Child::Options& options) {
  Spawned spawned;
  Ends theirs;
  if (!make_streams(spawned, theirs)) {
    return spawn_error(command.program, "no pipes: " + reason_of(errno),
                       "raise the limit of open files of the daemon (LimitNOFILE=, ulimit -n)");
  }
  std::error_code ignored;
  // Absolute, because the change of directory comes before the exec.
  const std::string file = std::filesystem::absolute(options.supervisor, ignored).string();
  const SpawnPlan plan(theirs, command.cwd);
  const int error = plan.spawn(spawned.supervisor, file,
                               supervisor_arguments(command, program, options.open_files),
                               environment_entries(command));
  if (error != 0) {
    const bool missing = ::access(file.c_str(), X_OK) != 0;
    return spawn_error(command.program,
                       fmt::format("its supervisor {}: {}", file, reason_of(error)),
                       missing ? "install mcpx-supervise beside mcpxd" : "");
  }
  spawned.exit = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, spawned.supervisor, 0)));
  if (spawned.exit.get() < 0) {  // out of descriptors: undo, this wait is over at once
    const int reason = errno;
    ::kill(spawned.supervisor, SIGKILL);
    ::waitpid(spawned.supervisor, nullptr, 0);
    return spawn_error(command.program, "no pidfd: " + reason_of(reason));
  }
  return spawned;
}

}  // namespace mcpx::process
