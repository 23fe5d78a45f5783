// HttpLink: one session with a server over HTTP: Streamable HTTP of either era, or HTTP+SSE.
//
// Each shard dials for itself (a call never changes threads); the session id and what the handshake
// found are fixed before the link is shared, so every shard may read them. A server that no longer
// knows the session makes the link lost: the Server opens another and repeats the call once.
//
// http_exchange.cpp has one POST and its reply, http_stream.cpp what arrives without being asked
// for and the resumption of broken streams, http_asking.cpp the server's questions, http_sse.cpp
// the transport of 2024-11-05, http_reply what statuses and bodies mean. Thread: ask(), notify()
// home shard; request(), forward() any shard.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/client.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "upstream/asking.hpp"
#include "upstream/link.hpp"
#include "upstream/listen.hpp"
#include "upstream/relay.hpp"

namespace mcpx::upstream {

class HttpLink final : public Link {
 public:
  HttpLink(LinkContext context, http::Url url, const http::Client::Options& options);

  Transport transport() const override;
  Task<HandshakeReply> ask(std::string_view method, std::string params,
                           TimePoint deadline) override;
  Task<Result<void>> open_event_stream(TimePoint deadline) override;
  Task<Reply> request(std::string_view method, std::string params, TimePoint deadline,
                      OnGiveUp on_give_up) override;
  Task<Result<void>> notify(std::string_view method, std::string params) override;
  Task<Reply> forward(const Forward& forward) override;
  void established(const mcp::ServerFacts& facts) override;
  const mcp::ServerFacts& facts() const override { return facts_; }
  std::string_view client_info() const override { return context_.environment.client_info; }
  bool alive() const override { return !lost_.load(std::memory_order_relaxed); }
  bool covers(mcp::ListKind kind) const override { return listener_.covers(kind); }
  std::size_t children() const override { return 0; }
  std::vector<std::string> stderr_tail() const override { return {}; }
  void hurry() override;
  Task<void> stop(Milliseconds grace) override;

 private:
  struct Post;
  class InFlight;

  // What one shard has of the link; made, used and ended only there.
  struct Local {
    std::unique_ptr<http::Client> client;
    std::unique_ptr<runtime::TaskGroup> tasks;  // answers and notices nobody waits for
    rpc::Number requests = 0;
    Post* first = nullptr;                      // those in flight, a list through them
    std::unique_ptr<Asking> asking;             // made by the first question
    std::size_t answers = 0, answer_bytes = 0;  // to the server, on their way
    bool warned_junk = false, warned_unanswered = false, warned_dropped = false;
    bool closed = false;
    bool was_lost = false;  // before it was closed
  };
  using Opened = Result<std::unique_ptr<http::Response>>;

  // --- http_exchange.cpp
  Task<Reply> exchange(Post& post);
  Task<Reply> carry(Post& post);  // by whichever transport the server has
  Task<Reply> read_stream(std::unique_ptr<http::Response> response, Post& post);
  Task<void> drain(std::unique_ptr<http::Response> response);
  Task<bool> read_events(http::Response& response, Post& post);
  Reply judge(Post& post, const http1::ResponseHead& head, PaddedBuffer body);
  void take_message(rpc::Message message, Post& post);
  void hear_subscribed(const rpc::Message& message, Post& post);
  void relay(const rpc::Message& message, Post& post);
  void answer_request(const rpc::Message& message);
  void refuse_request(std::string body, std::string_view method);
  Task<void> send_answer(std::string body, std::string method);
  void junk(std::string_view what);
  void cancel_on_wire(const Post& post, std::string_view reason);
  Task<void> send_quietly(std::string body, std::string method);
  Reply version_refused();
  Result<void> note_session(const http1::ResponseHead& head);
  bool names_session(const Post& post) const;
  Reply expired(unsigned status);
  Error translated(const Error& error) const;
  std::string said(std::string_view body) const;

  // --- http_stream.cpp
  Task<Opened> get(std::string_view last_event_id, TimePoint deadline,
                   runtime::CancelSource* cancel);
  Task<std::unique_ptr<http::Response>> reopen(Post& post);
  Task<Opened> resume(Post& post);
  Task<void> sleep(Post& post, TimePoint until);
  bool settled(Post& post);
  Task<void> listen();
  Task<bool> hear(http::Response& response);
  void take_unasked(rpc::Message message);
  void take_change(const rpc::Message& message);
  bool is_extension(const rpc::Message& notification) const;
  bool tell_extension(const rpc::Message& message);
  void all_lists_changed();
  void deliver(rpc::Number to, rpc::Message message);
  void deliver_log(rpc::Message message);
  void deliver_here(rpc::Number to, rpc::Message& message);
  void deliver_log_here(const rpc::Message& message);
  void session_lost(const Error& why);

  // --- http_sse.cpp
  Task<Result<std::string>> await_endpoint(http::Response& response, TimePoint until);
  Task<void> read_event_stream(std::unique_ptr<http::Response> response);
  Task<Reply> exchange_by_stream(Post& post);
  Task<void> post_to_endpoint(std::string body, std::string method, rpc::Number number,
                              TimePoint deadline);
  Task<Reply> forward_to_home(const Forward& forward);

  // --- http_asking.cpp
  Asking& asking();
  bool ask(const rpc::Message& message, Post& post);
  void ask_somebody(rpc::Message message);
  bool ask_any_here(const rpc::Message& message);
  void hold(rpc::Number call, bool waits);
  void expire(Post& post);
  void end_questions(const Post& post);
  void withdraw_question(const rpc::Message& message);

  // --- http_link.cpp
  Task<Reply> forward_here(const Forward& forward);
  Task<void> tell_level(std::string_view level);
  Task<Reply> hold_listen(std::string params, std::optional<rpc::Number>& id);
  void close_listen(rpc::Number id);
  Listener* listener() override { return &listener_; }
  void add_fields(std::vector<http1::Field>& fields, const Post& post) const;
  void add_session(std::vector<http1::Field>& fields) const;
  void number(Post& post);
  Local& local();
  http::Client& client();
  bool spawn(std::string_view name, Task<void> task);
  void on_home(std::function<void()> work);
  Task<bool> close_there(runtime::Shard& shard, bool was_lost);
  void set_version(std::optional<mcp::Revision> revision);
  Task<void> end_session();
  Task<void> let_finish();
  bool is_legacy() const { return facts_.era() == mcp::Era::legacy; }

  LinkContext context_;
  const http::Url url_;
  const http::Client::Options options_;
  mcp::ServerFacts facts_;
  std::string plain_meta_;  // of a caller that has no _meta and declares nothing
  std::string session_id_;
  std::string endpoint_;  // HTTP+SSE: the target of every POST; empty: Streamable HTTP
  std::string version_;   // what MCP-Protocol-Version says: the probe's claim, then the answer
  bool logs_ = false;     // it takes logging/setLevel
  bool speaks_extensions_ = false;  // it has some that mcpx does not know
  AskedLevel asked_level_;
  std::atomic<bool> lost_{false};
  std::atomic<std::size_t> calls_{0};  // in flight, on all shards
  std::vector<Local> locals_;          // by shard index

  // Home shard only.
  bool stopping_ = false;
  http::Response* heard_ = nullptr;  // the open GET stream
  std::string heard_id_;             // of its last event
  Milliseconds heard_retry_;
  Listener listener_;  // of a modern server
  runtime::Timer pause_;
  runtime::TaskGroup tasks_;
};

}  // namespace mcpx::upstream
