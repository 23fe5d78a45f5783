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
#include "http/server_side.hpp"
#include "runtime/waiter.hpp"

namespace mcpx::http {

class Connection final : public Exchange {
 public:
  // turned_away: one 503, then the end. plain: the same with 400, to a peer that does not speak
  // TLS where it should.
  enum class Admission { served, turned_away, plain };

  Connection(ServerSide& side, std::unique_ptr<net::ByteStream> stream, Server::Transport transport,
             Admission admission);
  ~Connection() override;

  Task<void> run();
  void finish();  // no further request: idle ends now, busy after its answer
  void abort();   // ends now, whatever is going on
  void evict();   // ends now; for one that waits for a request

  bool counted = true;  // among the server's open ones

  const http1::RequestHead& head() const override { return decoder_.head(); }
  PaddedBuffer take_body() override { return decoder_.take_body(); }
  runtime::Shard& shard() const override { return side_.group.shard(); }
  std::string_view request_id() const override;
  std::string_view principal() const override;
  runtime::CancelSource& gone() override { return *gone_; }
  Task<Result<void>> respond(unsigned status, std::string_view content_type,
                             std::span<const std::string_view> body,
                             std::span<const http1::Field> extra) override;
  Task<Result<void>> begin_stream(std::span<const http1::Field> extra) override;
  Task<Result<void>> send_event(std::string_view json, std::string_view id) override;
  Task<Result<void>> send_framed(std::string_view event) override;
  Task<Result<void>> send_keep_alive() override;
  Task<Result<void>> end_stream() override;
  bool streaming() const override { return answer_ == Answer::streaming; }

 private:
  friend class WaitingList;
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

  // Who may come in (admission.cpp).
  void admit();
  void turn_away();  // answers before it asks
  // `extra`, and what a browser needs to let the page of a listed origin read the answer.
  std::span<const http1::Field> with_cors(std::span<const http1::Field> extra);
  Task<void> answer_preflight();
  void count_body(std::size_t bytes);
  void wait_in_line();
  void leave_line();
  void forget_request();  // what it was counted as
  const ServerOptions& options() const { return *options_; }

  // Main.
  Task<void> serve_request();
  Task<void> call_handler(Handler& handler);
  Task<void> refuse(const Refused& refused);
  Task<void> end();
  void next_request();
  void start_idle();
  Task<Result<void>> send();  // parts_
  Task<Result<void>> send_chunk(std::string_view data);
  Task<Result<void>> send_large_event(std::string_view json, std::string_view id);

  static constexpr std::size_t kMaxKept = 64 * 1024;  // of pipelined requests

  ServerSide& side_;
  std::shared_ptr<const ServerOptions> options_;  // of the request in progress
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
  std::optional<Refused> refused_;        // what the request is answered instead
  Handler* handler_ = nullptr;            // once admitted
  const Principal* principal_ = nullptr;  // the same; counted as in progress
  std::string_view cors_origin_;          // in the head; empty: no page of a listed origin
  std::vector<http1::Field> cors_fields_;
  std::size_t body_counted_ = 0;
  WaitingList* line_ = nullptr;  // the list it waits in, linked by the next two
  Connection* waits_before_ = nullptr;
  Connection* waits_after_ = nullptr;
  runtime::Waiter input_;  // the main coroutine sleeps here
  runtime::Waiter room_;   // the reader, when too much is kept

  std::string text_;  // heads and chunk framing, reused
  std::vector<std::string_view> parts_;
  Phase phase_ = Phase::idle;
  Answer answer_ = Answer::none;
  bool keep_alive_ = true;
  bool admitted_ = false;  // or refused: the head was looked at
  bool preflight_ = false;
  bool served_ = false;  // a request was complete once
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
