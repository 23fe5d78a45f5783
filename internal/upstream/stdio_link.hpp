// StdioLink: one child process and the JSON-RPC lines to and from it.
//
// A reader task takes its lines apart, a writer task sends what is queued; both end when the child
// closes its output, its input is stuck, or stop() is called. Thread: home shard only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "net/stream.hpp"
#include "process/child.hpp"
#include "rpc/line_framer.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "runtime/waiter.hpp"
#include "upstream/asking.hpp"
#include "upstream/child_record.hpp"
#include "upstream/link.hpp"
#include "upstream/listen.hpp"
#include "upstream/pending.hpp"

namespace mcpx::upstream {

class StdioLink final : public Link {
 public:
  StdioLink(LinkContext context, std::unique_ptr<process::Child> child);
  void begin();  // starts the reader and the writer

  Task<Reply> request(std::string_view method, std::string params, TimePoint deadline,
                      OnGiveUp on_give_up) override;
  Task<Result<void>> notify(std::string_view method, std::string params) override;
  Task<Reply> forward(const Forward& forward) override;
  void established(const mcp::ServerFacts& facts) override;
  const mcp::ServerFacts& facts() const override { return facts_; }
  std::string_view client_info() const override { return context_.environment.client_info; }
  bool alive() const override { return !lost_; }
  bool covers(mcp::ListKind kind) const override { return listener_.covers(kind); }
  std::size_t children() const override { return lost_ || stopped_ ? 0 : 1; }
  std::vector<std::string> stderr_tail() const override;
  void hurry() override;
  Task<void> stop(Milliseconds grace) override;

 private:
  Task<void> read_lines();
  Task<void> write_lines();
  Task<Reply> send(rpc::Number id, std::string_view method, std::string params);
  Task<Reply> hold_listen(std::string params, std::optional<rpc::Number>& id);
  void close_listen(rpc::Number id);
  Listener* listener() override { return &listener_; }
  Task<Error> why_it_ended(Error reading);
  void timed_out(rpc::Number id);
  Task<void> prove_alive();
  void take_line(rpc::Line line);
  void take_message(rpc::Message message);
  void take_notification(const rpc::Message& message);
  void take_extension(const rpc::Message& message);
  void take_subscribed(const rpc::Message& message);
  void take_request(const rpc::Message& message);
  void send_answer(std::string line);
  void ask_level(std::string_view level);
  void give_up(rpc::Number id, std::string_view reason);
  void relay_progress(const rpc::Message& message);
  void relay_log(const rpc::Message& message);
  void withdraw_question(const rpc::Message& message);
  void hold(rpc::Number call, bool waits);
  bool queue(std::string line);
  void junk(std::string_view what);

  LinkContext context_;
  std::unique_ptr<process::Child> child_;
  ChildRecord record_;
  rpc::LineFramer framer_;
  Pending pending_;
  Asking asking_;
  Listener listener_;  // of a modern server
  mcp::ServerFacts facts_;
  std::string plain_meta_;          // of a caller that has no _meta and declares nothing
  bool logs_ = false;               // it takes logging/setLevel
  bool speaks_extensions_ = false;  // it has some that mcpx does not know
  AskedLevel asked_level_;
  std::optional<Error> lost_;
  std::size_t mute_timeouts_ = 0;   // requests that timed out since the server said anything
  std::optional<Error> condemned_;  // why it is ended although it runs
  bool stopped_ = false;
  bool hurried_ = false;  // takes no further request
  bool warned_junk_ = false;
  bool warned_unanswered_ = false;
  std::size_t answers_waiting_ = 0;  // bytes of outgoing_ that answer the server
  std::string outgoing_;
  runtime::Waiter writable_;
  runtime::OneShot<process::ExitStatus> exit_;
  std::unordered_set<rpc::Number> quiet_;  // requests that are not cancelled on the wire
  runtime::TaskGroup tasks_;
};

}  // namespace mcpx::upstream
