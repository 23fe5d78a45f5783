#include "downstream/event_stream.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "downstream/replays.hpp"
#include "json/json.hpp"
#include "rpc/message.hpp"
#include "runtime/hop.hpp"
#include "runtime/timer.hpp"

namespace mcpx::downstream {
namespace {

// Of one batch on its way to a reader, perhaps on another shard.
constexpr std::size_t kBatchEvents = 64;

std::string lost_answer(std::string_view request_id) {
  json::ObjectBuilder data;
  data.string("code", "replay.too_large");
  data.string("remedy", "call again, or raise limits.replay");
  std::string text;
  rpc::append_error(
      text, request_id,
      rpc::error_object(rpc::kInternalError,
                        "the answer came while the client was away and was too large to be kept",
                        data.take()));
  return text;
}

}  // namespace

EventStream::Place EventStream::first_after(std::uint64_t event) {
  return std::upper_bound(
      events_.begin(), events_.end(), event,
      [](std::uint64_t number, const Event& other) { return number < other.number; });
}

void EventStream::remove(Place place) {
  const std::size_t size = place->text->size();
  bytes_ -= size;
  events_.erase(place);
  if (replays_) replays_->lost(*this, 1, size);
}

void EventStream::add(std::string text, Kind kind) {
  if (closed_ || abandoned_) return;
  const std::size_t size = text.size();
  bytes_ += size;
  events_.emplace_back(++last_, kind, std::make_shared<const std::string>(std::move(text)));
  if (replays_) replays_->gained(*this, 1, size);
  bound_waiting();
  if (reader_) reader_->more.wake();
}

void EventStream::add_once(std::string text) {
  const bool waits = std::any_of(first_after(taken_), events_.end(),
                                 [&](const Event& event) { return *event.text == text; });
  if (!waits) add(std::move(text), Kind::notification);
}

void EventStream::bound_waiting() {
  const auto waiting = [this] {
    return static_cast<std::size_t>(events_.end() - first_after(taken_));
  };
  if (waiting() <= kWaitingEvents && bytes_ <= kWaitingBytes) return;
  std::size_t bytes = 0;
  for (auto place = first_after(taken_); place != events_.end(); ++place)
    bytes += place->text->size();
  while (waiting() > 1 && (waiting() > kWaitingEvents || bytes > kWaitingBytes)) {
    const auto oldest = std::find_if(first_after(taken_), events_.end() - 1,
                                     [](const Event& e) { return e.kind == Kind::notification; });
    if (oldest == events_.end() - 1) return;
    bytes -= oldest->text->size();
    remove(oldest);
  }
}

void EventStream::close() {
  if (std::exchange(closed_, true)) return;
  if (reader_) reader_->more.wake();
  if (replays_) replays_->closed(*this);
  if (on_close_) on_close_();
}

void EventStream::abandon() {
  abandoned_ = true;
  if (Replays* replays = replays_) replays->drop(*this);
  events_.clear();
  bytes_ = 0;
  close();
}

EventStream::ReaderPtr EventStream::attach(std::uint64_t after) {
  if (reader_) {
    reader_->superseded = true;
    reader_->more.wake();
  }
  reader_ = std::make_shared<Reader>(after);
  taken_ = after;
  if (replays_) replays_->read_again(*this);
  return reader_;
}

void EventStream::take(Reader& reader, Batch& batch) {
  auto place = first_after(reader.at);
  while (place != events_.end() && batch.events.size() < kBatchEvents) {
    batch.events.push_back(*place);
    ++place;
  }
  if (batch.events.empty()) return;
  reader.at = batch.events.back().number;
  taken_ = reader.at;
  if (resumable()) return;
  while (!events_.empty() && events_.front().number <= taken_)
    remove(events_.begin());
}

Task<EventStream::Batch> EventStream::next(ReaderPtr reader) {
  const auto self = shared_from_this();
  Batch batch;
  while (true) {
    if (reader->superseded) {
      batch.next = Next::superseded;
      co_return batch;
    }
    if (reader->left) {
      let_go(reader);
      batch.next = Next::left;
      co_return batch;
    }
    take(*reader, batch);
    if (!batch.events.empty()) co_return batch;
    if (closed_) {
      if (reader_ == reader) reader_ = nullptr;
      batch.next = Next::complete;
      co_return batch;
    }
    if (std::exchange(reader->quiet, false)) {
      batch.next = Next::quiet;
      co_return batch;
    }
    co_await reader->more.wait();
  }
}

void EventStream::let_go(const ReaderPtr& reader) {
  if (reader_ != reader) return;
  reader_ = nullptr;
  if (replays_) replays_->left_alone(*this);
}

void EventStream::leave(const ReaderPtr& reader) {
  if (!home_.is_current()) {
    home_.post([self = shared_from_this(), reader] { self->leave(reader); });
    return;
  }
  reader->left = true;
  let_go(reader);
  reader->more.wake();
}

void EventStream::nudge(const ReaderPtr& reader) {
  if (!home_.is_current()) {
    home_.post([self = shared_from_this(), reader] { self->nudge(reader); });
    return;
  }
  reader->quiet = true;
  reader->more.wake();
}

void EventStream::keep_for(Replays& replays, std::uint64_t number, std::string id_prefix,
                           std::string request_id) {
  replays_ = &replays;
  number_ = number;
  prefix_ = std::move(id_prefix);
  request_id_ = std::move(request_id);
}

std::string EventStream::id_of(std::uint64_t event) const {
  return prefix_.empty() ? std::string() : fmt::format("{}{:x}", prefix_, event);
}

// An answer that nobody has read yet goes last, and leaves word that it is gone; while somebody
// reads it does not go at all.
bool EventStream::drop_oldest() {
  if (events_.empty()) return false;
  const auto oldest = events_.begin();
  if (oldest->kind == Kind::response && oldest->number > taken_) return replace_lost_answer();
  remove(oldest);
  return true;
}

bool EventStream::replace_lost_answer() {
  if (reader_ || answer_lost_) return false;
  answer_lost_ = true;
  Event& answer = events_.front();
  std::string text = lost_answer(request_id_);
  if (text.size() >= answer.text->size()) return false;
  const std::size_t freed = answer.text->size() - text.size();
  answer.text = std::make_shared<const std::string>(std::move(text));
  bytes_ -= freed;
  replays_->lost(*this, 0, freed);
  return true;
}

Task<void> write_events(http::Exchange& exchange, std::shared_ptr<EventStream> stream,
                        EventStream::ReaderPtr reader, Milliseconds keep_alive) {
  const auto gone = exchange.gone().subscribe(
      [stream, reader](const std::string& /*reason*/) { stream->leave(reader); });
  runtime::Watchdog watchdog(exchange.shard(), [stream, reader] { stream->nudge(reader); });
  const std::function<Task<EventStream::Batch>()> there = [stream, reader] {
    return stream->next(reader);
  };
  const bool at_home = stream->home().is_current();
  Result<void> sent;
  while (sent) {
    watchdog.set(Clock::now() + keep_alive);
    EventStream::Batch batch;
    if (at_home) {
      batch = co_await stream->next(reader);
    } else {
      batch = co_await runtime::run_on<EventStream::Batch>(stream->home(), there);
    }
    for (const EventStream::Event& event : batch.events) {
      const std::string id = stream->id_of(event.number);
      sent = co_await exchange.send_event(*event.text, id);
      if (!sent) break;
    }
    if (batch.next == EventStream::Next::quiet) sent = co_await exchange.send_keep_alive();
    const bool over =
        batch.next == EventStream::Next::complete || batch.next == EventStream::Next::superseded;
    if (over) co_await exchange.end_stream();
    if (over || batch.next == EventStream::Next::left) break;
  }
  stream->leave(reader);
}

}  // namespace mcpx::downstream
