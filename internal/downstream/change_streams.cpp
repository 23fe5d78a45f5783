#include "downstream/change_streams.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <utility>

#include "downstream/answer.hpp"
#include "json/splice.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/method.hpp"
#include "rpc/message.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "upstream/server.hpp"

namespace mcpx::downstream {
namespace {

struct ChangeKind {
  ChangeSet bit;
  std::string_view filter;      // the member of a listen filter
  std::string_view capability;  // that announces it
  mcp::Method notification;
};
constexpr std::array<ChangeKind, 3> kKinds = {
    ChangeKind{kToolsChanged, "toolsListChanged", "tools", mcp::Method::notify_tools_list_changed},
    ChangeKind{kPromptsChanged, "promptsListChanged", "prompts",
               mcp::Method::notify_prompts_list_changed},
    ChangeKind{kResourcesChanged, "resourcesListChanged", "resources",
               mcp::Method::notify_resources_list_changed}};

// Resources below those that are watched which wait for one slow reader; of further ones it is told
// by what it watches.
constexpr std::size_t kUpdatesWaiting = 1'024;
// Whole messages that wait for one slow reader; the oldest go first.
constexpr std::size_t kMessagesWaiting = 256;
constexpr std::size_t kMessageBytes = 1024 * 1024;
// What a listen waits for servers before it is acknowledged.
constexpr Milliseconds kAgreement{5'000};

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
    case mcp::ListKind::skills:
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

ChangeSet announced_changes(json::Raw capabilities) {
  ChangeSet announced = 0;
  for (const ChangeKind& kind : kKinds) {
    if (json::find(capabilities, kind.capability, "listChanged") == "true") {
      announced = static_cast<ChangeSet>(announced | kind.bit);
    }
  }
  return announced;
}

namespace {

// What the acknowledgement says is honoured.
std::string honoured_filter(const Listen& listen) {
  json::ObjectBuilder filter;
  for (const ChangeKind& kind : kKinds) {
    if (listen.wanted & kind.bit) filter.boolean(kind.filter, true);
  }
  std::string uris;
  for (const Wish& wish : listen.wishes) {
    if (!wish.honoured) continue;
    uris += uris.empty() ? '[' : ',';
    json::append_string(uris, wish.watched.shown);
  }
  if (!uris.empty()) filter.raw("resourceSubscriptions", uris + "]");
  std::string ids;
  for (const std::string& id : listen.tasks) {
    ids += ids.empty() ? '[' : ',';
    json::append_string(ids, id);
  }
  if (!ids.empty()) filter.raw("taskIds", ids + "]");
  return filter.take();
}

Task<void> watch_one(Wish& wish, TimePoint deadline) {
  upstream::Watcher watcher = wish.watched.watcher;
  std::string uri = wish.watched.uri;
  const call::Outcome outcome =
      co_await wish.watched.on->watch(std::move(watcher), std::move(uri), deadline);
  wish.honoured = outcome.ok();
}

}  // namespace

// Lives in the frame that serves the stream and is listed while it does.
struct ChangeStreams::Stream {
  Stream(ChangeStreams& owner_in, http::Exchange& exchange, std::string endpoint_in,
         ChangeSet wanted_in)
      : owner(owner_in), endpoint(std::move(endpoint_in)), wanted(wanted_in) {
    number = next_stream_number();
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

  void say(const std::string& message) {
    messages.push_back(message);
    message_bytes += message.size();
    while (messages.size() > kMessagesWaiting ||
           (message_bytes > kMessageBytes && messages.size() > 1)) {
      message_bytes -= messages.front().size();
      messages.pop_front();
    }
    waiter.wake();
  }

  void say_task(const std::string& params) {
    std::string text;
    const std::string marked = json::Splice(params).set("_meta", meta).text();
    rpc::append_notification(text, "notifications/tasks", marked);
    say(text);
  }

  ChangeStreams& owner;
  std::string endpoint;
  ChangeSet wanted;
  ChangeSet pending = 0;
  WatchedSet watched;                        // of a listen
  std::set<std::string, std::less<>> tasks;  // of a listen: ids
  std::set<std::string> updated;             // URIs as the client is told of them
  std::deque<std::string> messages;          // whole ones
  std::size_t message_bytes = 0;             // of them
  std::string meta;                          // of each notification; empty for none
  const Session* session = nullptr;          // of a GET stream
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

void ChangeStreams::publish(std::string_view server, const upstream::ExtensionNotice& notice) {
  for (Stream* stream : streams_) {
    if (!stream->session || stream->endpoint != server || stream->superseded()) continue;
    const std::string& session = stream->session->id;
    if (session == notice.told) continue;
    if (!notice.owner.empty() && notice.owner != upstream::session_owner(session)) continue;
    stream->say(notice.json);
  }
}

void ChangeStreams::publish(const registry::Updates& updates, const Subscriptions& subscriptions) {
  if (updates.notice) publish(updates.server, *updates.notice);
  for (Stream* stream : streams_) {
    const WatchedSet* const set =
        stream->session ? subscriptions.of(*stream->session) : &stream->watched;
    if (!set || set->empty()) continue;
    for (const upstream::ResourceUpdate& update : updates.updates) {
      const auto found = set->find(Watched::key_of(updates.server, update.owner, update.watched));
      if (found == set->end()) continue;
      const bool room = stream->updated.size() < kUpdatesWaiting;
      stream->updated.insert(room ? found->second.shown_as(update) : found->second.shown);
      stream->waiter.wake();
    }
  }
}

void ChangeStreams::say(const Session& session, const std::string& message) {
  for (Stream* stream : streams_) {
    if (stream->session != &session || stream->superseded()) continue;
    stream->say(message);
  }
}

void ChangeStreams::publish_task(std::string_view id, const std::string& params) {
  for (Stream* stream : streams_) {
    if (stream->tasks.contains(id)) stream->say_task(params);
  }
}

void ChangeStreams::renew(const registry::Registry& registry, runtime::TaskGroup& tasks) {
  for (const Stream* stream : streams_) {
    for (const auto& [key, watched] : stream->watched) {
      auto now = server_named(registry, watched.server);
      if (now == watched.on) continue;
      tasks.spawn("renew listen", renew_one(stream, stream->number, watched, std::move(now)));
    }
  }
}

// The stream may have ended meanwhile; then nobody watches.
Task<void> ChangeStreams::renew_one(const Stream* stream, std::uint64_t number, Watched before,
                                    std::shared_ptr<upstream::Server> now) {
  const bool watched = co_await watch_again(before, now);
  const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const Stream* one) {
    return one == stream && one->number == number;
  });
  const auto entry =
      found == streams_.end() ? WatchedSet::iterator() : (*found)->watched.find(before.key());
  if (found == streams_.end() || entry == (*found)->watched.end() ||
      entry->second.on != before.on) {
    if (watched) now->unwatch(before.watcher, before.uri);
    co_return;
  }
  entry->second.on = watched ? now : nullptr;
  (*found)->updated.insert(before.shown);
  (*found)->waiter.wake();
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
  json::ObjectBuilder params;
  const std::string tag = stream.meta.empty() ? "" : params.raw("_meta", stream.meta).take();
  for (const ChangeKind& kind : kKinds) {
    if (!(changes & kind.bit)) continue;
    const std::string text = notification(kind.notification, tag);
    sent = co_await exchange.send_event(text);
    if (!sent) break;
  }
  co_return sent;
}

Task<Result<void>> ChangeStreams::send_messages(http::Exchange& exchange, Stream& stream) {
  const std::deque<std::string> messages = std::exchange(stream.messages, {});
  stream.message_bytes = 0;
  Result<void> sent;
  for (const std::string& message : messages) {
    sent = co_await exchange.send_event(message);
    if (!sent) break;
  }
  co_return sent;
}

Task<Result<void>> ChangeStreams::send_updates(http::Exchange& exchange, Stream& stream) {
  const std::set<std::string> uris = std::exchange(stream.updated, {});
  Result<void> sent;
  for (const std::string& uri : uris) {
    json::ObjectBuilder params;
    params.raw("_meta", stream.meta).string("uri", uri);
    const std::string text = notification(mcp::Method::notify_resources_updated, params.take());
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
    } else if (!stream.updated.empty()) {
      sent = co_await send_updates(exchange, stream);
    } else if (!stream.messages.empty()) {
      sent = co_await send_messages(exchange, stream);
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
  session->live.stream.store(stream.number);
  const Result<void> begun = co_await exchange.begin_stream(kNoFields);
  if (!begun) co_return;
  co_await run(exchange, stream);
  if (stream.graceful) co_await exchange.end_stream();
}

// All at once: each server's answer is waited for, the slowest decides when it is acknowledged.
Task<void> ChangeStreams::watch(std::vector<Wish>& wishes) {
  const TimePoint deadline = Clock::now() + kAgreement;
  runtime::TaskGroup asking(shard_);
  for (Wish& wish : wishes)
    asking.spawn("watch", watch_one(wish, deadline));
  co_await asking.join();
}

Task<void> ChangeStreams::serve_listen(http::Exchange& exchange, Listen listen) {
  Stream stream(*this, exchange, listen.endpoint, listen.wanted);
  stream.meta = subscription_meta(listen.id);
  stream.tasks.insert(listen.tasks.begin(), listen.tasks.end());
  // Listed before anybody agrees, so that no news is lost in between.
  for (const Wish& wish : listen.wishes)
    stream.watched.emplace(wish.watched.key(), wish.watched);
  const Result<void> begun = co_await exchange.begin_stream(kNoFields);
  if (!begun) co_return;
  co_await watch(listen.wishes);
  drop_refused(stream, listen.wishes);
  co_await serve_watching(exchange, stream, listen);
  for (const auto& [key, watched] : stream.watched)
    unwatch(watched);
}

void ChangeStreams::drop_refused(Stream& stream, const std::vector<Wish>& wishes) {
  for (const Wish& wish : wishes) {
    if (wish.honoured) continue;
    stream.watched.erase(wish.watched.key());
    stream.updated.erase(wish.watched.shown);
  }
}

Task<void> ChangeStreams::serve_watching(http::Exchange& exchange, Stream& stream,
                                         const Listen& listen) {
  // The acknowledgement is the first message of a subscription (basic/patterns/subscriptions).
  json::ObjectBuilder acknowledged;
  acknowledged.raw("_meta", stream.meta).raw("notifications", honoured_filter(listen));
  const std::string first =
      notification(mcp::Method::notify_subscriptions_acknowledged, acknowledged.take());
  const Result<void> sent = co_await exchange.send_event(first);
  if (!sent) co_return;
  co_await tell_finished(exchange, stream, listen);
  co_await run(exchange, stream);
  if (stream.graceful) co_await end_listen(exchange, listen.id, stream.why);
}

// Those that ended before the stream was there. One after another: each may be as long as results
// are.
Task<void> ChangeStreams::tell_finished(http::Exchange& exchange, Stream& stream,
                                        const Listen& listen) {
  for (const std::string& id : listen.tasks) {
    if (stream.ended) break;
    const std::string params = co_await listen.finished(id);
    if (params.empty()) continue;
    stream.say_task(params);
    const Result<void> sent = co_await send_messages(exchange, stream);
    if (!sent) stream.end(false);
  }
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
