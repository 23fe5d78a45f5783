// Substitute: who answers a server's questions in the place of a caller that cannot, where the
// configuration says so (`broker.declare`). Lives in the frame of the call. Thread: the caller's
// shard.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ask/rounds.hpp"
#include "broker/stand_in.hpp"
#include "call/call.hpp"
#include "downstream/dispatch.hpp"

namespace mcpx::downstream {

class Substitute {
 public:
  // Whether somebody may at all, for such a request.
  static bool stands_in(const Request& request);
  // Of what `call` cannot be asked itself. Nothing is done where nobody stands in.
  Substitute(const Request& request, const call::Call& call, std::string_view server);
  Substitute(const Substitute&) = delete;
  Substitute& operator=(const Substitute&) = delete;

  std::shared_ptr<call::Asker> asker() const { return asker_; }  // null: nobody
  mcp::Askable askable() const { return askable_; }
  // From here on a modern server is told that it may ask what either can answer. The caller is not
  // to outlive this.
  void declare(call::Caller& caller);
  // The same, and all of it is asked of asker().
  void stand_in(call::Caller& caller);
  // What has a round of questions answered after a restart, by redrive(); empty: nothing has.
  ask::BeforeRound remembering(std::string_view server, const call::Call& call);

 private:
  std::shared_ptr<broker::StandIn> asker_;
  mcp::Askable askable_ = 0;
  std::string capabilities_;
};

// Makes the calls again that waited for answers when the last daemon ended, each when it has them.
void redrive(Core& core, std::vector<store::QuestionRow> rows);

}  // namespace mcpx::downstream
