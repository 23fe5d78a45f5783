#include "runtime/task_group.hpp"

#include <exception>
#include <utility>

#include "base/check.hpp"
#include "log/log.hpp"
#include "runtime/start.hpp"
#include "runtime/waiter.hpp"

namespace mcpx::runtime {

struct TaskGroup::State {
  std::size_t running = 0;
  Waiter empty;
  bool joining = false;
};

TaskGroup::TaskGroup(Shard& shard, std::size_t limit)
    : shard_(shard), limit_(limit), state_(std::make_shared<State>()) {}

TaskGroup::~TaskGroup() {
  MCPX_CHECK(state_->running == 0);
}

bool TaskGroup::spawn(std::string_view name, Task<void> task) {
  if (state_->running >= limit_) return false;
  ++state_->running;
  auto finished = [state = state_, name](std::exception_ptr failure) {
    if (failure) {
      try {
        std::rethrow_exception(failure);
      } catch (const std::exception& e) {
        log::error("task {} ended with an exception: {}", name, e.what());
      }
    }
    if (--state->running == 0 && state->joining) state->empty.wake();
  };
  start(shard_, std::move(task), std::move(finished));
  return true;
}

Task<void> TaskGroup::join() {
  auto state = state_;
  state->joining = true;
  while (state->running != 0) {
    co_await state->empty.wait();
  }
}

std::size_t TaskGroup::size() const {
  return state_->running;
}

}  // namespace mcpx::runtime
