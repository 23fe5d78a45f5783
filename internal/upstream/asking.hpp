// Asking: the questions of one server that are out with its callers, on one shard of one link.
//
// Each is answered to the server exactly once: by the caller, by a refusal at once when that one
// declared nothing of the kind, or, when the call ends or the link stops, with what stands for no
// answer. A question the server has withdrawn is not answered. Bounded in number. Owned by its
// link, which runs the tasks and joins them. Thread: one shard.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call/ask.hpp"
#include "call/call.hpp"
#include "rpc/message.hpp"
#include "runtime/cancel.hpp"
#include "runtime/task.hpp"

namespace mcpx::upstream {

struct Environment;

class Asking {
 public:
  // Questions out at once, of one shard's calls; what a server asks on top of them is refused.
  static constexpr std::size_t kAtMost = 1024;

  struct Hooks {
    // Sends one JSON-RPC response to the server: to a question that was out, or a refusal.
    std::function<void(std::string response, std::string_view method)> answer, refuse;
    // Starts a task; false when there is no room for it, or no time.
    std::function<bool(Task<void> task)> spawn;
    // Its first question is out, or its last one answered: the call waits for its caller, or goes
    // on.
    std::function<void(rpc::Number call, bool waits)> waiting;
  };
  Asking(std::string server, Hooks hooks) : server_(std::move(server)), hooks_(std::move(hooks)) {}
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  // Asks the caller of the call `number`. False: it is no question.
  bool take(const rpc::Message& message, rpc::Number number, const call::Call& call);
  // Asks who stands for callers that cannot be found. False: it is no question for that one.
  static constexpr rpc::Number kNobodys = 0;
  bool take_for_nobody(const rpc::Message& message, const Environment& environment);
  void end_call(rpc::Number call);                         // it is over; kNobodys: the link is
  void withdraw(json::Raw id, const std::string& reason);  // the server said so
  std::size_t size() const { return out_.size(); }

 private:
  struct Out {
    Out(rpc::Number call_in, json::Raw id_in, call::Question question_in)
        : call(call_in), id(id_in), question(std::move(question_in)) {}
    rpc::Number call;
    std::string id;  // the server's, a raw token
    call::Question question;
    bool unwanted = false;  // by the server
    runtime::CancelSource over;
  };
  using OutPtr = std::shared_ptr<Out>;
  bool start(const rpc::Message& message, mcp::QuestionKind kind, rpc::Number number,
             std::shared_ptr<call::Asker> asker, runtime::Shard& shard);
  void refuse(const rpc::Message& message, const call::Response& response);
  Task<void> ask(OutPtr out, std::shared_ptr<call::Asker> asker, runtime::Shard& shard);
  void add(const OutPtr& out);
  void remove(const OutPtr& out);
  bool waits(rpc::Number call) const;

  std::string server_;
  Hooks hooks_;
  std::vector<OutPtr> out_;
};

}  // namespace mcpx::upstream
