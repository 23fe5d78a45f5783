#include "downstream/slow_calls.hpp"

namespace mcpx::downstream {
namespace {

// The timer outlives the last call by so many ticks, so that calls in a row do not set it each.
constexpr std::uint32_t kLinger = 40;

}  // namespace

SlowCalls::SlowCalls(runtime::Shard& shard) : timer_(shard, [this] { tick(); }) {}

SlowCalls::Entry::Entry(SlowCalls& list) : list_(list), born_(list.now_), next_(list.first_) {
  if (next_) next_->previous_ = this;
  list.first_ = this;
  if (list.ticking_) return;
  list.ticking_ = true;
  list.timer_.set(Clock::now() + kTick);
}

SlowCalls::Entry::~Entry() {
  if (next_) next_->previous_ = previous_;
  (previous_ ? previous_->next_ : list_.first_) = next_;
  list_.quiet_since_ = list_.now_;
}

void SlowCalls::tick() {
  ++now_;
  bool waiting = now_ - quiet_since_ < kLinger;
  for (Entry* entry = first_; entry; entry = entry->next_) {
    if (entry->told_) continue;
    if (now_ - entry->born_ >= 2) {
      entry->told_ = true;
      entry->slow();
    } else {
      waiting = true;
    }
  }
  ticking_ = waiting;
  if (waiting) timer_.set(Clock::now() + kTick);
}

}  // namespace mcpx::downstream
