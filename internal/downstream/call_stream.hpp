// CallStream: what an upstream says while a call runs, written to the client as events.
//
// Nothing is allocated and nothing is written until the first notification; that one turns the
// response into an event stream. The queue is bounded: a client that reads too slowly loses the
// oldest notifications, never the response. The upstream may hold the sink longer than the request
// lives: finish() detaches it. Thread: the exchange's shard.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "call/call.hpp"
#include "http/server.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "runtime/waiter.hpp"

namespace mcpx::downstream {

class CallStream final : public call::NotificationSink,
                         public std::enable_shared_from_this<CallStream> {
 public:
  // What waits for a client that reads slowly; the oldest goes first.
  static constexpr std::size_t kQueueLimit = 256;
  static constexpr std::size_t kQueueBytes = 4 * 1024 * 1024;

  // Both outlive the call to finish().
  CallStream(http::Exchange& exchange, runtime::TaskGroup& tasks)
      : exchange_(&exchange), tasks_(&tasks) {}

  void notify(std::string json) override;

  // Stops accepting and waits until what is queued is written. True when the response has become a
  // stream; then the caller sends the last event and ends it.
  Task<bool> finish();

 private:
  struct Running {
    std::deque<std::string> queue;
    std::size_t bytes = 0;  // in it
    runtime::Waiter more;
    runtime::Latch written;
  };
  static Task<void> write_out(std::shared_ptr<CallStream> self);

  http::Exchange* exchange_;  // null once finished
  runtime::TaskGroup* tasks_;
  std::unique_ptr<Running> running_;
};

}  // namespace mcpx::downstream
