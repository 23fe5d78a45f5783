#include "process/child.hpp"

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "unit/process/harness.hpp"

namespace mcpx::process {
namespace {

using namespace test;

Task<void> echo_body(Shard& shard) {
  const std::string mark = new_mark();
  Command command = command_of("cat", {}, mark);
  auto child = co_await start(shard, std::move(command));
  REQUIRE(child->pid() > 1);
  REQUIRE(children_alive() == 1);
  auto written = co_await net::write_all(child->input(), "hello\n");
  REQUIRE(written.has_value());
  const std::string echoed = co_await read_bytes(child->output(), 6);
  REQUIRE(echoed == "hello\n");
  co_await child->stop(kPatience);  // far below the grace: cat ends with its input
  REQUIRE(child->exited().has_value());
  REQUIRE(child->exited()->text() == "exit code 0");
  REQUIRE(children_alive() == 0);
  REQUIRE(marked(mark).empty());
}

TEST_CASE("Child: echoes, and ends when its input is closed") {
  on_shard(echo_body);
}

Task<void> exit_code_body(Shard& shard) {
  Command command = command_of(MCPX_FIXTURE_CRASH, {"--lines", "5", "--exit", "3"});
  auto child = co_await start(shard, std::move(command));
  const ExitStatus status = co_await wait_exit(shard, *child);
  REQUIRE(status.text() == "exit code 3");
  REQUIRE(child->exited()->code == 3);
  // All of it is there when the callback runs: it goes into the error of every waiting call (C04).
  REQUIRE(child->errors().tail(10) == "line 1\nline 2\nline 3\nline 4\nline 5");
  co_await child->stop(kGrace);
}

TEST_CASE("C04: a failed child is announced with its exit code and its last lines") {
  on_shard(exit_code_body);
}

Task<void> late_callback_body(Shard& shard) {
  Command command = command_of("true", {});
  auto child = co_await start(shard, std::move(command));
  const std::string nothing = co_await read_bytes(child->output(), 1);
  REQUIRE(nothing.empty());
  const ExitStatus first = co_await wait_exit(shard, *child);
  REQUIRE(first.text() == "exit code 0");
  const ExitStatus again = co_await wait_exit(shard, *child);  // registered after the end
  REQUIRE(again.text() == "exit code 0");
  co_await child->stop(kGrace);
  co_await child->stop(kGrace);
  co_await child->kill();
}

TEST_CASE("Child: an end is told to a callback that comes late; stopping twice is harmless") {
  on_shard(late_callback_body);
}

Task<void> signal_body(Shard& shard) {
  Command command = command_of(MCPX_FIXTURE_CRASH, {"--signal", "10"});
  auto child = co_await start(shard, std::move(command));
  const ExitStatus status = co_await wait_exit(shard, *child);
  REQUIRE(status.text() == "signal 10 (User defined signal 1)");
  co_await child->kill();
}

TEST_CASE("Child: a signal that ends it is told") {
  on_shard(signal_body);
}

Task<void> stderr_body(Shard& shard) {
  Command command = command_of(MCPX_FIXTURE_CRASH, {"--bytes", "262144", "--echo"});
  auto child = co_await start(shard, std::move(command));
  auto written = co_await net::write_all(child->input(), "x\n");
  REQUIRE(written.has_value());
  const std::string echoed = co_await read_bytes(child->output(), 2);
  REQUIRE(echoed == "x\n");
  co_await child->stop(kPatience);
  REQUIRE(child->errors().total() == 262144);
  REQUIRE(child->errors().tail(1'000'000).size() == options().stderr_bytes);
}

TEST_CASE("C15: 256 KB on standard error block nothing and are not kept") {
  on_shard(stderr_body);
}

Task<void> stubborn_body(Shard& shard) {
  Command command = command_of(MCPX_FIXTURE_CRASH, {"--stubborn"});
  auto child = co_await start(shard, std::move(command));
  const std::string ready = co_await read_bytes(child->output(), 6);
  REQUIRE(ready == "ready\n");
  bool announced = false;
  child->on_exit([&announced](ExitStatus) { announced = true; });
  co_await child->stop(kGrace);
  REQUIRE(child->exited()->text() == "signal 9 (Killed)");
  REQUIRE_FALSE(announced);  // it did not end by itself
}

TEST_CASE("Child: one that ignores SIGTERM is killed after the grace") {
  on_shard(stubborn_body);
}

Task<void> terminate_body(Shard& shard) {
  // Ignores the end of its input, but not SIGTERM.
  Command command = command_of("sleep", {"1000"});
  auto child = co_await start(shard, std::move(command));
  co_await child->stop(Milliseconds(1'000));
  REQUIRE(child->exited()->text() == "signal 15 (Terminated)");
}

TEST_CASE("Child: SIGTERM comes before SIGKILL") {
  on_shard(terminate_body);
}

Task<void> stop_then_kill(Child& child, bool& stopped) {
  co_await child.stop(kPatience);
  stopped = true;
}

Task<void> impatient_body(Shard& shard) {
  Command command = command_of(MCPX_FIXTURE_CRASH, {"--stubborn"});
  auto child = co_await start(shard, std::move(command));
  const std::string ready = co_await read_bytes(child->output(), 6);
  REQUIRE(ready == "ready\n");
  const TimePoint before = Clock::now();
  bool stopped = false;
  runtime::TaskGroup group(shard);
  group.spawn("stop", stop_then_kill(*child, stopped));
  co_await child->kill();
  co_await group.join();
  REQUIRE(stopped);
  REQUIRE(Clock::now() - before < kPatience);
}

TEST_CASE("Child: kill() cuts a patient stop() short") {
  on_shard(impatient_body);
}

Task<Error> refused(Shard& shard, Command command) {
  const Child::Options with = options();
  auto started = co_await Child::start(shard, std::move(command), with);
  if (started) FAIL("it was started");
  co_return started.error();
}

Task<void> not_found_body(Shard& shard) {
  Command command = command_of("npx-elsewhere", {});
  command.environment = {{"PATH", "/usr/bin:/bin"}};
  const Error error = co_await refused(shard, std::move(command));
  REQUIRE(error.code == "upstream.spawn_failed");
  REQUIRE(error.message ==
          "cannot start 'npx-elsewhere': no such program in the PATH searched (/usr/bin:/bin)");
  REQUIRE(error.remedy.find("`path:`") != std::string::npos);
  REQUIRE(error.remedy.find("`command:`") != std::string::npos);
}

TEST_CASE("C73: a program that is not found names the PATH and the settings that extend it") {
  on_shard(not_found_body);
}

struct Refusal {
  const char* name;
  Command command;
  std::string cause;
};

std::string scratch_file(const std::string& content, bool executable) {
  const auto path = std::filesystem::temp_directory_path() / new_mark();
  std::ofstream(path) << content;
  if (executable) std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

Task<void> refusal_body(Shard& shard) {
  const std::string plain = scratch_file("text", false);
  const std::string orphan = scratch_file("#!/no/such/interpreter\n", true);
  const std::string formless = scratch_file("neither ELF nor script", true);
  std::vector<Refusal> cases = {
      {"missing file", command_of("/no/such/program", {}), "/no/such/program: No such file"},
      {"directory", command_of("/tmp", {}), "is a directory"},
      {"device", command_of("/dev/null", {}), "is not a file"},
      {"not executable", command_of(plain, {}), "is not executable"},
      {"interpreter missing", command_of(orphan, {}), "No such file or directory"},
      {"unknown format", command_of(formless, {}), "Exec format error"},
      {"missing cwd", command_of("cat", {}), "its directory /no/such/place does not exist"},
      {"cwd is a file", command_of("cat", {}), "is not a directory"},
      {"too long", command_of("cat", {std::string(4u << 20, 'x')}), "Argument list too long"},
  };
  cases[6].command.cwd = "/no/such/place";
  cases[7].command.cwd = plain;
  Command warm_up = command_of(orphan, {});  // opens what the event loop keeps
  const Error first = co_await refused(shard, std::move(warm_up));
  const std::size_t before = open_descriptors();
  for (Refusal& c : cases) {
    INFO(c.name);
    const Error error = co_await refused(shard, std::move(c.command));
    CAPTURE(error.text());
    CHECK(error.code == "upstream.spawn_failed");
    CHECK(error.message.find(c.cause) != std::string::npos);
  }
  CHECK(open_descriptors() == before);
  CHECK(children_alive() == 0);
  for (const std::string& file : {plain, orphan, formless})
    std::filesystem::remove(file);
}

TEST_CASE("Child: what cannot be started says why, and leaves nothing open") {
  on_shard(refusal_body);
}

Task<void> no_supervisor_body(Shard& shard) {
  Child::Options with = options();
  with.supervisor = "/no/such/mcpx-supervise";
  Command command = command_of("cat", {});
  auto started = co_await Child::start(shard, std::move(command), with);
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().message.find("/no/such/mcpx-supervise") != std::string::npos);
  CHECK(started.error().remedy.find("install mcpx-supervise") != std::string::npos);
}

TEST_CASE("Child: a missing supervisor is named") {
  on_shard(no_supervisor_body);
}

Task<void> surroundings_body(Shard& shard) {
  // The shell tells what it got; /proc/self of `ls` would show the descriptors of ls.
  Command command = command_of(
      "sh", {"-c", "pwd; echo $GREETING; echo \"$0 $1\"; ls /proc/$$/fd", "zero", "one two"});
  command.cwd = "/usr";
  command.environment.emplace_back("GREETING", "hi");
  const int leaky = ::open("/dev/null", O_RDONLY);  // not close-on-exec, on purpose
  auto child = co_await start(shard, std::move(command));
  ::close(leaky);
  const std::string told = co_await read_bytes(child->output(), 4096);
  REQUIRE(told == "/usr\nhi\nzero one two\n0\n1\n2\n");
  co_await child->stop(kGrace);
}

TEST_CASE("Child: gets its directory, environment and arguments, and three descriptors only") {
  on_shard(surroundings_body);
}

Task<void> signals_body(Shard& shard) {
  Command command = command_of("sh", {"-c", "grep -E '^Sig(Blk|Ign)' /proc/$$/status | cut -f2"});
  auto child = co_await start(shard, std::move(command));
  const std::string told = co_await read_bytes(child->output(), 4096);
  co_await child->stop(kGrace);
  REQUIRE(told.size() == 2 * 17);
  CHECK(std::stoull(told.substr(0, 16), nullptr, 16) == 0);
  // posix_spawn leaves the two signals that the C library keeps for its threads (32, 33) ignored.
  CHECK((std::stoull(told.substr(17, 16), nullptr, 16) & ~0x180000000ull) == 0);
}

TEST_CASE("Child: starts with no signal blocked or ignored, though the daemon ignores SIGPIPE") {
  on_shard(signals_body);
}

Task<void> dead_reader_body(Shard& shard) {
  Command command = command_of("true", {});
  auto child = co_await start(shard, std::move(command));
  co_await wait_exit(shard, *child);
  auto written = co_await net::write_all(child->input(), "to nobody");
  REQUIRE_FALSE(written.has_value());
  co_await child->stop(kGrace);
}

TEST_CASE("Child: writing to a dead one is an error, not a SIGPIPE") {
  on_shard(dead_reader_body);
}

Task<void> cycle(Shard& shard) {
  Command command = command_of("cat", {});
  auto child = co_await start(shard, std::move(command));
  auto written = co_await net::write_all(child->input(), "x");
  REQUIRE(written.has_value());
  const std::string echoed = co_await read_bytes(child->output(), 1);
  REQUIRE(echoed == "x");
  co_await child->stop(kPatience);
}

Task<void> cycles_body(Shard& shard) {
  co_await cycle(shard);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    co_await cycle(shard);
  }
  REQUIRE(open_descriptors() == before);
  REQUIRE(children_alive() == 0);
}

TEST_CASE("C08: 200 starts and stops leave no descriptor behind") {
  on_shard(cycles_body);
}

}  // namespace
}  // namespace mcpx::process
