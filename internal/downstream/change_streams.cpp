#include "downstream/change_streams.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "downstream/answer.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/method.hpp"
#include "rpc/message.hpp"
#include "runtime/timer.hpp"

namespace mcpx::downstream {
namespace {

struct ChangeKind {
  ChangeSet bit;
  std::string_view filter;  // the member of a listen filter
  mcp::Method notification;
};
constexpr std::array<ChangeKind, 3> kKinds = {
    ChangeKind{kToolsChanged, "toolsListChanged", mcp::Method::notify_tools_list_changed},
    ChangeKind{kPromptsChanged, "promptsListChanged", mcp::Method::notify_prompts_list_changed},
    ChangeKind{kResourcesChanged, "resourcesListChanged",
               mcp::Method::notify_resources_list_changed}};

// {"io.modelcontextprotocol/subscriptionId":ID}
std::string subscription_meta(std::string_view id, std::string_view server_info = {}) {
  json::ObjectBuilder meta;
  meta.raw(mcp::kMetaSubscriptionId, id);
  if (!server_info.empty()) meta.raw(mcp::kMetaServerInfo, server_info);
  return meta.take();
}

std::string notification(mcp::Method method, std::string_view params) {
  std::string text;
  rpc::append_notification(text, mcp::info(method).name, params);
  return text;
}

// Tells a session's streams apart: only the newest gets its notifications.
std::uint64_t next_stream_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

ChangeSet change_of(mcp::ListKind kind) {
  switch (kind) {
    case mcp::ListKind::tools:
      return kToolsChanged;
    case mcp::ListKind::prompts:
      return kPromptsChanged;
    case mcp::ListKind::resources:
    case mcp::ListKind::resource_templates:
      return kResourcesChanged;
  }
  return 0;
}

ChangeSet wanted_changes(json::Raw filter) {
  ChangeSet wanted = 0;
  for (const ChangeKind& kind : kKinds) {
    const auto value = json::find(filter, kind.filter);
    if (value && json::as_bool(*value).value_or(false)) {
      wanted = static_cast<ChangeSet>(wanted | kind.bit);
    }
  }
  return wanted;
}

std::string honoured_filter(ChangeSet wanted) {
  json::ObjectBuilder filter;
  for (const ChangeKind& kind : kKinds) {
    if (wanted & kind.bit) filter.boolean(kind.filter, true);
  }
  return filter.take();
}

// Lives in the frame that serves the stream and is listed while it does.
struct ChangeStreams::Stream {
  Stream(ChangeStreams& owner_in, http::Exchange& exchange, std::string endpoint_in,
         ChangeSet wanted_in)
      : owner(owner_in), endpoint(std::move(endpoint_in)), wanted(wanted_in) {
    ended = owner.shut_down_;
    graceful = owner.shut_down_;
    owner.streams_.push_back(this);
    gone = exchange.gone().subscribe([this](const std::string&) { end(false); });
  }
  ~Stream() { std::erase(owner.streams_, this); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void end(bool gracefully) {
    if (!ended) graceful = gracefully;
    ended = true;
    waiter.wake();
  }
  // A newer GET of the same session took over.
  bool superseded() const { return session && session->live.stream.load() != number; }

  ChangeStreams& owner;
  std::string endpoint;
  ChangeSet wanted;
  ChangeSet pending = 0;
  std::string params;                // of each notification; empty for none
  const Session* session = nullptr;  // of a GET stream
  std::uint64_t number = 0;
  bool ended = false;
  bool graceful = false;  // the client is still there to be told
  std::string_view why = "the server is shutting down";
  runtime::Waiter waiter;
  runtime::CancelSource::Subscription gone;
};

void ChangeStreams::publish(const registry::Change& change) {
  const ChangeSet bit = change_of(change.kind);
  for (Stream* stream : streams_) {
    if (stream->endpoint != change.endpoint || !(stream->wanted & bit)) continue;
    stream->pending = static_cast<ChangeSet>(stream->pending | bit);
    stream->waiter.wake();
  }
}

void ChangeStreams::end_session(const Session& session) {
  for (Stream* stream : streams_) {
    if (stream->session == &session) stream->end(true);
  }
}

void ChangeStreams::end_endpoint(std::string_view endpoint) {
  for (Stream* stream : streams_) {
    if (stream->endpoint != endpoint) continue;
    stream->why = "the endpoint is gone: its server was removed from the configuration";
    stream->end(true);
  }
}

void ChangeStreams::shut_down() {
  shut_down_ = true;
  for (Stream* stream : streams_)
    stream->end(true);
}

Task<Result<void>> ChangeStreams::send_changes(http::Exchange& exchange, Stream& stream) {
  const ChangeSet changes = std::exchange(stream.pending, ChangeSet{0});
  Result<void> sent;
  for (const ChangeKind& kind : kKinds) {
    if (!(changes & kind.bit)) continue;
    const std::string text = notification(kind.notification, stream.params);
    sent = co_await exchange.send_event(text);
    if (!sent) break;
  }
  co_return sent;
}

// Until the stream ended, for whatever reason.
Task<void> ChangeStreams::run(http::Exchange& exchange, Stream& stream) {
  bool quiet = false;
  runtime::Watchdog watchdog(shard_, [&stream, &quiet] {
    quiet = true;
    stream.waiter.wake();
  });
  while (!stream.ended) {
    Result<void> sent;
    watchdog.set(Clock::now() + keep_alive_);
    if (stream.superseded()) {
      stream.end(true);
    } else if (stream.pending) {
      sent = co_await send_changes(exchange, stream);
    } else if (quiet) {
      quiet = false;
      sent = co_await exchange.send_keep_alive();
    } else {
      co_await stream.waiter.wait();
    }
    if (!sent) stream.end(false);
  }
}

Task<void> ChangeStreams::serve_session(http::Exchange& exchange, SessionPtr session) {
  Stream stream(*this, exchange, session->endpoint, kEveryChange);
  stream.session = session.get();
  stream.number = next_stream_number();
  session->live.stream.store(stream.number);
  const Result<void> begun = co_await exchange.begin_stream(kNoFields);
  if (!begun) co_return;
  co_await run(exchange, stream);
  if (stream.graceful) co_await exchange.end_stream();
}

Task<void> ChangeStreams::serve_listen(http::Exchange& exchange, std::string id,
                                       std::string endpoint, ChangeSet wanted) {
  Stream stream(*this, exchange, std::move(endpoint), wanted);
  const std::string meta = subscription_meta(id);
  json::ObjectBuilder params;
  stream.params = params.raw("_meta", meta).take();
  const Result<void> begun = co_await exchange.begin_stream(kNoFields);
  if (!begun) co_return;
  // The acknowledgement is the first message of a subscription (basic/patterns/subscriptions).
  json::ObjectBuilder acknowledged;
  acknowledged.raw("_meta", meta).raw("notifications", honoured_filter(wanted));
  const std::string first =
      notification(mcp::Method::notify_subscriptions_acknowledged, acknowledged.take());
  const Result<void> sent = co_await exchange.send_event(first);
  if (!sent) co_return;
  co_await run(exchange, stream);
  if (stream.graceful) co_await end_listen(exchange, id, stream.why);
}

// notifications/cancelled must come while the request is in progress, so it goes before the result
// that ends it (basic/patterns/cancellation against subscriptions, "Graceful Closure").
Task<void> ChangeStreams::end_listen(http::Exchange& exchange, std::string_view id,
                                     std::string_view why) {
  json::ObjectBuilder cancelled;
  cancelled.raw("requestId", id).string("reason", why);
  cancelled.raw("_meta", subscription_meta(id));
  const std::string notice = notification(mcp::Method::notify_cancelled, cancelled.take());
  Result<void> sent = co_await exchange.send_event(notice);
  if (!sent) co_return;
  json::ObjectBuilder result;
  result.string("resultType", "complete").raw("_meta", subscription_meta(id, server_info_));
  std::string last;
  rpc::append_result(last, id, result.take());
  sent = co_await exchange.send_event(last);
  if (!sent) co_return;
  co_await exchange.end_stream();
}

}  // namespace mcpx::downstream
