// How a link is told which resources are watched: by requests in a legacy session, through the
// Listener with a modern server.
#include "upstream/link.hpp"
#include "upstream/listen.hpp"

namespace mcpx::upstream {
namespace {

// For the answer to resources/unsubscribe; nothing depends on what it says.
constexpr Milliseconds kUnsubscribe{10'000};

std::string uri_params(const std::string& uri) {
  return json::ObjectBuilder().string("uri", uri).take();
}

}  // namespace

Task<Reply> Link::watch(std::string uri, TimePoint deadline) {
  Listener* const modern = facts().era() == mcp::Era::modern ? listener() : nullptr;
  if (!modern) {
    std::string params = uri_params(uri);
    co_return co_await request("resources/subscribe", std::move(params), deadline,
                               OnGiveUp::cancel);
  }
  const Result<void> agreed = co_await modern->watch(std::move(uri), deadline);
  if (!agreed) co_return agreed.error();
  rpc::Message done;
  done.kind = rpc::Kind::result;
  co_return done;
}

Task<void> Link::unwatch(std::string uri) {
  if (facts().era() == mcp::Era::modern) {
    if (Listener* const modern = listener()) modern->unwatch(uri);
    co_return;
  }
  if (!alive()) co_return;
  const TimePoint deadline = Clock::now() + kUnsubscribe;
  std::string params = uri_params(uri);
  Reply reply =
      co_await request("resources/unsubscribe", std::move(params), deadline, OnGiveUp::forget);
  static_cast<void>(reply);
}

void tell_update(const LinkEvents& events, json::Raw params) {
  if (!events.updated) return;
  if (const auto uri = json::find_string(params, "uri")) events.updated(*uri);
}

}  // namespace mcpx::upstream
