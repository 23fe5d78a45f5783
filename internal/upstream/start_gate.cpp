#include "upstream/start_gate.hpp"

#include <functional>

#include "runtime/hop.hpp"
#include "runtime/timer.hpp"

namespace mcpx::upstream {

StartGate::StartGate(runtime::Shard& home, std::size_t limit) : home_(home), limit_(limit) {}

Task<StartGate::Turn> StartGate::enter() {
  const std::function<Task<bool>()> at_home = [this] { return wait_for_turn(); };
  co_await runtime::run_on<bool>(home_, at_home);
  co_return Turn(*this);
}

Task<bool> StartGate::wait_for_turn() {
  if (wide_ || taken_ < limit_) {
    ++taken_;
    co_return true;
  }
  auto turn = std::make_shared<runtime::OneShot<bool>>();
  waiting_.push_back(turn);
  runtime::Watchdog patience(home_, [turn] { turn->set(false); });
  patience.set(Clock::now() + kLongestWait);
  const bool in_time = co_await turn->wait();
  // leave() passed its place on; without one this start is one too many for a while.
  if (!in_time) {
    std::erase(waiting_, turn);
    ++taken_;
  }
  co_return in_time;
}

void StartGate::leave() {
  while (taken_ <= limit_ && !waiting_.empty()) {
    const auto next = waiting_.front();
    waiting_.pop_front();
    if (next->set(true)) return;  // else its patience ended just now
  }
  --taken_;
}

void StartGate::set_limit(std::size_t limit) {
  home_.post([this, limit] {
    limit_ = limit;
    for (; taken_ < limit_ && !waiting_.empty(); waiting_.pop_front()) {
      if (waiting_.front()->set(true)) ++taken_;
    }
  });
}

void StartGate::open_wide() {
  home_.post([this] {
    wide_ = true;
    for (const auto& turn : std::exchange(waiting_, {})) {
      ++taken_;
      turn->set(true);
    }
  });
}

void StartGate::Turn::release() {
  StartGate* gate = std::exchange(gate_, nullptr);
  if (gate) gate->home_.post([gate] { gate->leave(); });
}

}  // namespace mcpx::upstream
