// Trees of processes: nothing of them may survive (cases C02 and C06).
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "process/descriptor.hpp"
#include "unit/process/harness.hpp"

namespace mcpx::process {
namespace {

using namespace test;

// Starts `command` with a mark, waits for `up` processes to say so, then stops it in a given way.
struct TreeCase {
  const char* name;
  Command command;
  std::size_t up;        // "up\n" lines to wait for
  std::size_t at_least;  // processes that must carry the mark then, the supervisor included
};

std::vector<TreeCase> tree_cases(const std::string& mark) {
  return {
      {"sh with a background process",
       command_of(
           "sh",
           {"-c", std::string("sleep 1000 & echo up; exec ") + MCPX_FIXTURE_CRASH + " --echo"},
           mark),
       1, 3},
      {"children", command_of(MCPX_FIXTURE_TREE, {"children"}, mark), 3, 4},
      {"a wrapper that daemonises the server", command_of(MCPX_FIXTURE_TREE, {"daemonise"}, mark),
       1, 2},
      {"a daemonised server that ignores SIGTERM",
       command_of(MCPX_FIXTURE_TREE, {"stubborn"}, mark), 1, 2},
  };
}

constexpr std::size_t kTreeCases = 4;

Task<std::unique_ptr<Child>> grow(Shard& shard, TreeCase c) {
  auto child = co_await start(shard, std::move(c.command));
  const std::string up = co_await read_bytes(child->output(), 3 * c.up);
  REQUIRE(up.size() == 3 * c.up);
  co_return child;
}

Task<void> tree_stop_body(Shard& shard, std::size_t index, bool courteous) {
  const std::string mark = new_mark();
  TreeCase c = tree_cases(mark)[index];
  const std::size_t at_least = c.at_least;
  auto child = co_await grow(shard, std::move(c));
  const TimePoint patience = Clock::now() + std::chrono::seconds(30);
  // A shell's background process may not have begun, and one that is about to become another
  // program has no environment for a moment.
  std::size_t seen = marked(mark).size();
  while (seen < at_least && Clock::now() < patience) {
    std::this_thread::yield();
    seen = marked(mark).size();
  }
  CHECK(seen >= at_least);
  if (courteous) {
    co_await child->stop(kGrace);
  } else {
    co_await child->kill();
  }
  CHECK(marked(mark).empty());
}

TEST_CASE("C02: stopping or killing a server leaves nothing of its tree") {
  for (std::size_t i = 0; i < kTreeCases; ++i) {
    DYNAMIC_SECTION(tree_cases("")[i].name) {
      on_shard([i](Shard& shard) { return tree_stop_body(shard, i, true); });
      on_shard([i](Shard& shard) { return tree_stop_body(shard, i, false); });
    }
  }
}

Task<void> wrapper_body(Shard& shard) {
  Command command = command_of(MCPX_FIXTURE_TREE, {"daemonise"});
  auto child = co_await start(shard, std::move(command));
  bool announced = false;
  child->on_exit([&announced](ExitStatus) { announced = true; });
  const std::string up = co_await read_bytes(child->output(), 3);
  REQUIRE(up == "up\n");
  auto written = co_await net::write_all(child->input(), "ping");
  REQUIRE(written.has_value());
  const std::string echoed = co_await read_bytes(child->output(), 4);
  REQUIRE(echoed == "ping");
  REQUIRE_FALSE(announced);
  REQUIRE_FALSE(child->exited().has_value());
  child->input().close();  // now the real server ends, and with it the tree
  const ExitStatus status = co_await wait_exit(shard, *child);
  REQUIRE(status.text() == "exit code 0");
  co_await child->stop(kGrace);
}

TEST_CASE("C02: a wrapper that exits with 0 has not ended, its server serves on") {
  on_shard(wrapper_body);
}

Task<void> failing_leader_body(Shard& shard) {
  const std::string mark = new_mark();
  Command command = command_of(MCPX_FIXTURE_TREE, {"fail"}, mark);
  auto child = co_await start(shard, std::move(command));
  const ExitStatus status = co_await wait_exit(shard, *child);
  REQUIRE(status.text() == "exit code 4");
  co_await child->stop(kGrace);
  REQUIRE(marked(mark).empty());
}

TEST_CASE("Child: a server that fails takes the rest of its tree along") {
  on_shard(failing_leader_body);
}

pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  text.erase(0, text.rfind(')') + 3);  // ") S "
  return std::stoi(text.substr(text.find(' ') == std::string::npos ? 0 : text.find(' ')));
}

Task<void> supervisor_killed_body(Shard& shard) {
  const std::string mark = new_mark();
  Command command = command_of(MCPX_FIXTURE_TREE, {"children"}, mark);
  auto child = co_await start(shard, std::move(command));
  const std::string up = co_await read_bytes(child->output(), 9);
  REQUIRE(up.size() == 9);
  const pid_t supervisor = parent_of(child->pid());
  REQUIRE(supervisor > 1);
  ::kill(supervisor, SIGTERM);  // means nothing to it
  ::kill(supervisor, SIGINT);
  ::kill(supervisor, SIGHUP);
  ::kill(supervisor, SIGKILL);
  const ExitStatus status = co_await wait_exit(shard, *child);
  REQUIRE(status.text() == "signal 9 (Killed)");
  // Its children were in its session, so their end of the pipe closes as they die.
  const std::string rest = co_await read_bytes(child->output(), 1);
  REQUIRE(rest.empty());
  co_await child->kill();
  REQUIRE(marked(mark).empty());
}

TEST_CASE("Child: a supervisor that is killed itself takes the server's session along") {
  on_shard(supervisor_killed_body);
}

Task<void> supervisor_killed_late_body(Shard& shard) {
  Command command =
      command_of("sh", {"-c", std::string(MCPX_FIXTURE_TREE) + " daemonise; exec sleep 1000"});
  auto child = co_await start(shard, std::move(command));
  const std::string up = co_await read_bytes(child->output(), 3);
  REQUIRE(up == "up\n");
  ::kill(parent_of(child->pid()), SIGKILL);
  // The daemonised server holds our pipes, standard error too; that must not keep us waiting.
  const ExitStatus status = co_await wait_exit(shard, *child);
  REQUIRE(status.text() == "signal 9 (Killed)");
  child->input().close();  // what is beyond our reach ends with its input
  const std::string rest = co_await read_bytes(child->output(), 1);
  REQUIRE(rest.empty());
  co_await child->stop(kGrace);
}

TEST_CASE("Child: a killed supervisor is noticed though a daemonised server lives on") {
  on_shard(supervisor_killed_late_body);
}

Task<void> stop_patiently(Child& child) {
  co_await child.stop(Milliseconds(1'000));  // each has to be heard in that time
}

Task<void> one_term_body(Shard& shard) {
  const std::string mark = new_mark();
  Command command = command_of(MCPX_FIXTURE_TREE, {"counting"}, mark);
  auto child = co_await start(shard, std::move(command));
  const std::string up = co_await read_bytes(child->output(), 9);
  REQUIRE(up.size() == 9);
  runtime::TaskGroup group(shard);
  group.spawn("stop", stop_patiently(*child));
  const std::string terms = co_await read_bytes(child->output(), 15);
  REQUIRE(terms == "term\nterm\nterm\n");
  const std::string more = co_await read_bytes(child->output(), 1);
  REQUIRE(more.empty());
  co_await group.join();
  REQUIRE(marked(mark).empty());
}

TEST_CASE("Child: each process of the tree gets SIGTERM, in its group or out of it, and once") {
  on_shard(one_term_body);
}

Task<void> stray_signals_body(Shard& shard) {
  Command command = command_of("cat", {});
  auto child = co_await start(shard, std::move(command));
  const pid_t supervisor = parent_of(child->pid());
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGTSTP}) {
    REQUIRE(::kill(supervisor, signal) == 0);
  }
  auto written = co_await net::write_all(child->input(), "alive");
  REQUIRE(written.has_value());
  const std::string echoed = co_await read_bytes(child->output(), 5);
  REQUIRE(echoed == "alive");
  REQUIRE(parent_of(child->pid()) == supervisor);
  co_await child->stop(kPatience);
  REQUIRE(child->exited()->text() == "exit code 0");
}

TEST_CASE("mcpx-supervise: lives through every signal but SIGKILL") {
  on_shard(stray_signals_body);
}

// Waits until each of the processes has ended.
void wait_for_all(const std::vector<pid_t>& processes, const std::vector<Descriptor>& pinned) {
  for (std::size_t i = 0; i < pinned.size(); ++i) {
    CAPTURE(processes[i]);
    pollfd event{pinned[i].get(), POLLIN, 0};
    CHECK(::poll(&event, 1, static_cast<int>(kPatience.count())) == 1);
  }
}

// Runs a daemon of its own in another process, and kills that.
void kill_daemon_with(const char* shape, std::size_t up_wanted) {
  const std::string mark = new_mark();
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  std::string mark_entry = "MCPX_TEST_MARK=" + mark;
  std::vector<std::string> words = {MCPX_FIXTURE_HOST, MCPX_SUPERVISE, MCPX_FIXTURE_TREE, shape};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  char* environment[] = {mark_entry.data(), nullptr};
  pid_t daemon = 0;
  REQUIRE(::posix_spawn(&daemon, MCPX_FIXTURE_HOST, &actions, nullptr, argv, environment) == 0);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);

  std::string up;
  char byte = 0;
  while (up.size() < 3 * up_wanted && ::read(ends[0], &byte, 1) == 1)
    up += byte;
  CHECK(up.size() == 3 * up_wanted);
  std::vector<pid_t> tree;
  std::vector<Descriptor> pinned;
  for (const pid_t pid : marked(mark)) {
    Descriptor pin(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (pin.get() < 0) continue;  // a wrapper that had done its part
    tree.push_back(pid);
    pinned.push_back(std::move(pin));
  }
  CHECK(tree.size() >= 3);  // daemon, supervisor, server
  ::close(ends[0]);

  ::kill(daemon, SIGKILL);
  wait_for_all(tree, pinned);
  CHECK(::waitpid(daemon, nullptr, 0) == daemon);
  CHECK(marked(mark).empty());
}

TEST_CASE("C06: nothing survives a SIGKILL of the daemon") {
  kill_daemon_with("children", 3);
  kill_daemon_with("daemonise", 1);
  kill_daemon_with("stubborn", 1);
}

}  // namespace
}  // namespace mcpx::process
