// The sweep after a crash: what an earlier daemon left is ended, and never a stranger.
#include "process/sweep.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "unit/process/harness.hpp"

namespace mcpx::process {
namespace {

using namespace test;

constexpr const char* kBoot = "this-boot";
const ProcessRow kSelf{50, 1, 50, 40, 500, 'R'};

std::vector<pid_t> pids_of(const std::vector<ProcessRow>& rows) {
  std::vector<pid_t> pids;
  for (const ProcessRow& row : rows)
    pids.push_back(row.pid);
  std::sort(pids.begin(), pids.end());
  return pids;
}

// A supervisor 100 with a server 101 and its tree, among others.
//                          pid  parent group session start state
const ProcessRow kTable[] = {{1, 0, 1, 1, 1, 'S'},
                             {40, 1, 40, 40, 100, 'S'},
                             kSelf,
                             {100, 1, 100, 100, 1000, 'S'},
                             {101, 100, 101, 100, 1001, 'S'},
                             {102, 101, 101, 100, 1002, 'R'},
                             {103, 100, 103, 103, 1003, 'S'},  // daemonised, adopted by 100
                             {104, 103, 103, 103, 1004, 'S'},
                             {105, 101, 101, 100, 1005, 'Z'},
                             {106, 1, 106, 100, 1006, 'S'},  // left its parent, not the session
                             {200, 1, 200, 200, 900, 'S'},
                             {201, 200, 200, 200, 2000, 'S'}};

struct Case {
  const char* name;
  std::vector<Mark> recorded;
  std::vector<pid_t> expected;
};

TEST_CASE("sweep: what is to be ended is decided by process id, start and boot together") {
  const Mark supervisor(100, 1000, kBoot);
  const Mark server(101, 1001, kBoot);
  const std::vector<pid_t> tree = {100, 101, 102, 103, 104, 106};
  const Case cases[] = {
      {"nothing recorded", {}, {}},
      {"a supervisor and its server", {supervisor, server}, tree},
      {"the supervisor alone", {supervisor}, tree},
      {"the server of a supervisor that is not known", {server}, {101, 102}},
      {"the number was used again", {Mark(100, 999, kBoot), Mark(101, 1000, kBoot)}, {}},
      {"another boot", {Mark(100, 1000, "last-boot")}, {}},
      {"gone", {Mark(150, 1000, kBoot)}, {}},
      {"a zombie", {Mark(105, 1005, kBoot)}, {}},
      {"init", {Mark(1, 1, kBoot)}, {}},
      {"the daemon itself", {Mark(50, 500, kBoot)}, {}},
      {"the shell the daemon was started from", {Mark(40, 100, kBoot)}, {}},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      CHECK(pids_of(left_behind(c.recorded, kTable, kBoot, kSelf)) == c.expected);
    }
  }
}

TEST_CASE("sweep: a session is swept while a recorded process lives in it, and no longer") {
  const std::vector<Mark> recorded = {Mark(100, 1000, kBoot), Mark(101, 1001, kBoot)};
  const ProcessRow server{101, 1, 101, 100, 1001, 'S'};
  const ProcessRow member{106, 1, 106, 100, 1006, 'S'};
  CHECK(pids_of(left_behind(recorded, std::vector{server, member}, kBoot, kSelf)) ==
        std::vector<pid_t>{101, 106});
  // Its leader's number may be a stranger's by now, and so may the session.
  CHECK(left_behind(recorded, std::vector{member}, kBoot, kSelf).empty());
}

TEST_CASE("sweep: a row whose parent is younger is not below it") {
  const std::vector<Mark> recorded = {Mark(100, 1000, kBoot)};
  const std::vector<ProcessRow> table = {{100, 1, 100, 100, 1000, 'S'},
                                         {30, 100, 30, 30, 300, 'S'}};
  CHECK(pids_of(left_behind(recorded, table, kBoot, kSelf)) == std::vector<pid_t>{100});
}

TEST_CASE("sweep: without a boot id nothing is ended") {
  CHECK(left_behind(std::vector{Mark(100, 1000, "")}, kTable, "", kSelf).empty());
}

TEST_CASE("sweep: a mark is of the process itself") {
  const auto own = mark_of(::getpid());
  REQUIRE(own.has_value());
  CHECK(own->pid == ::getpid());
  CHECK(own->start_ticks > 0);
  CHECK(own->boot_id == boot_id());
  CHECK(own->boot_id.size() == 36);
  CHECK_FALSE(mark_of(0x3fffffff).has_value());
}

// A daemon with one server under it, in processes of their own.
class Household {
 public:
  explicit Household(const char* shape, std::size_t up_wanted) : mark_(new_mark()) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    std::string entry = "MCPX_TEST_MARK=" + mark_;
    std::vector<std::string> words = {MCPX_FIXTURE_HOST, MCPX_SUPERVISE, MCPX_FIXTURE_TREE, shape};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    char* environment[] = {entry.data(), nullptr};
    const int error =
        ::posix_spawn(&daemon_, MCPX_FIXTURE_HOST, &actions, nullptr, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    REQUIRE(error == 0);
    std::string up;
    char byte = 0;
    while (up.size() < 3 * up_wanted && ::read(ends[0], &byte, 1) == 1)
      up += byte;
    ::close(ends[0]);
    REQUIRE(up.size() == 3 * up_wanted);
    const Mark supervisor = child_of(daemon_);
    supervisor_ = supervisor.pid;
    recorded_ = {supervisor, child_of(supervisor_)};
  }
  ~Household() {
    for (const pid_t pid : marked(mark_))
      ::kill(pid, SIGKILL);
    if (daemon_ > 0) ::waitpid(daemon_, nullptr, 0);
  }

