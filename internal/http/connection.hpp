// Connection: one client connection of the server, and the Exchange of its current request.
//
// Two coroutines share it. The reader always has a read out, so that a client that goes away is
// seen while a handler works; it feeds the decoder and wakes the main one when a request is
// complete. The main one answers and decides when the connection ends. Owned by serve_connection(),
// the task that runs it. Thread: its shard.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/server.hpp"
#include "runtime/task_group.hpp"
#include "runtime/waiter.hpp"

namespace mcpx::http {

// What connections take from their server.
class ServerSide {
 public:
  virtual ~ServerSide() = default;
  virtual const ServerOptions& options() const = 0;
  virtual Handler* route(std::string_view path) const = 0;  // null: none
  virtual std::uint64_t next_request_number() = 0;          // any thread
};

class Connection final : public Exchange {
 public:
  enum class Admission { served, turned_away };  // turned away: one 503, then the end

  Connection(ServerSide& server, runtime::TaskGroup& group, std::unique_ptr<net::ByteStream> stream,
             Server::Transport transport, Admission admission);
  ~Connection() override;

  Task<void> run();
  void finish();  // no further request: idle ends now, busy after its answer
  void abort();   // ends now, whatever is going on

  const http1::RequestHead& head() const override { return decoder_.head(); }
  PaddedBuffer take_body() override { return decoder_.take_body(); }
  runtime::Shard& shard() const override { return group_.shard(); }
  std::string_view request_id() const override;
  runtime::CancelSource& gone() override { return *gone_; }
  Task<Result<void>> respond(unsigned status, std::string_view content_type,
                             std::span<const std::string_view> body,
                             std::span<const http1::Field> extra) override;
  Task<Result<void>> begin_stream(std::span<const http1::Field> extra) override;
  Task<Result<void>> send_event(std::string_view json) override;
  Task<Result<void>> send_keep_alive() override;
  Task<Result<void>> end_stream() override;
  bool streaming() const override { return answer_ == Answer::streaming; }

 private:
  enum class Phase { idle, head, body, busy, draining };
  enum class Answer { none, complete, streaming, ended };

  // Reader.
  Task<void> read_loop();
  void on_bytes(std::string_view bytes);
  void feed(std::string_view bytes);
  void keep(std::string_view bytes);
  void on_progress();
  bool on_read_timeout();  // false: the connection is over
  void on_read_end(const Error* error);
  void fit_buffer();
  void shrink();
  bool crowded() const { return kept_.size() - kept_at_ >= kMaxKept; }
  void become_busy();

  // Main.
  Task<void> serve_request();
  Task<void> call_handler(Handler& handler);
  Task<void> refuse(unsigned status, const Error& error);
  Task<void> end();
  void next_request();
  void start_idle();
  Task<Result<void>> send(std::span<const std::string_view> parts);
  Task<Result<void>> send_chunk(std::string_view data);
  Task<Result<void>> send_large_event(std::string_view json);

  static constexpr std::size_t kMaxKept = 64 * 1024;  // of pipelined requests

  ServerSide& server_;
  runtime::TaskGroup& group_;
  std::unique_ptr<net::ByteStream> stream_;
  const Server::Transport transport_;
  const Admission admission_;
  http1::RequestDecoder decoder_;
  std::optional<runtime::CancelSource> gone_;

  std::unique_ptr<char[]> buffer_;
  std::size_t buffer_size_ = 0;
  std::size_t wanted_size_;
  std::string kept_;         // bytes that came while a request was in progress
  std::size_t kept_at_ = 0;  // consumed of them
  std::size_t drained_ = 0;
  runtime::Waiter input_;  // the main coroutine sleeps here
  runtime::Waiter room_;   // the reader, when too much is kept

  std::string text_;  // heads and chunk framing, reused
  std::vector<std::string_view> parts_;
  Phase phase_ = Phase::idle;
  Answer answer_ = Answer::none;
  bool keep_alive_ = true;
  bool stopping_ = false;
  bool timed_out_ = false;  // the request was not complete in time: 408
  bool continued_ = false;  // 100 was sent for this request
  bool shrunk_ = false;     // idle for a while: memory was given back
  bool writing_ = false;
  bool crowded_ = false;  // the reader waits for room
  bool reader_done_ = false;
  bool client_left_ = false;  // EOF or a broken connection
  mutable std::array<char, 20> id_{};
  mutable std::size_t id_size_ = 0;
};

}  // namespace mcpx::http
