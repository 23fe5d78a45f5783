// The parts of the bridge that its .cpp files share. Thread: home shard only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connect_bridge.hpp"

namespace mcpx::cli {

// A JSON-RPC batch (revision 2025-03-26): its answers are gathered into one line.
struct Bridge::Batch {
  std::size_t missing = 0;  // requests without an answer yet
  std::vector<std::string> answers;
};

struct Bridge::Pending {
  Pending(runtime::Shard& shard, rpc::Message message_in, std::shared_ptr<Batch> batch_in)
      : message(std::move(message_in)),
        id(message.id),
        modern(modern_version(message)),
        batch(std::move(batch_in)),
        timer(shard) {}

  rpc::Message message;
  std::string id;
  std::optional<std::string> modern;
  std::shared_ptr<Batch> batch;
  runtime::CancelSource cancel;  // closes the exchange
  runtime::Timer timer;          // between attempts
  bool settled = false;
  bool mirrored = false;   // what its tool has mirrored was looked up for it
  bool withdrawn = false;  // the client cancelled it: no answer is due

  void stop(const std::string& reason) {
    cancel.cancel(reason);
    timer.cancel();
  }
};

// What came back of one POST.
struct Bridge::Reply {
  enum class Kind { dial_failed, broken, cancelled, ended, answer };
  Kind kind = Kind::broken;
  unsigned status = 0;     // 0 before a head arrived
  std::string session_id;  // Mcp-Session-Id of the reply
  Incoming incoming;       // of kind answer
  Error refusal;           // by the front door, when it has a code
  std::string cause;       // of a failure
};

}  // namespace mcpx::cli
