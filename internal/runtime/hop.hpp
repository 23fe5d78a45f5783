// run_on: await a Task on its home shard from any shard, and come back.
//
// The callee runs wholly on `target`; the caller resumes on its own shard. What `make` refers to
// must outlive the call, which holds for anything in the frame that awaits it.
// Nothing here is cancelled: a callee ends early because the object it works on was told to.
// Thread: any shard.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "runtime/one_shot.hpp"
#include "runtime/shard.hpp"
#include "runtime/start.hpp"

namespace mcpx::runtime {

namespace detail {
template <class T>
struct HopState {
  explicit HopState(Shard& origin_in) : origin(origin_in) {}  // clang 14: no T(...) of aggregates
  Shard& origin;
  OneShot<T> result;
};

template <class T>
Task<void> hop_body(std::shared_ptr<HopState<T>> state, std::function<Task<T>()> make) {
  Task<T> task = make();
  T value = co_await std::move(task);
  auto boxed = std::make_shared<T>(std::move(value));
  state->origin.post([state, boxed] { state->result.set(std::move(*boxed)); });
}
}  // namespace detail

template <class T>
Task<T> run_on(Shard& target, std::function<Task<T>()> make) {
  if (target.is_current()) {
    Task<T> task = make();
    T value = co_await std::move(task);
    co_return value;
  }
  Shard& origin = Shard::current();
  auto state = std::make_shared<detail::HopState<T>>(origin);
  target.post([&target, state, make = std::move(make)]() mutable {
    start(target, detail::hop_body<T>(std::move(state), std::move(make)));
  });
  T value = co_await state->result.wait();
  co_return value;
}

}  // namespace mcpx::runtime
