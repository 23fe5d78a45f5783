#include "upstream/start_gate.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "runtime/task_group.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::upstream {
namespace {

struct Starts {
  explicit Starts(runtime::Shard& shard) : gate(shard, 2) {}
  StartGate gate;
  std::vector<StartGate::Turn> turns;
};

Task<void> take_turn(Starts& starts) {
  StartGate::Turn turn = co_await starts.gate.enter();
  starts.turns.push_back(std::move(turn));
}

Task<void> settle(runtime::Shard& shard) {
  // Everything posted until now has run when this has come round.
  runtime::OneShot<bool> round;
  shard.post([&round] { round.set(true); });
  co_await round.wait();
}

Task<void> raised_body(runtime::Shard& shard) {
  Starts starts(shard);
  runtime::TaskGroup group(shard);
  for (int i = 0; i < 5; ++i)
    group.spawn("start", take_turn(starts));
  co_await settle(shard);
  REQUIRE(starts.turns.size() == 2);
  starts.gate.set_limit(4);
  co_await settle(shard);
  co_await settle(shard);
  REQUIRE(starts.turns.size() == 4);
  starts.gate.set_limit(1);  // those who have a turn keep it
  starts.turns.clear();
  co_await group.join();
  REQUIRE(starts.turns.size() == 1);
  starts.turns.clear();
  co_await settle(shard);
}

TEST_CASE("another limit is for those who wait, too") {
  test::on_shard(raised_body);
}

Task<void> limit_body(runtime::Shard& shard) {
  Starts starts(shard);
  runtime::TaskGroup group(shard);
  for (int i = 0; i < 4; ++i)
    group.spawn("start", take_turn(starts));
  co_await settle(shard);
  REQUIRE(starts.turns.size() == 2);
  starts.turns.front().release();
  co_await settle(shard);
  co_await settle(shard);
  REQUIRE(starts.turns.size() == 3);
  starts.turns.front().release();  // twice is once
  co_await settle(shard);
  REQUIRE(starts.turns.size() == 3);
  starts.turns.clear();
  co_await group.join();
  REQUIRE(starts.turns.size() == 1);
  starts.turns.clear();
  co_await settle(shard);
}

TEST_CASE("no more starts at a time than allowed, in the order they came") {
  test::on_shard(limit_body);
}

Task<void> wide_body(runtime::Shard& shard) {
  Starts starts(shard);
  runtime::TaskGroup group(shard);
  for (int i = 0; i < 5; ++i)
    group.spawn("start", take_turn(starts));
  starts.gate.open_wide();
  co_await group.join();
  REQUIRE(starts.turns.size() == 5);
  group.spawn("start", take_turn(starts));
  co_await group.join();
  REQUIRE(starts.turns.size() == 6);
  starts.turns.clear();
  co_await settle(shard);
}

TEST_CASE("a gate that is opened wide holds nobody back") {
  test::on_shard(wide_body);
}

}  // namespace
}  // namespace mcpx::upstream
