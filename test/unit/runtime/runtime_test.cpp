#include <catch2/catch.hpp>
#include <future>
#include <string>
#include <vector>

#include "runtime/cancel.hpp"
#include "runtime/hop.hpp"
#include "runtime/loop.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::runtime {
namespace {

Task<void> set_later(OneShot<int>& shot, int value) {
  shot.set(value);
  co_return;
}

Task<void> one_shot_body(Shard& shard) {
  OneShot<int> before;
  REQUIRE(before.set(1));
  REQUIRE_FALSE(before.set(2));
  const int first = co_await before.wait();
  REQUIRE(first == 1);
  REQUIRE_FALSE(before.set(3));

  OneShot<int> after;
  TaskGroup group(shard);
  group.spawn("set", set_later(after, 7));
  const int second = co_await after.wait();
  REQUIRE(second == 7);
  co_await group.join();
}

TEST_CASE("a OneShot keeps its first value, set before or after the wait") {
  test::on_shard(one_shot_body);
}

Task<void> consume(Mailbox<std::string>& box, std::vector<std::string>& seen) {
  while (true) {
    std::optional<std::string> item = co_await box.pop();
    if (!item) break;
    seen.push_back(*item);
  }
}

Task<void> mailbox_body(Shard& shard) {
  Mailbox<std::string> box(2);
  std::vector<std::string> seen;
  REQUIRE(box.push("a"));
  REQUIRE(box.push("b"));
  REQUIRE_FALSE(box.push("over the limit"));
  TaskGroup group(shard);
  group.spawn("consume", consume(box, seen));
  box.close();
  REQUIRE_FALSE(box.push("closed"));
  co_await group.join();
  REQUIRE(seen == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a Mailbox is bounded and drains after close") {
  test::on_shard(mailbox_body);
}

Task<void> timer_body(Shard& shard) {
  Timer timer(shard);
  const bool reached = co_await timer.sleep_for(Milliseconds(1));
  REQUIRE(reached);
  timer.cancel();
  const bool cut = co_await timer.sleep_for(std::chrono::hours(1));
  REQUIRE_FALSE(cut);
}

TEST_CASE("a Timer cancelled before its wait does not sleep") {
  test::on_shard(timer_body);
}

Task<void> watchdog_body(Shard& shard) {
  OneShot<int> fired;
  Watchdog moved(shard, [&] { fired.set(1); });
  moved.set(Clock::now() + std::chrono::hours(1));
  moved.set(Clock::now());  // earlier than what is armed
  const int value = co_await fired.wait();
  REQUIRE(value == 1);
  REQUIRE(moved.deadline() == kNever);

  bool wrong = false;
  Watchdog cleared(shard, [&] { wrong = true; });
  cleared.set(Clock::now() + Milliseconds(1));
  cleared.clear();
  Timer timer(shard);
  co_await timer.sleep_for(Milliseconds(3));
  REQUIRE_FALSE(wrong);
}

TEST_CASE("a Watchdog can be moved nearer and taken back") {
  test::on_shard(watchdog_body);
}

Task<void> wait_latch(Latch& latch, int& count) {
  co_await latch.wait();
  ++count;
}

Task<void> latch_body(Shard& shard) {
  Latch latch;
  int count = 0;
  TaskGroup group(shard);
  for (int i = 0; i < 3; ++i)
    group.spawn("latch", wait_latch(latch, count));
  Timer timer(shard);
  co_await timer.sleep_for(Milliseconds(1));
  REQUIRE(count == 0);
  latch.open();
  co_await group.join();
  REQUIRE(count == 3);
  co_await latch.wait();
}

TEST_CASE("a Latch wakes everyone and stays open") {
  test::on_shard(latch_body);
}

Task<std::size_t> where_am_i() {
  co_return Shard::current().index();
}

Task<void> hop_body(Shard& other, Shard& home, std::promise<std::vector<std::size_t>>& done) {
  std::vector<std::size_t> seen;
  seen.push_back(home.index());
  const std::function<Task<std::size_t>()> make = where_am_i;
  const std::size_t there = co_await run_on<std::size_t>(other, make);
  seen.push_back(there);
  seen.push_back(Shard::current().index());
  done.set_value(seen);
}

TEST_CASE("run_on runs on the target shard and resumes at home") {
  Shard home(0);
  Shard other(1);
  std::promise<std::vector<std::size_t>> done;
  home.start();
  other.start();
  std::promise<void> joined;
  home.post([&] { start(home, hop_body(other, home, done)); });
  REQUIRE(done.get_future().get() == std::vector<std::size_t>{0, 1, 0});
  home.finish();
  other.finish();
  home.join();
  other.join();
}

Task<void> nothing() {
  co_return;
}

Task<void> limit_body(Shard& shard) {
  TaskGroup group(shard, 1);
  Latch latch;
  REQUIRE(group.spawn("one", latch.wait()));
  REQUIRE_FALSE(group.spawn("two", nothing()));
  latch.open();
  co_await group.join();
  REQUIRE(group.spawn("three", nothing()));
  co_await group.join();
}

Task<int> one_more(int number) {
  co_return number + 1;
}

Task<void> long_loop_body(Shard&) {
  int number = 0;
  while (number < 1'000'000) {
    number = co_await one_more(number);
  }
  REQUIRE(number == 1'000'000);
}

TEST_CASE("a loop over tasks that never wait uses no stack") {
  test::on_shard(long_loop_body);
}

Task<int> deep(int levels) {
  if (levels == 0) co_return 0;
  const int below = co_await deep(levels - 1);
  co_return below + 1;
}

Task<void> deep_body(Shard&) {
  const int levels = co_await deep(100'000);
  REQUIRE(levels == 100'000);
}

TEST_CASE("a deep chain of tasks uses no stack") {
  test::on_shard(deep_body);
}

Task<int> thrower() {
  throw std::runtime_error("out of it");
  co_return 1;
}

Task<void> exception_body(Shard&) {
  std::string seen;
  try {
    co_await thrower();
  } catch (const std::exception& e) {
    seen = e.what();
  }
  REQUIRE(seen == "out of it");
}

TEST_CASE("what a task throws reaches whoever awaits it") {
  test::on_shard(exception_body);
}

Task<void> hold(std::shared_ptr<int> held, Waiter& waiter) {
  co_await waiter.wait();
  *held = 1;
}

Task<void> hold_on(std::shared_ptr<int> held, Waiter& waiter) {
  co_await hold(held, waiter);
}

TEST_CASE("a chain that nobody resumes goes with what it waits for") {
  const auto held = std::make_shared<int>(0);
  {
    Shard shard(0);
    Waiter waiter;
    shard.post([&] { start(shard, hold_on(held, waiter)); });
    shard.loop().run_once();
    REQUIRE(held.use_count() > 1);
  }
  REQUIRE(held.use_count() == 1);
  REQUIRE(*held == 0);
}

TEST_CASE("a task that is never awaited gives back what it was given") {
  const auto held = std::make_shared<int>(0);
  {
    Waiter waiter;
    const Task<void> task = hold(held, waiter);
    REQUIRE(held.use_count() == 2);
  }
  REQUIRE(held.use_count() == 1);
}

TEST_CASE("a TaskGroup refuses more than its limit") {
  test::on_shard(limit_body);
}

TEST_CASE("a CancelSource calls subscribers once, late ones at once, dropped ones never") {
  CancelSource source;
  int early = 0, late = 0, dropped = 0;
  auto kept = source.subscribe([&](const std::string&) { ++early; });
  {
    auto gone = source.subscribe([&](const std::string&) { ++dropped; });
  }
  source.cancel("first");
  source.cancel("second");
  auto after = source.subscribe([&](const std::string& reason) { late += reason == "first"; });
  REQUIRE(early == 1);
  REQUIRE(late == 1);
  REQUIRE(dropped == 0);
}

}  // namespace
}  // namespace mcpx::runtime
