// HttpLink: one session with a server over Streamable HTTP.
//
// Each shard dials for itself (a call never changes threads); the session id and what the handshake
// found are fixed before the link is shared, so every shard may read them. A server that no longer
// knows the session makes the link lost: the Server opens another and repeats the call once.
// Thread: request(), notify() home shard; forward() any shard.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/client.hpp"
#include "upstream/link.hpp"

namespace mcpx::upstream {

class HttpLink final : public Link {
 public:
  HttpLink(LinkContext context, http::Url url);

  Task<Result<rpc::Message>> request(std::string_view method, std::string params,
                                     TimePoint deadline, OnGiveUp on_give_up) override;
  Task<Result<void>> notify(std::string_view method) override;
  Task<Reply> forward(const Forward& forward) override;
  void established(const mcp::ServerFacts& facts) override;
  const mcp::ServerFacts& facts() const override { return facts_; }
  std::string_view client_info() const override { return context_.environment.client_info; }
  bool alive() const override { return !lost_.load(std::memory_order_relaxed); }
  std::size_t children() const override { return 0; }
  std::vector<std::string> stderr_tail() const override { return {}; }
  void hurry() override;
  Task<void> stop(Milliseconds grace) override;

 private:
  struct Post;
  Task<Result<rpc::Message>> exchange(Post& post);
  Task<Result<rpc::Message>> read_stream(http::Response& response, Post& post);
  Task<Result<rpc::Message>> read_whole(http::Response& response, const Post& post);
  Task<void> close_client(runtime::Shard& shard);
  Task<bool> close_client_there(runtime::Shard& shard);
  void add_fields(std::vector<http1::Field>& fields, const Post& post) const;
  void note_session(const http::Response& response, const rpc::Message& answer);
  Task<void> end_session();
  Task<void> answer_request(const rpc::Message& message, TimePoint deadline);
  void relay(const rpc::Message& message, const Post& post);
  http::Client& client();
  Error expired(unsigned status);
  Error translated(const Error& error, std::string_view otherwise) const;

  LinkContext context_;
  http::Url url_;
  mcp::ServerFacts facts_;
  std::string plain_meta_;  // of a caller that has no _meta and declares nothing
  std::string session_id_;
  std::string version_;  // what MCP-Protocol-Version says: the probe's claim, then the answer
  std::atomic<rpc::Number> last_id_{0};
  std::atomic<bool> lost_{false};
  std::vector<std::unique_ptr<http::Client>> clients_;  // by shard index, each used only there
};

}  // namespace mcpx::upstream
