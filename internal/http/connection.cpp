#include "http/connection.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <exception>
#include <utility>

#include "log/log.hpp"

namespace mcpx::http {
namespace {

// The read buffer: small for a connection that sleeps, larger while requests fill it.
constexpr std::size_t kSleepingBuffer = 512;
constexpr std::size_t kFirstBuffer = 8 * 1024;
constexpr std::size_t kLargestBuffer = 64 * 1024;
// A connection without a request for that long gives its memory back (bench: buffers held by idle
// connections are nearly all of the memory of a proxy).
constexpr Milliseconds kShrinkAfter{5'000};
// Closing while the peer still sends makes the kernel reset the connection, which can destroy our
// answer before the peer reads it; so what it sends is read for a moment.
constexpr Milliseconds kDrainTime{1'000};
constexpr std::size_t kMaxDrained = 1024 * 1024;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

Connection::Connection(ServerSide& side, std::unique_ptr<net::ByteStream> stream,
                       Server::Transport transport, Admission admission)
    : side_(side),
      options_(side.options),
      stream_(std::move(stream)),
      transport_(transport),
      admission_(admission),
      decoder_(options_->limits),
      wanted_size_(kFirstBuffer) {}

Connection::~Connection() {
  leave_line();
  forget_request();
}

// ---- reader ------------------------------------------------------------------------------------

Task<void> Connection::read_loop() {
  while (true) {
    while (crowded() && phase_ == Phase::busy) {
      crowded_ = true;
      co_await room_.wait();
    }
    crowded_ = false;
    fit_buffer();
    Result<std::size_t> bytes =
        co_await stream_->read_some(std::span<char>(buffer_.get(), buffer_size_));
    if (!bytes) {
      const Error error = bytes.error();
      if (error.code == "net.timeout" && on_read_timeout()) continue;
      on_read_end(&error);
      break;
    }
    if (*bytes == 0) {
      on_read_end(nullptr);
      break;
    }
    if (*bytes == buffer_size_) wanted_size_ = std::min(buffer_size_ * 8, kLargestBuffer);
    on_bytes(std::string_view(buffer_.get(), *bytes));
    if (drained_ > kMaxDrained) break;
  }
  reader_done_ = true;
  input_.wake();
}

void Connection::fit_buffer() {
  if (buffer_size_ == wanted_size_) return;
  buffer_ = std::make_unique_for_overwrite<char[]>(wanted_size_);
  buffer_size_ = wanted_size_;
}

void Connection::on_bytes(std::string_view bytes) {
  if (phase_ == Phase::draining) {
    drained_ += bytes.size();
  } else if (phase_ == Phase::busy) {
    keep(bytes);
  } else {
    feed(bytes);
  }
}

void Connection::keep(std::string_view bytes) {
  if (kept_at_ != 0) {
    kept_.erase(0, kept_at_);
    kept_at_ = 0;
  }
  kept_.append(bytes);
}

// `bytes` may be what is kept: the rest of them stays there, marked by kept_at_.
void Connection::feed(std::string_view bytes) {
  const bool from_kept = !kept_.empty();
  const std::size_t used = decoder_.feed(bytes);
  if (from_kept) {
    kept_at_ += used;
    if (kept_at_ == kept_.size()) {
      kept_.clear();
      kept_at_ = 0;
    }
  } else if (used < bytes.size() && decoder_.done()) {
    keep(bytes.substr(used));
  }
  if (phase_ == Phase::body) count_body(used);
  if (!admitted_ && decoder_.head_done() && !decoder_.refusal()) admit();
  if (refused_ || decoder_.refusal() || decoder_.done()) return become_busy();
  on_progress();
}

void Connection::become_busy() {
  phase_ = Phase::busy;
  served_ = true;
  leave_line();
  stream_->read_deadline(kNever);
  input_.wake();
}

// A request has begun and is not complete: each of its two halves has a time of its own, counted
// from its start, so that bytes arriving one by one do not extend it.
void Connection::on_progress() {
  if (phase_ == Phase::idle) {
    if (!decoder_.started()) return;  // blank lines before the request line
    phase_ = Phase::head;
    shrunk_ = false;
    stream_->read_deadline(Clock::now() + options().head_timeout);
  }
  if (phase_ == Phase::head && decoder_.head_done()) {
    phase_ = Phase::body;
    leave_line();
    stream_->read_deadline(Clock::now() + options().body_timeout);
    if (decoder_.expects_continue()) input_.wake();
  }
}

bool Connection::on_read_timeout() {
  switch (phase_) {
    case Phase::idle:
      if (shrunk_) return false;
      shrink();
      return true;
    case Phase::head:
    case Phase::body:
      timed_out_ = true;
      become_busy();
      return true;
    case Phase::busy:
      return true;
    case Phase::draining:
      return false;
  }
  return false;
}

void Connection::shrink() {
  shrunk_ = true;
  wanted_size_ = kSleepingBuffer;
  std::string().swap(text_);
  std::string().swap(kept_);
  std::vector<std::string_view>().swap(parts_);
  const Milliseconds idle = options().idle_timeout;
  stream_->read_deadline(Clock::now() + std::max(idle - kShrinkAfter, Milliseconds(0)));
}

// A client that ends its side while we work on its request is taken to have left: that is what a
// browser or an SDK that gives up looks like, and "disconnect is cancellation" (spec 2026-07-28,
// basic/patterns/cancellation) leaves no other sign of it. A client that merely half-closes gets
// its answer all the same if the handler still produces one: nothing is closed here.
void Connection::on_read_end(const Error* error) {
  if (phase_ == Phase::draining) return;
  client_left_ = true;
  if (phase_ == Phase::busy && gone_) {
    gone_->cancel(error ? error->message : "the client closed the connection");
  }
}

// ---- main --------------------------------------------------------------------------------------

Task<void> Connection::run() {
  start_idle();
  if (admission_ != Admission::served) turn_away();
  side_.group.spawn("http reader", read_loop());
  while (keep_alive_) {
    while (phase_ != Phase::busy && !reader_done_) {
      if (phase_ == Phase::body && decoder_.expects_continue() && !continued_) {
        continued_ = true;
        parts_.assign(1, kContinue);
        Result<void> sent = co_await send();
        static_cast<void>(sent);  // a broken connection shows in the reader too
      } else {
        co_await input_.wait();
      }
    }
    if (phase_ != Phase::busy) break;
    co_await serve_request();
    if (stopping_) keep_alive_ = false;
    if (keep_alive_) next_request();
  }
  co_await end();
}

void Connection::start_idle() {
  wait_in_line();
  const Milliseconds idle = options().idle_timeout;
  shrunk_ = idle <= kShrinkAfter;
  stream_->read_deadline(Clock::now() + std::min(idle, kShrinkAfter));
}

void Connection::next_request() {
  forget_request();
  decoder_.reset();
  gone_.reset();
  answer_ = Answer::none;
  continued_ = false;
  id_size_ = 0;
  phase_ = Phase::idle;
  if (wanted_size_ == kSleepingBuffer) wanted_size_ = kFirstBuffer;
  start_idle();
  if (!kept_.empty()) feed(std::string_view(kept_).substr(kept_at_));
  if (crowded_ && !(crowded() && phase_ == Phase::busy)) room_.wake();
}

Task<void> Connection::serve_request() {
  keep_alive_ = false;
  gone_.emplace();
  if (client_left_) gone_->cancel("the client closed the connection");
  if (timed_out_ && !refused_) {
    refused_.emplace(408, Error("http.request_timeout", "the request was not complete in time",
                                "send the whole request without pauses, or raise listen.timeouts"));
  }
  if (const http1::Refusal* refusal = decoder_.refusal()) {
    refused_.emplace(refusal->status, refusal->error);
  }
  // A body that was not read to its end cannot be followed by anything.
  keep_alive_ = decoder_.done() && head().keep_alive && !stopping_ && !timed_out_;
  if (refused_) return refuse(*refused_);
  if (preflight_) return answer_preflight();
  return call_handler(*handler_);
}

Task<void> Connection::call_handler(Handler& handler) {
  std::string bug;
  try {
    co_await handler.handle(*this);
  } catch (const std::exception& e) {
    bug = e.what();
  }
  if (bug.empty() && (answer_ == Answer::complete || answer_ == Answer::ended)) co_return;
  keep_alive_ = false;  // a stream without its end cannot be followed by anything
  // A client that left may be left without an answer; anything else is a bug of the handler.
  if (gone_->cancelled() && bug.empty()) co_return;
  log::error("request {} {} {}: the handler did not answer{}{}", request_id(), head().method,
             head().path(), bug.empty() ? "" : ": ", bug);
  if (answer_ != Answer::none) co_return;
  refused_.emplace(500,
                   Error("http.internal", "the request was not answered because of a fault in mcpx",
                         "see the log of the daemon"));
  co_await refuse(*refused_);
}

Task<void> Connection::end() {
  if (!reader_done_ && !client_left_) {
    phase_ = Phase::draining;
    stream_->shutdown_send();
    stream_->read_deadline(Clock::now() + kDrainTime);
    room_.wake();
    while (!reader_done_) {
      co_await input_.wait();
    }
  }
  phase_ = Phase::draining;
  stream_->close();
  room_.wake();
  while (!reader_done_) {
    co_await input_.wait();
  }
}

void Connection::finish() {
  stopping_ = true;
  if (phase_ == Phase::idle) stream_->close();
}

void Connection::evict() {
  leave_line();
  stopping_ = true;
  stream_->close();
}

void Connection::abort() {
  finish();
  if (gone_) gone_->cancel("mcpx is stopping");
  stream_->close();
}

std::string_view Connection::request_id() const {
  if (id_size_ == 0) {
    constexpr std::string_view kPrefix = "r-";
    char* const digits = std::copy(kPrefix.begin(), kPrefix.end(), id_.data());
    const std::uint64_t number = ++side_.shared.requests;
    const auto end = std::to_chars(digits, id_.data() + id_.size(), number, 16).ptr;
    id_size_ = static_cast<std::size_t>(end - id_.data());
  }
  return {id_.data(), id_size_};
}

}  // namespace mcpx::http