  // The daemon dies with its supervisor stopped, so that this does not end the tree.
  void crash() {
    ::kill(supervisor_, SIGSTOP);
    ::kill(daemon_, SIGKILL);
    ::waitpid(daemon_, nullptr, 0);
    daemon_ = 0;
  }
  void kill_supervisor() const { ::kill(supervisor_, SIGKILL); }
  std::vector<pid_t> processes() const { return marked(mark_); }
  const std::vector<Mark>& recorded() const { return recorded_; }

 private:
  // What is found may be a wrapper that ends before it can be looked at; then its server comes
  // here.
  Mark child_of(pid_t parent) const {
    const TimePoint patience = Clock::now() + kPatience;
    while (Clock::now() < patience) {
      for (const ProcessRow& row : process_table()) {
        if (row.parent != parent) continue;
        if (auto mark = mark_of(row.pid)) return *mark;
      }
      std::this_thread::yield();
    }
    FAIL("no child of " << parent);
    return Mark(0, 0, "");
  }

  std::string mark_;
  pid_t daemon_ = 0, supervisor_ = 0;
  std::vector<Mark> recorded_;
};

Task<void> sweep_body(Shard& shard, std::vector<Mark> recorded, Milliseconds grace,
                      SweepReport& report) {
  report = co_await sweep(shard, std::move(recorded), grace);
}

SweepReport run_sweep(const std::vector<Mark>& recorded, Milliseconds grace) {
  SweepReport report;
  on_shard([&](Shard& shard) { return sweep_body(shard, recorded, grace, report); });
  return report;
}

TEST_CASE("sweep: a server whose supervisor was killed too is ended with its tree") {
  Household household("orphan", 2);
  household.crash();
  household.kill_supervisor();
  const TimePoint patience = Clock::now() + kPatience;
  while (household.processes().size() > 2 && Clock::now() < patience)
    std::this_thread::yield();
  REQUIRE(household.processes().size() == 2);  // the server and its child live on
  const SweepReport report = run_sweep(household.recorded(), kGrace);
  CHECK(report.found == 2);
  CHECK(report.alive.empty());
  CHECK(household.processes().empty());
}

TEST_CASE("sweep: a supervisor that hangs is ended with everything below it") {
  Household household("stubborn", 1);  // daemonised, ignores SIGTERM
  household.crash();
  REQUIRE(household.processes().size() >= 2);
  const SweepReport report = run_sweep(household.recorded(), kGrace);
  CHECK(report.found >= 2);
  CHECK(report.alive.empty());
  CHECK(household.processes().empty());
}

TEST_CASE("sweep: a stranger with a recorded process id is left alone") {
  Household household("orphan", 2);
  const auto before = household.processes();
  std::vector<Mark> recorded = household.recorded();
  for (Mark& mark : recorded)
    ++mark.start_ticks;
  CHECK(run_sweep(recorded, kGrace).found == 0);
  recorded = household.recorded();
  for (Mark& mark : recorded)
    mark.boot_id = "another";
  CHECK(run_sweep(recorded, kGrace).found == 0);
  CHECK(household.processes() == before);
}

}  // namespace
}  // namespace mcpx::process
