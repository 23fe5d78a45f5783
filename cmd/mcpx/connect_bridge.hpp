// The bridge of `mcpx connect`: lines of JSON-RPC on one side, Streamable HTTP on the other.
//
// Every request line gets exactly one answer line with its own id, whatever happens to the daemon
// in between. Legacy sessions are opened again behind the client's back after a restart. The bridge
// sees HTTP and the output through two small interfaces, so its tests need no sockets.
// Owned by run_connect(); the transport and the output outlive it. Thread: home shard only.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "connect_message.hpp"
#include "http/client.hpp"
#include "mcp/param_headers.hpp"
#include "rpc/line_framer.hpp"
#include "runtime/cancel.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/shard.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"

namespace mcpx::cli {

class Transport {
 public:
  virtual ~Transport() = default;
  // As http::Client::send(): http.dial means that nothing was sent.
  virtual Task<Result<std::unique_ptr<http::Response>>> send(const http::Request& request) = 0;
};

class LineOutput {
 public:
  virtual ~LineOutput() = default;
  virtual void write_line(std::string_view line) = 0;  // without its line end
};

struct BridgeOptions {
  std::string target = "/mcp";
  Milliseconds wait{30'000};      // for a daemon that is away
  Milliseconds drain{65'000};     // for answers after the input ended
  Milliseconds first_pause{100};  // between attempts; doubled up to longest_pause
  Milliseconds longest_pause{2'000};
  Milliseconds farewell{2'000};  // for the DELETE of the session
  std::size_t in_flight = 1024;
  std::string url;                               // for messages
  std::function<void(const std::string&)> note;  // one diagnostic line
  std::function<void()> unreachable;             // called when a dial failed: may start the daemon
};

class Bridge {
 public:
  Bridge(runtime::Shard& shard, Transport& transport, LineOutput& output, BridgeOptions options);
  ~Bridge();
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  // Takes one line from the client. Returns when the next may come: at once, except after
  // `initialize` and `notifications/initialized`, which everything later depends on.
  Task<void> line(rpc::Line line);

  // The input ended: what is in flight is answered within `drain`, then the session is closed.
  Task<void> finish();
  // Answers what is in flight with an error at once. To be followed by finish(). Thread: home.
  void abort(const std::string& reason);

 private:
  struct Batch;
  struct Pending;
  struct Reply;
  enum class Outcome { answered, again, unreachable, broken, session_lost, stopped };
  using PendingPtr = std::shared_ptr<Pending>;

  // Lines in (connect_bridge.cpp).
  Task<void> batch(PaddedBuffer text);
  void refuse_batch(std::vector<PaddedBuffer> parts);
  void refuse_line(const rpc::ParseFailure& failure);
  Task<void> dispatch(rpc::Message message, std::shared_ptr<Batch> batch);
  Task<void> take_request(rpc::Message message, std::shared_ptr<Batch> batch);
  bool take_cancellation(const rpc::Message& message);  // false: it is to be forwarded
  void settle(Pending& pending, std::optional<std::string> line);
  void add_to_batch(Batch& batch, std::optional<std::string> line);
  void answer_error(Pending& pending, int code, const Error& error);
  void note(const std::string& text) const;

  // One request (connect_request.cpp).
  Task<void> request(PendingPtr pending);
  Task<void> serve(Pending& pending);
  Task<Outcome> attempt(Pending& pending);
  Task<Outcome> conclude(Pending& pending, const Reply& reply, bool in_session);
  Task<Reply> exchange(std::string_view method, const HeaderList& headers, std::string_view body,
                       json::Raw id, runtime::CancelSource& cancel);
  Task<void> read_reply(http::Response& response, json::Raw id, Reply& reply);
  void give_up(Pending& pending, Outcome outcome);
  void opened(Pending& pending, const Reply& reply);

  // Header fields that mirror arguments (connect_mirrored.cpp).
  static bool misses_headers(const Pending& pending, const Reply& reply);
  Task<void> learn_mirrored(Pending& pending);
  void add_mirrored(const Pending& pending, HeaderList& headers) const;

  // The session and what is not a request (connect_session.cpp).
  Task<void> forward(rpc::Message message);
  Task<bool> reopen(unsigned generation);
  Task<bool> open_again();
  Task<void> listen();
  Task<bool> listen_once(Milliseconds& pause);
  void start_listening();
  Task<void> say_farewell();

  runtime::Shard& shard_;
  Transport& transport_;
  LineOutput& output_;
  BridgeOptions options_;

  Session session_;
  std::string initialize_;  // the client's line, to open the session again
  std::shared_ptr<runtime::Latch> reopening_;
  bool reopened_ = false;  // how the last reopening ended

  // By tool: the arguments that are mirrored, as far as the daemon has missed any.
  std::map<std::string, std::vector<mcp::MirroredParam>> mirrored_;
  std::vector<PendingPtr> pending_;
  bool stopping_ = false;
  std::string stop_reason_;
  runtime::Timer drain_timer_, pause_timer_, listen_timer_;
  runtime::CancelSource stop_;
  bool listening_ = false;
  http::Response* stream_ = nullptr;  // the open GET
  std::string last_event_id_;
  runtime::TaskGroup requests_, forwards_;
};

}  // namespace mcpx::cli
