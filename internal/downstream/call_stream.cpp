#include "downstream/call_stream.hpp"

#include <utility>

#include "http1/sse.hpp"

namespace mcpx::downstream {
namespace {

// How long a client that lost the stream waits before it asks for the rest.
constexpr unsigned kRetryMs = 1000;

}  // namespace

CallStream::CallStream(http::Exchange& exchange, runtime::TaskGroup& tasks, Milliseconds keep_alive,
                       Resumption resumption)
    : exchange_(exchange),
      tasks_(tasks),
      keep_alive_(keep_alive),
      resumption_(std::move(resumption)) {}

void CallStream::notify(std::string json) {
  if (finished_) return;
  open();
  running_->events->add(std::move(json), EventStream::Kind::notification);
}

bool CallStream::ask(std::string json) {
  if (finished_) return false;
  open();
  running_->events->add(std::move(json), EventStream::Kind::response);  // never dropped
  return true;
}

bool CallStream::resumable() const {
  return running_ && running_->events->resumable();
}

bool CallStream::heard() const {
  return !running_ || running_->events->read();
}

void CallStream::open() {
  if (running_ || finished_) return;
  running_ = std::make_unique<Running>();
  running_->events = std::make_shared<EventStream>(exchange_.shard());
  EventStream& events = *running_->events;
  if (resumption_.session) {
    resumption_.replays->keep(running_->events, resumption_.session, EventId::Kind::call,
                              resumption_.request_id);
  }
  if (tasks_.spawn("call stream", write_out(shared_from_this(), events.attach(0)))) return;
  events.abandon();
  running_->written.open();
}

Task<void> CallStream::write_out(std::shared_ptr<CallStream> self, EventStream::ReaderPtr reader) {
  http::Exchange& exchange = self->exchange_;
  const std::shared_ptr<EventStream> events = self->running_->events;
  const std::span<const http1::Field> no_fields;
  Result<void> sent = co_await exchange.begin_stream(no_fields);
  if (sent && self->resumption_.primed && events->resumable()) {
    std::string priming;
    http1::append_sse_priming(priming, events->id_of(0), kRetryMs);
    sent = co_await exchange.send_framed(priming);
  }
  if (sent) {
    co_await write_events(exchange, events, std::move(reader), self->keep_alive_);
  } else {
    events->abandon();  // no event has reached the client, so it knows no id
  }
  if (!events->resumable()) events->abandon();
  self->running_->written.open();
}

Task<bool> CallStream::finish(json::Raw id, const Answer& answer) {
  std::string text;
  if (running_ && !answer.is_silence()) append_response(text, id, answer);
  return finish(std::move(text));
}

Task<bool> CallStream::finish(std::string response) {
  finished_ = true;
  if (!running_) co_return false;
  EventStream& events = *running_->events;
  const bool cancelled = response.empty();
  if (!cancelled) events.add(std::move(response), EventStream::Kind::response);
  events.close();
  if (cancelled && events.resumable()) resumption_.replays->drop(events);  // there is no rest
  co_await running_->written.wait();
  co_return true;
}

}  // namespace mcpx::downstream
