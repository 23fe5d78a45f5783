// CallStream: what is said while a call runs, and its answer, written to the client as events.
//
// Nothing is allocated and nothing is written until there is something to say; that turns the
// response into an event stream. Of a legacy session's call the stream can be resumed: it then
// outlives the connection, and the answer waits for a client that comes back. The upstream may hold
// the sink longer than the request lives: finish() detaches it. Thread: the exchange's shard.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "call/call.hpp"
#include "downstream/answer.hpp"
#include "downstream/event_stream.hpp"
#include "downstream/replays.hpp"
#include "downstream/voice.hpp"
#include "http/server.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::downstream {

class CallStream final : public Voice, public std::enable_shared_from_this<CallStream> {
 public:
  // What makes it resumable; without a session it is not.
  struct Resumption {
    Replays* replays = nullptr;
    SessionPtr session;
    std::string_view request_id;  // raw token
    // A first event without data, from which to resume (SEP-1699). Clients of revisions that do not
    // know it take it for a broken message.
    bool primed = false;
  };

  // All outlive the call to finish().
  CallStream(http::Exchange& exchange, runtime::TaskGroup& tasks, Milliseconds keep_alive,
             Resumption resumption);

  void notify(std::string json) override;
  bool ask(std::string json) override;
  bool resumable() const override;
  bool heard() const override;
  void open();  // makes the response a stream although there is nothing to say yet

  // Stops accepting, sends the answer if the response has become a stream, and waits until what can
  // be written is. False: it has not, and the caller sends the answer.
  Task<bool> finish(json::Raw id, const Answer& answer);
  Task<bool> finish(std::string response);  // empty: there is none

 private:
  struct Running {
    std::shared_ptr<EventStream> events;
    runtime::Latch written;
  };
  static Task<void> write_out(std::shared_ptr<CallStream> self, EventStream::ReaderPtr reader);

  http::Exchange& exchange_;
  runtime::TaskGroup& tasks_;
  const Milliseconds keep_alive_;
  const Resumption resumption_;
  bool finished_ = false;
  std::unique_ptr<Running> running_;
};

}  // namespace mcpx::downstream
