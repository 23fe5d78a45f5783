#include "upstream/breaker.hpp"

namespace mcpx::upstream {

Breaker::Breaker(std::size_t failures, Milliseconds cooldown)
    : threshold_(failures), cooldown_(cooldown) {}

Breaker::Verdict Breaker::ask(TimePoint now) {
  const Clock::rep until = open_until_.load(std::memory_order_relaxed);
  if (until == 0) return Verdict::pass;
  if (now.time_since_epoch().count() < until || trial_.exchange(true)) return Verdict::refuse;
  return Verdict::trial;
}

bool Breaker::succeeded(Verdict verdict) {
  if (failures_.load(std::memory_order_relaxed) != 0) failures_ = 0;
  // An answer to a call from before it opened is as good a sign of life as a trial's.
  const bool closed = open() && open_until_.exchange(0) != 0;
  if (verdict == Verdict::trial) trial_ = false;
  return closed;
}

bool Breaker::failed(Verdict verdict, TimePoint now) {
  if (threshold_ == 0) return false;
  const bool trial = verdict == Verdict::trial;
  // Calls that were in flight when it opened fail now; they are not news.
  if (!trial && (open() || ++failures_ < threshold_)) return false;
  open_until_ = (now + cooldown_).time_since_epoch().count();
  if (trial) trial_ = false;
  return true;
}

void Breaker::inconclusive(Verdict verdict) {
  if (verdict == Verdict::trial) trial_ = false;
}

bool Breaker::reset() {
  failures_ = 0;
  return open() && open_until_.exchange(0) != 0;
}

TimePoint Breaker::retry_at() const {
  return TimePoint(Clock::duration(open_until_.load(std::memory_order_relaxed)));
}

}  // namespace mcpx::upstream
