// operation(): makes an Asio operation awaitable in a Task. The one place where the two meet.
//
//   auto reading = runtime::operation(stream.async_read_some(buffer, boost::asio::deferred));
//   auto [failure, bytes] = co_await std::move(reading);
//
// The Task resumes inside the completion handler. Thread: that of the I/O object.
#pragma once

#include <boost/asio/deferred.hpp>
#include <tuple>
#include <utility>

#include "runtime/task.hpp"

namespace mcpx::runtime {

template <class Deferred, class... Results>
class Operation {
 public:
  explicit Operation(Deferred&& start) : start_(std::move(start)) {}

  bool await_ready() const noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> caller) {
    std::move(start_)(Handler(*this, caller.promise()));
  }
  std::tuple<Results...> await_resume() { return std::move(results_); }

 private:
  // No associated executor or allocator: Asio's own fast paths.
  class Handler {
   public:
    Handler(Operation& operation, Promise& caller) : operation_(&operation), caller_(caller) {}
    void operator()(Results... results) {
      operation_->results_ = std::tuple<Results...>(std::move(results)...);
      caller_.resume();
    }

   private:
    Operation* operation_;  // in the caller's frame
    Suspended caller_;
  };

  Deferred start_;
  std::tuple<Results...> results_;
};

template <class... Results, class Initiation, class... Arguments>
auto operation(
    boost::asio::deferred_async_operation<void(Results...), Initiation, Arguments...> start) {
  return Operation<decltype(start), Results...>(std::move(start));
}

}  // namespace mcpx::runtime
