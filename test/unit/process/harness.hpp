// Starting children in tests, and finding what is left of them by a mark in their environment.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "process/child.hpp"
#include "process/environment.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/timer.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::process::test {

using mcpx::test::on_shard;
using runtime::Shard;

constexpr Milliseconds kGrace(200);
constexpr Milliseconds kPatience(20'000);  // how long a test waits for what must happen

// Unique per call, so that tests may run side by side.
inline std::string new_mark() {
  static int count = 0;
  return "mcpx-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

inline Command command_of(const std::string& program, std::vector<std::string> args,
                          const std::string& mark = new_mark()) {
  Command command;
  command.program = program;
  command.args = std::move(args);
  const Environment mark_entry = {{"MCPX_TEST_MARK", mark}};
  command.environment = merge_environment(current_environment(), {}, mark_entry, {});
  return command;
}

inline Child::Options options() {
  Child::Options made;
  made.supervisor = MCPX_SUPERVISE;
  return made;
}

// The processes that carry the mark, zombies not counted.
inline std::vector<pid_t> marked(const std::string& mark) {
  const std::string entry_wanted = "MCPX_TEST_MARK=" + mark + '\0';  // not -1 for -12
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    if (text.find(entry_wanted) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

inline Task<std::unique_ptr<Child>> start(Shard& shard, Command command) {
  const Child::Options with = options();
  auto started = co_await Child::start(shard, std::move(command), with);
  if (!started) FAIL(started.error().text());
  std::unique_ptr<Child> child = std::move(*started);
  co_return child;
}

// Reads from `stream` until `count` bytes are there, or its end.
inline Task<std::string> read_bytes(net::ByteStream& stream, std::size_t count) {
  std::string text;
  std::vector<char> buffer(4096);
  stream.read_deadline(Clock::now() + kPatience);
  while (text.size() < count) {
    auto got = co_await stream.read_some(buffer);
    if (!got) FAIL(got.error().text() << " after: " << text);
    if (*got == 0) break;
    text.append(buffer.data(), *got);
  }
  co_return text;
}

// Waits until the child has ended by itself.
inline Task<ExitStatus> wait_exit(Shard& shard, Child& child) {
  runtime::OneShot<ExitStatus> exit;
  child.on_exit([&exit](ExitStatus status) { exit.set(status); });
  runtime::Watchdog late(shard, [&exit] { exit.set(ExitStatus{-1, -1}); });
  late.set(Clock::now() + kPatience);
  ExitStatus status = co_await exit.wait();
  co_return status;
}

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator list("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

}  // namespace mcpx::process::test
