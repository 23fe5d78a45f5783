// Other processes: a second daemon, and one that is killed while it writes.
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "store/database.hpp"
#include "unit/store/harness.hpp"

namespace mcpx::store {
namespace {

using namespace test;

// mcpx-fixture-store on a directory; killed at the end at the latest.
class Fixture {
 public:
  explicit Fixture(const std::string& state_dir) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    std::string program = MCPX_FIXTURE_STORE;
    std::string directory = state_dir;
    std::array<char*, 3> arguments = {program.data(), directory.data(), nullptr};
    const int error =
        ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ends[0];
    REQUIRE(error == 0);
  }
  ~Fixture() { kill(); }

  // Until `lines` more lines are there.
  void read_lines(std::size_t lines) {
    const auto wanted =
        static_cast<std::ptrdiff_t>(lines) + std::count(text_.begin(), text_.end(), '\n');
    while (std::count(text_.begin(), text_.end(), '\n') < wanted) {
      pollfd event = {output_, POLLIN, 0};
      REQUIRE(::poll(&event, 1, static_cast<int>(kPatience.count())) == 1);
      REQUIRE(read_some());
    }
  }
  void kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
    while (read_some()) {
    }
    ::close(output_);
  }
  pid_t pid() const { return pid_; }
  // The whole lines it wrote.
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::istringstream stream(text_.substr(0, text_.rfind('\n') + 1));
    for (std::string line; std::getline(stream, line);)
      all.push_back(line);
    return all;
  }

 private:
  bool read_some() {
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(output_, buffer.data(), buffer.size());
    if (got > 0) text_.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  pid_t pid_ = 0;
  int output_ = -1;
  std::string text_;
};

TEST_CASE("store: a second process on the directory works in memory; after the first it is free") {
  Directory directory;
  Fixture first(directory.path());
  first.read_lines(1);
  REQUIRE(first.lines().front() == "disk");
  const Status status = open_and_close(directory.path());
  CHECK(status.state == State::memory);
  CHECK(status.message.find("process " + std::to_string(first.pid())) != std::string::npos);
  first.kill();
  CHECK(open_and_close(directory.path()).state == State::disk);
  CHECK(directory.names("mcpx.db.corrupt-").empty());
}

TEST_CASE("store: a kill in the middle of writing loses no acknowledged write") {
  Directory directory;
  std::size_t acknowledged = 0;
  for (std::size_t round = 0; round < 5; ++round) {
    std::vector<std::string> keys;
    {
      Fixture writer(directory.path());
      writer.read_lines(1 + 40 * (round + 1));
      writer.kill();
      keys = writer.lines();
    }
    REQUIRE(keys.front() == "disk");
    keys.erase(keys.begin());
    acknowledged += keys.size();
    // Through the store first: it must take the file as it was left.
    REQUIRE(open_and_close(directory.path()).state == State::disk);
    const auto database = Database::open(directory.file());
    REQUIRE(database.has_value());
    std::size_t found = 0;
    for (const std::string& key : keys) {
      Query query = (*database)->query("SELECT 1 FROM eras WHERE digest = ?1");
      const Result<bool> row = query.bind(key).step();
      if (row && *row) ++found;
    }
    CHECK(found == keys.size());
  }
  CHECK(acknowledged >= 600);
  CHECK(directory.names("mcpx.db.corrupt-").empty());
}

}  // namespace
}  // namespace mcpx::store
