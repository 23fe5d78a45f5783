#include <memory>
#include <vector>

#include "runtime/one_shot.hpp"

namespace mcpx::runtime {

// A sleeper is shared so that open() may outlive the coroutine it wakes, and the other way round.
struct Latch::Sleepers {
  std::vector<std::shared_ptr<Waiter>> list;
};

Latch::Latch() : sleepers_(std::make_unique<Sleepers>()) {}
Latch::~Latch() = default;

void Latch::open() {
  if (open_) return;
  open_ = true;
  for (const auto& sleeper : sleepers_->list)
    sleeper->wake();
  sleepers_->list.clear();
}

Task<void> Latch::wait() {
  if (open_) co_return;
  auto sleeper = std::make_shared<Waiter>();
  sleepers_->list.push_back(sleeper);
  co_await sleeper->wait();
}

}  // namespace mcpx::runtime
