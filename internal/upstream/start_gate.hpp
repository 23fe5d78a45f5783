// StartGate: how many children of the whole daemon may be starting at the same time, so that thirty
// servers in a configuration do not start as one stampede.
//
// A start waits here for its turn. The turn is kept until the handshake is done, but not for long:
// servers that hang while starting must not keep the others from it. A wait is bounded too; then
// the start goes ahead, for a late start is worse than a crowded one.
// Thread: any; must outlive whoever enters.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::upstream {

class StartGate {
 public:
  static constexpr Milliseconds kLongestTurn{3'000};
  static constexpr Milliseconds kLongestWait{10'000};

  // A turn; ends when destroyed or released. Thread: any, one at a time.
  class Turn {
   public:
    Turn() = default;
    explicit Turn(StartGate& gate) : gate_(&gate) {}
    Turn(Turn&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Turn& operator=(Turn&& other) noexcept {
      std::swap(gate_, other.gate_);
      return *this;
    }
    ~Turn() { release(); }
    void release();

   private:
    StartGate* gate_ = nullptr;
  };

  StartGate(runtime::Shard& home, std::size_t limit);
  StartGate(const StartGate&) = delete;
  StartGate& operator=(const StartGate&) = delete;

  Task<Turn> enter();
  void set_limit(std::size_t limit);
  void open_wide();  // lets everybody through from now on: the daemon is stopping

 private:
  Task<bool> wait_for_turn();
  void leave();

  runtime::Shard& home_;
  std::size_t limit_;
  std::size_t taken_ = 0;
  bool wide_ = false;
  std::deque<std::shared_ptr<runtime::OneShot<bool>>> waiting_;
};

}  // namespace mcpx::upstream
