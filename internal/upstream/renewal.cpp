#include "upstream/renewal.hpp"

#include <algorithm>
#include <utility>

#include "runtime/timer.hpp"

namespace mcpx::upstream {
namespace {

std::size_t at(mcp::ListKind kind) {
  return static_cast<std::size_t>(kind);
}

}  // namespace

Renewal::Renewal(runtime::Shard& home) : home_(home) {
  for (auto& until : until_)
    until.store(kNever.time_since_epoch().count(), std::memory_order_relaxed);
}

bool Renewal::stale(mcp::ListKind kind, TimePoint now) const {
  return now.time_since_epoch().count() >= until_[at(kind)].load(std::memory_order_relaxed);
}

bool Renewal::announced(mcp::ListKind kind) const {
  return announced_[at(kind)].load(std::memory_order_relaxed);
}

void Renewal::announce(mcp::ListKind kind, bool agreed) {
  announced_[at(kind)].store(agreed, std::memory_order_relaxed);
}

void Renewal::set(mcp::ListKind kind, TimePoint until) {
  until_[at(kind)].store(until.time_since_epoch().count(), std::memory_order_relaxed);
}

void Renewal::settle(mcp::ListKind kind, TimePoint until, bool read) {
  set(kind, std::max(until, Clock::now() + kBetweenRenewals));
  for (const auto& waiting : std::exchange(waiting_[at(kind)], {}))
    waiting->set(read);
}

bool Renewal::awaited(mcp::ListKind kind) const {
  return !waiting_[at(kind)].empty();
}

Task<bool> Renewal::wait(mcp::ListKind kind, TimePoint deadline) {
  auto waiting = std::make_shared<runtime::OneShot<bool>>();
  waiting_[at(kind)].push_back(waiting);
  runtime::Watchdog patience(home_, [this, kind, waiting] {
    set(kind, kNever);  // until settle()
    std::erase(waiting_[at(kind)], waiting);
    waiting->set(false);
  });
  patience.set(deadline);
  const bool read = co_await waiting->wait();
  co_return read;
}

}  // namespace mcpx::upstream
