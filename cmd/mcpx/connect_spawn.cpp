#include "connect_spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "client.hpp"

extern char** environ;

namespace mcpx::cli {
namespace {

std::string beside_this_program() {
  std::array<char, 4096> buffer;
  const ssize_t size = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (size <= 0) return {};
  const std::string self(buffer.data(), static_cast<std::size_t>(size));
  const std::string path = self.substr(0, self.rfind('/')) + "/mcpxd";
  return ::access(path.c_str(), X_OK) == 0 ? path : std::string();
}

// One that lets us in no further than the door is there too.
bool answers(const Daemon& daemon) {
  const auto health = ask_daemon(daemon, "GET", "/v1/health", "", Milliseconds{2'000});
  return health && (health->status == 200 || health->status == 401 || health->status == 403);
}

// Owns the two structures of posix_spawn.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  explicit SpawnPlan(const std::string& log) {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    // Nothing of the client's may stay open in a process that outlives it.
    ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(
        &attributes,
        static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

}  // namespace

std::string spawn_log_path(const EnvironmentFunction& environment) {
  const std::string state = environment("XDG_STATE_HOME").value_or("");
  if (!state.empty()) return state + "/mcpx/mcpxd.log";
  return environment("HOME").value_or("/tmp") + "/.local/state/mcpx/mcpxd.log";
}

Result<Spawned> spawn_daemon(const std::string& config, const EnvironmentFunction& environment) {
  Spawned out;
  out.log = spawn_log_path(environment);
  std::error_code failure;
  const std::filesystem::path directory = std::filesystem::path(out.log).parent_path();
  std::filesystem::create_directories(directory, failure);
  if (failure) {
    return Error("connect.spawn",
                 fmt::format("cannot create {}: {}", directory.string(), failure.message()),
                 "set XDG_STATE_HOME to a directory that can be written");
  }
  const std::string beside = beside_this_program();
  std::string program = beside.empty() ? "mcpxd" : beside;
  std::string option = "--config", file = config;
  std::vector<char*> argv = {program.data()};
  if (!config.empty()) argv.insert(argv.end(), {option.data(), file.data()});
  argv.push_back(nullptr);
  const SpawnPlan plan(out.log);
  const int error = ::posix_spawnp(&out.pid, program.c_str(), &plan.actions, &plan.attributes,
                                   argv.data(), environ);
  if (error != 0) {
    return Error("connect.spawn", fmt::format("cannot start {}: {}", program, std::strerror(error)),
                 "install mcpxd beside mcpx or into a directory of PATH");
  }
  return out;
}

std::optional<std::string> ended(const Spawned& daemon) {
  int status = 0;
  if (::waitpid(daemon.pid, &status, WNOHANG) != daemon.pid) return std::nullopt;
  return WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                           : fmt::format("signal {}", WTERMSIG(status));
}

std::string log_tail(const std::string& path) {
  constexpr std::streamoff kTail = 600;
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) return {};
  const std::streamoff size = stream.tellg();
  stream.seekg(size > kTail ? size - kTail : 0);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (size > kTail) text.erase(0, text.find('\n') + 1);
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

Result<void> ensure_daemon(const Daemon& wanted, const std::string& config, Milliseconds wait,
                           const EnvironmentFunction& environment) {
  if (answers(wanted)) return {};
  const auto daemon = spawn_daemon(config, environment);
  if (!daemon) return daemon.error();
  const TimePoint until = Clock::now() + wait;
  std::optional<std::string> end;
  int after_the_end = 0;
  while (Clock::now() < until) {
    if (answers(wanted)) return {};
    if (!end) end = ended(*daemon);
    // Another client may have started one at the same moment, and ours found the address taken.
    if (end && ++after_the_end > 10) break;
    ::poll(nullptr, 0, 100);  // nothing tells when a daemon answers: it is asked again
  }
  const std::string tail = log_tail(daemon->log);
  if (end) {
    return Error("connect.spawn",
                 fmt::format("mcpxd ended with {}{}{}", *end, tail.empty() ? "" : ": ", tail),
                 fmt::format("correct its configuration; its log is {}", daemon->log));
  }
  return Error("connect.spawn",
               fmt::format("mcpxd was started, but {} does not answer", wanted.url),
               fmt::format("does its configuration listen there? Its log is {}", daemon->log));
}

}  // namespace mcpx::cli
