#include "downstream/call_stream.hpp"

#include <utility>

namespace mcpx::downstream {

void CallStream::notify(std::string json) {
  if (!exchange_) return;
  const bool first = !running_;
  if (first) running_ = std::make_unique<Running>();
  auto& [queue, bytes, more, written] = *running_;
  bytes += json.size();
  queue.push_back(std::move(json));
  while (queue.size() > kQueueLimit || (queue.size() > 1 && bytes > kQueueBytes)) {
    bytes -= queue.front().size();
    queue.pop_front();
  }
  if (!first) return more.wake();
  if (!tasks_->spawn("call stream", write_out(shared_from_this()))) written.open();
}

Task<void> CallStream::write_out(std::shared_ptr<CallStream> self) {
  Running& running = *self->running_;
  http::Exchange& exchange = *self->exchange_;
  const std::span<const http1::Field> no_fields;
  Result<void> sent = co_await exchange.begin_stream(no_fields);
  while (sent) {
    if (running.queue.empty()) {
      if (!self->exchange_) break;
      co_await running.more.wait();
      continue;
    }
    const std::string json = std::move(running.queue.front());
    running.queue.pop_front();
    running.bytes -= json.size();
    sent = co_await exchange.send_event(json);
  }
  self->exchange_ = nullptr;  // a client that is gone gets nothing more
  running.written.open();
}

Task<bool> CallStream::finish() {
  exchange_ = nullptr;
  if (!running_) co_return false;
  running_->more.wake();
  co_await running_->written.wait();
  co_return true;
}

}  // namespace mcpx::downstream
