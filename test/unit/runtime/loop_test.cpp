#include "runtime/loop.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "runtime/readiness.hpp"
#include "runtime/start.hpp"
#include "runtime/timer.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::runtime {
namespace {

struct Pipe {
  Pipe() { REQUIRE(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    close_write();
  }
  void close_write() {
    if (ends[1] >= 0) ::close(std::exchange(ends[1], -1));
  }
  void write(char byte) { REQUIRE(::write(ends[1], &byte, 1) == 1); }
  std::array<int, 2> ends{-1, -1};
};

Task<void> look(Shard& shard) {
  Timer timer(shard);
  const bool slept = co_await timer.sleep_for(Milliseconds(0));
  REQUIRE(slept);
}

Task<void> wait_for_input(Readiness& readiness, int& times) {
  co_await readiness.readable();
  ++times;
}

Task<void> edges_body(Shard& shard) {
  Pipe pipe;
  Readiness readiness(shard);
  REQUIRE(readiness.watch(pipe.ends[0]) == 0);
  REQUIRE(readiness.may_read());  // nothing is known
  readiness.input_exhausted();
  int times = 0;
  start(shard, wait_for_input(readiness, times));
  co_await look(shard);
  REQUIRE(times == 0);
  pipe.write('a');
  co_await look(shard);
  REQUIRE(times == 1);
  // It is told once; whoever does not read it to its end keeps the mark.
  co_await look(shard);
  REQUIRE(readiness.may_read());
  char byte = 0;
  REQUIRE(::read(pipe.ends[0], &byte, 1) == 1);
  readiness.input_exhausted();
  REQUIRE_FALSE(readiness.may_read());
}
TEST_CASE("readable() waits for what the kernel has not reported yet, and for nothing else") {
  test::on_shard(edges_body);
}

Task<void> end_body(Shard& shard) {
  Pipe pipe;
  Readiness readiness(shard);
  REQUIRE(readiness.watch(pipe.ends[0]) == 0);
  pipe.write('a');
  pipe.close_write();
  co_await look(shard);
  std::array<char, 8> buffer;
  REQUIRE(::read(pipe.ends[0], buffer.data(), buffer.size()) == 1);
  readiness.input_exhausted();  // a short read, but the end came with the data
  co_await readiness.readable();
  REQUIRE(::read(pipe.ends[0], buffer.data(), buffer.size()) == 0);
}
TEST_CASE("an end that came together with the last bytes is not slept through") {
  test::on_shard(end_body);
}

Task<void> interrupt_body(Shard& shard) {
  Pipe pipe;
  Readiness readiness(shard);
  REQUIRE(readiness.watch(pipe.ends[0]) == 0);
  readiness.input_exhausted();
  int times = 0;
  start(shard, wait_for_input(readiness, times));
  readiness.interrupt();
  co_await look(shard);
  REQUIRE(times == 1);
  REQUIRE_FALSE(readiness.may_read());
}
TEST_CASE("interrupt() wakes whoever waits, though nothing happened") {
  test::on_shard(interrupt_body);
}

Task<void> file_body(Shard& shard) {
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  Readiness readiness(shard);
  const int failure = readiness.watch(file);
  readiness.input_exhausted();
  REQUIRE((failure == 0 && readiness.may_read()));
  ::close(file);
  REQUIRE(readiness.watch(file) == EBADF);
  co_return;
}
TEST_CASE("a file, which epoll does not take, is always ready; what is not open is an error") {
  test::on_shard(file_body);
}

Task<void> alarms_body(Shard& shard) {
  std::string rung;
  const TimePoint now = Clock::now();
  Alarm late(shard.loop(), [&] { rung += 'c'; });
  Alarm early(shard.loop(), [&] { rung += 'a'; });
  Alarm cleared(shard.loop(), [&] { rung += 'x'; });
  Alarm moved(shard.loop(), [&] { rung += 'b'; });
  late.set(now - Milliseconds(1));
  early.set(now - Milliseconds(3));
  cleared.set(now - Milliseconds(4));
  moved.set(now + std::chrono::hours(1));
  moved.set(now - Milliseconds(2));
  cleared.clear();
  co_await look(shard);
  REQUIRE(rung == "abc");
  co_await look(shard);
  REQUIRE(rung == "abc");
}
TEST_CASE("alarms ring once, in the order of their times; one that was cleared does not") {
  test::on_shard(alarms_body);
}

Task<void> spin(Loop& loop, std::shared_ptr<const bool> stop) {
  while (!*stop) {
    co_await loop.turn();
  }
}

Task<void> fair_body(Shard& shard) {
  Pipe pipe;
  Readiness readiness(shard);
  REQUIRE(readiness.watch(pipe.ends[0]) == 0);
  readiness.input_exhausted();
  const auto stop = std::make_shared<bool>(false);  // the spinner sees it after we have gone
  start(shard, spin(shard.loop(), stop));
  pipe.write('a');
  co_await readiness.readable();
  *stop = true;
}
TEST_CASE("descriptors are looked at though somebody is always ready") {
  test::on_shard(fair_body);
}

TEST_CASE("what is posted runs in order, from the loop's own thread and from others") {
  Shard shard(0);
  std::string order;
  shard.post([&] {
    order += 'a';
    shard.post([&] { order += 'c'; });
    order += 'b';
  });
  shard.finish();
  shard.run();
  REQUIRE(order == "abc");
}

TEST_CASE("finish() lets what has begun come to its end") {
  bool reached = false;
  {
    Shard shard(0);
    shard.post([&] {
      struct Body {
        static Task<void> run(Shard& here, bool& done) {
          Timer timer(here);
          const bool slept = co_await timer.sleep_for(Milliseconds(1));
          done = slept;
        }
      };
      start(shard, Body::run(shard, reached));
    });
    shard.finish();
    shard.run();
  }
  REQUIRE(reached);
}

Task<void> sleep_long(Shard& shard, std::shared_ptr<int> held) {
  Timer timer(shard);
  const bool slept = co_await timer.sleep_for(std::chrono::hours(1));
  *held = slept ? 1 : 2;
}

Task<void> wait_long(Shard& shard, int descriptor, std::shared_ptr<int> held) {
  Readiness readiness(shard);
  REQUIRE(readiness.watch(descriptor) == 0);
  readiness.input_exhausted();
  co_await readiness.readable();
  *held = 3;
}

TEST_CASE("a watchdog that another thread destroyed does not bark") {
  Shard shard(0);
  bool expired = false;
  auto watchdog = std::make_unique<Watchdog>(shard, [&expired] { expired = true; });
  watchdog->set(Clock::now());  // nobody runs the loop yet
  watchdog.reset();
  shard.finish();
  shard.run();
  REQUIRE_FALSE(expired);
}

TEST_CASE("a loop that goes takes along who waits for a time or a descriptor") {
  const auto held = std::make_shared<int>(0);
  Pipe pipe;
  {
    auto loop = std::make_unique<Shard>(0);
    loop->post([&] {
      start(*loop, sleep_long(*loop, held));
      start(*loop, wait_long(*loop, pipe.ends[0], held));
    });
    loop->loop().run_once();
    REQUIRE(held.use_count() == 3);
  }
  REQUIRE(held.use_count() == 1);
  REQUIRE(*held == 0);
}

}  // namespace
}  // namespace mcpx::runtime
