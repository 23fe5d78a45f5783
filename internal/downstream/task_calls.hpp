// TaskCall: a tools/call where calls may become tasks: whether this one is to, what its server is
// told of it, and what becomes of a task where a plain result was wanted or the other way round.
//
//   caller              server of 2026-07-28            server of 2025-11-25
//   takes tasks         told so; its task is relayed    a tool that can is called as a task
//   asks for one        the same, or a task that        the same; -32601 for a tool that cannot
//                       is done
//   knows no tasks      told only if it insists; then   a tool that must is called as one, and
//                       mcpx waits for the result       mcpx waits for the result
//
// Lives in the frame of the call. Thread: the caller's shard.
#pragma once

#include <optional>
#include <string>

#include "downstream/core.hpp"
#include "downstream/dispatch.hpp"
#include "registry/snapshot.hpp"
#include "tasks/state.hpp"

namespace mcpx::tasks {
struct Made;
}

namespace mcpx::downstream {

class TaskCall {
 public:
  // All three outlive it.
  TaskCall(const Request& request, const EndpointPtr& endpoint, const registry::Target& target);
  TaskCall(const TaskCall&) = delete;
  TaskCall& operator=(const TaskCall&) = delete;

  // False: nothing of it is about tasks.
  static bool concerns(const Request& request, const registry::Endpoint& endpoint);
  // The caller takes a task for an answer.
  bool wanted() const { return wish_ != Wish::none; }
  // Before the call is made, which does not outlive this. The answer, if it is refused.
  std::optional<Answer> prepare(call::Call& call);
  // True for a call that becomes a task when it takes long, or asks something.
  bool makes_call() const { return races_; }
  // Nothing: there are too many tasks already, and it is as if it could not.
  Task<std::optional<call::Outcome>> make_call(call::Call& call);
  // True if the server insists on tasks: then it is told that it may have them, and called again
  // before anything else is done with what came back.
  bool must_declare(const call::Outcome& outcome) const;
  void declare(call::Call& call);
  // When it is answered: the answer, if it became a task; else the outcome is one of a plain call.
  Task<std::optional<Answer>> settle(call::Call& call, call::Outcome& outcome);

 private:
  enum class Wish : std::uint8_t { none, legacy, modern };
  void read_wish();
  std::optional<Answer> prepare_legacy(call::Call& call);
  void tell_modern(call::Call& call);
  tasks::Made made(const call::Call& call, mcp::Era era, tasks::Report report) const;
  Task<std::optional<Answer>> adopt(tasks::Made made);
  Task<std::optional<Answer>> adopt_done(tasks::Made made, const call::Outcome& outcome);
  Task<call::Outcome> see_through(tasks::Made made, const call::Caller& caller);

  const Request& request_;
  const EndpointPtr& endpoint_;
  const registry::Target& target_;
  Wish wish_ = Wish::none;
  bool augmented_ = false;                        // asked to be a task of a legacy server
  bool races_ = false;                            // becomes a task of ours when it takes long
  std::string capabilities_, extensions_, task_;  // what the call refers to
  std::optional<tasks::State> became_;
};

}  // namespace mcpx::downstream
