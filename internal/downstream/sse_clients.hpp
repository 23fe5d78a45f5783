// HTTP+SSE (2024-11-05 basic/transports, "HTTP with SSE"), for clients that know nothing newer: a
// GET opens the stream that everything goes to the client on, its first event names the URL that
// the client posts to, and when the stream ends so does the session.
//
// A client lives on the shard of its stream; what is posted elsewhere comes over. Bounded: so many
// messages at once, and none while what waits for the client is more than it reads.
// Thread: each member says.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "call/call.hpp"
#include "downstream/event_stream.hpp"
#include "downstream/session.hpp"
#include "downstream/voice.hpp"
#include "http/server.hpp"
#include "rpc/message.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::downstream {

struct Core;

// Thread: home shard.
class SseClient final : public Voice {
 public:
  static constexpr std::size_t kMessages = 256;  // of one client at once

  SseClient(runtime::Shard& home, std::string id, std::string endpoint, std::string principal);

  void notify(std::string json) override {
    events->add(std::move(json), EventStream::Kind::notification);
  }
  bool ask(std::string json) override {
    if (closed || events->closed()) return false;
    events->add(std::move(json), EventStream::Kind::response);  // never dropped
    return true;
  }
  bool resumable() const override { return false; }
  bool busy() const {
    return tasks.size() >= kMessages || events->bytes() > EventStream::kWaitingBytes ||
           events->size() > EventStream::kWaitingEvents;
  }

  const std::string id, endpoint, principal;
  const std::shared_ptr<EventStream> events;
  runtime::TaskGroup tasks;  // its messages
  SessionPtr session;        // since `initialize`
  std::optional<SessionUse> use;
  bool initializing = false;
  bool closed = false;
};
using SseClientPtr = std::shared_ptr<SseClient>;

// Those of one shard. Thread: home shard.
class SseClients {
 public:
  SseClientPtr open(runtime::Shard& home, std::string endpoint, std::string principal);
  void close(SseClient& client);
  SseClientPtr find(std::string_view id) const;  // null: there is none
  void end_session(const Session& session);
  void shut_down();  // ends all of them, and every later one at once

 private:
  std::map<std::string, SseClientPtr, std::less<>> clients_;
  bool shut_down_ = false;
};

// GET and POST at /sse and /sse/{server}. `endpoint` exists. Thread: the exchange's shard.
Task<void> serve_sse(Core& core, http::Exchange& exchange, std::string endpoint);

}  // namespace mcpx::downstream
