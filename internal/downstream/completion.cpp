#include "downstream/completion.hpp"

#include <memory>
#include <utility>

#include "rpc/message.hpp"

namespace mcpx::downstream {
namespace {

constexpr std::size_t kLongestId = 256;  // that is remembered

// The server may say so after the call, and even after the session.
class Told final : public call::Completion {
 public:
  Told(Core& core, SessionPtr session)
      : core_(core.weak_from_this()), session_(std::move(session)) {}

  void complete(std::string params) override {
    const std::shared_ptr<Core> core = core_.lock();
    if (!core || session_->live.ended.load(std::memory_order_relaxed)) return;
    std::string text;
    rpc::append_notification(text, "notifications/elicitation/complete", params);
    for (runtime::Shard* shard : core->shards) {
      shard->post([core, shard, session = session_, text] {
        core->local(*shard).streams.say(*session, text);
      });
    }
  }

 private:
  std::weak_ptr<Core> core_;
  SessionPtr session_;
};

}  // namespace

void expect_completion(Core& core, upstream::Server& server, const SessionPtr& session,
                       json::Raw question) {
  if (session->revision < mcp::Revision::r2025_11_25) return;
  auto id = json::find_string(question, "elicitationId");
  if (!id || id->size() > kLongestId) return;
  server.expect_completion(std::move(*id), std::make_shared<Told>(core, session));
}

void expect_completions(Core& core, upstream::Server& server, const SessionPtr& session,
                        json::Raw error) {
  const auto wanted = json::find(error, "data", "elicitations");
  if (!wanted || !json::is_array(*wanted)) return;
  json::Elements elements(*wanted);
  while (const auto element = elements.next()) {
    if (json::is_object(*element)) expect_completion(core, server, session, *element);
  }
}

}  // namespace mcpx::downstream
