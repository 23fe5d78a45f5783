// What an HttpLink hears without asking (the GET stream), and the resumption of a POST's stream
// that broke before the answer. Legacy only (2025-11-25 basic/transports, "Listening for Messages
// from the Server", "Resumability and Redelivery").
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.hpp"
#include "mcp/extensions.hpp"
#include "upstream/backoff.hpp"
#include "upstream/hop.hpp"
#include "upstream/http_post.hpp"
#include "upstream/http_reply.hpp"
#include "upstream/opener.hpp"
#include "upstream/questions.hpp"

namespace mcpx::upstream {
namespace {

// Added to the server's own retry time while reopening a stream brings nothing.
constexpr Milliseconds kFirstPatience{100};
constexpr Milliseconds kMostPatience{10'000};

}  // namespace

Task<HttpLink::Opened> HttpLink::get(std::string_view last_event_id, TimePoint deadline,
                                     runtime::CancelSource* cancel) {
  std::vector<http1::Field> fields;
  fields.emplace_back("Accept", "text/event-stream");
  if (!last_event_id.empty()) fields.emplace_back("Last-Event-ID", last_event_id);
  add_session(fields);
  http::Request request;
  request.method = "GET";
  request.target = url_.target;
  request.fields = fields;
  request.deadline = deadline;
  request.cancel = cancel;
  Opened opened = co_await client().send(request);
  co_return opened;
}

// --- A request whose stream broke

// Ends with the deadline, a cancel or the link.
bool HttpLink::settled(Post& post) {
  if (post.outcome) return true;
  if (local().closed && local().was_lost) {
    post.settle(Error("upstream.disconnected",
                      fmt::format("the session with server {} ended before the answer to {}",
                                  context_.config.name, post.method),
                      "call again if that does no harm"));
  } else if (local().closed) {
    post.settle(stopping_error(context_.config.name));
  } else if (post.cancel && post.cancel->cancelled()) {
    post.settle(Error("request.cancelled", "the caller cancelled the request"));
  }
  return post.outcome.has_value();
}

Task<void> HttpLink::sleep(Post& post, TimePoint until) {
  runtime::Timer timer(runtime::Shard::current());
  post.sleeping = &timer;
  runtime::CancelSource::Subscription cancelled;
  if (post.cancel) {
    cancelled = post.cancel->subscribe([&timer](const std::string&) { timer.cancel(); });
  }
  const bool reached = co_await timer.sleep_until(until);
  static_cast<void>(reached);
  post.sleeping = nullptr;
}

// The answer may meanwhile come on the stream that is listened to.
Task<HttpLink::Opened> HttpLink::resume(Post& post) {
  if (!post.resuming) {
    post.resuming.emplace();
    if (post.cancel) {
      post.caller_gave_up = post.cancel->subscribe(
          [&post](const std::string& reason) { post.resuming->cancel(reason); });
    }
  }
  Opened opened = co_await get(post.last_event_id, post.deadline, &*post.resuming);
  co_return opened;
}

// The stream that goes on where the last one ended; null when post.outcome says why there is none.
// The server decides when it may be asked for (`retry`), the deadline until when it is.
Task<std::unique_ptr<http::Response>> HttpLink::reopen(Post& post) {
  if (!post.resumable || post.last_event_id.empty()) {
    const char* const remedy = "call again if that does no harm, and see the server's own log";
    post.settle(
        Error(post.broken.code,
              fmt::format("server {} broke off its event stream before the answer to {}: {}",
                          context_.config.name, post.method, post.broken.message),
              remedy));
    co_return nullptr;
  }
  while (true) {
    const TimePoint when = Clock::now() + std::max(post.retry, kLeastRetry) + post.patience;
    post.patience = std::clamp(post.patience * 2, kFirstPatience, kMostPatience);
    co_await sleep(post, std::min(when, post.deadline));
    if (settled(post)) co_return nullptr;
    if (Clock::now() >= post.deadline) {
      post.settle(Error("upstream.timeout",
                        fmt::format("server {} did not resume its event stream with the answer "
                                    "to {} in time",
                                    context_.config.name, post.method),
                        "raise call_timeout for this server, or see what it is doing"));
      co_return nullptr;
    }
    Opened opened = co_await resume(post);
    if (settled(post)) co_return nullptr;
    if (!opened) {
      if (opened.error().code == "http.timeout") post.settle(translated(opened.error()));
      if (post.outcome) co_return nullptr;
      continue;  // a server that restarts: until the deadline
    }
    const http1::ResponseHead& head = (*opened)->head();
    if (head.status == 200 && is_event_stream(head)) co_return std::move(*opened);
    if (head.status >= 500 || head.status == 429) continue;
    post.settle(Error("upstream.disconnected",
                      fmt::format("server {} ended its event stream before the answer to {} and "
                                  "does not resume it (HTTP {})",
                                  context_.config.name, post.method, head.status),
                      "call again if that does no harm, and see the server's own log"));
    co_return nullptr;
  }
}

// --- What comes unasked

// Holds a GET stream open for as long as the link lives. Its head has no deadline, since a server
// may keep it back until it has something to say; hurry() ends the wait.
Task<void> HttpLink::listen() {
  bool was_open = false;
  std::size_t failures = 0;
  while (!stopping_ && alive()) {
    const bool resumes = !heard_id_.empty();
    Opened opened = co_await get(heard_id_, kNever, nullptr);
    if (stopping_ || !alive()) co_return;
    const unsigned status = opened ? (*opened)->head().status : 0;
    if (status == 200 && is_event_stream((*opened)->head())) {
      if (was_open && !resumes) all_lists_changed();  // what was said meanwhile is lost
      was_open = true;
      const bool heard = co_await hear(**opened);
      failures = heard ? 0 : failures + 1;
    } else if (status == 404 && was_open && !session_id_.empty()) {
      session_lost(expired(status).error());
      co_return;
    } else if (opened && status < 500 && status != 409 && status != 429) {
      log::debug("server {} offers no event stream (HTTP {})", context_.config.name, status);
      co_return;  // 405 is how it says so; not asked again
    } else {
      ++failures;
    }
    opened = Error();  // gives the connection back
    if (stopping_) co_return;
    const Milliseconds more = failures > 0 ? backoff_after(failures) : Milliseconds(0);
    const TimePoint when = Clock::now() + std::max({heard_retry_, more, kLeastRetry});
    const bool reached = co_await pause_.sleep_until(when);
    static_cast<void>(reached);
  }
}

// Reads the stream to its end; true if it said anything.
Task<bool> HttpLink::hear(http::Response& response) {
  const json::Limits limits{context_.environment.limits.json_depth};
  bool heard = false;
  heard_ = &response;
  while (!stopping_) {
    Result<std::optional<http1::SseEvent>> event = co_await response.next_event(kNever);
    if (!event || !*event) break;
    heard = true;
    note_id(heard_id_, (*event)->id);
    if ((*event)->retry_ms) heard_retry_ = Milliseconds(*(*event)->retry_ms);
    if ((*event)->data.empty() || stopping_) continue;
    const Result<void> read =
        read_messages(PaddedBuffer((*event)->data), limits,
                      [this](rpc::Message& message) { take_unasked(std::move(message)); });
    if (!read) {
      log::debug("server {}: an event that is not JSON-RPC was skipped: {}", context_.config.name,
                 read.error().message);
    }
  }
  heard_ = nullptr;
  co_return heard;
}

void HttpLink::take_unasked(rpc::Message message) {
  switch (message.kind) {
    case rpc::Kind::request:
      if (!belongs_to_a_call(message.method, context_.config.roots)) return answer_request(message);
      return ask_somebody(std::move(message));
    case rpc::Kind::notification: {
      if (message.method == "notifications/message") return deliver_log(std::move(message));
      if (message.method == "notifications/cancelled") return withdraw_question(message);
      if (message.method != "notifications/progress") return take_change(message);
      const auto token = json::find(message.params, "progressToken");
      const auto number = token ? rpc::id_number(*token) : std::nullopt;
      if (number) deliver(*number, std::move(message));
      return;
    }
    case rpc::Kind::result:
    case rpc::Kind::error:
      // Not where it belongs, unless the server takes the GET for the resumption of a POST's.
      if (const auto number = rpc::id_number(message.id)) deliver(*number, std::move(message));
      return;
  }
}

bool HttpLink::is_extension(const rpc::Message& notification) const {
  return speaks_extensions_ && mcp::is_foreign_notification(notification.method);
}

// To everybody who listens: it came on a stream that is nobody's. True if it was one.
bool HttpLink::tell_extension(const rpc::Message& message) {
  if (!is_extension(message) || !context_.events.extension) return false;
  on_home([this, json = extension_message(message)] { context_.events.extension(json, ""); });
  return true;
}

void HttpLink::take_change(const rpc::Message& message) {
  if (tell_extension(message)) return;
  if (const auto kind = announced_list(message.method)) {
    on_home([this, changed = *kind] { context_.events.list_changed(changed); });
  } else if (message.method == kResourceUpdated) {
    on_home([this, params = std::string(message.params)] { tell_update(context_.events, params); });
  } else if (message.method == kElicitationComplete) {
    on_home([this, params = std::string(message.params)] {
      if (context_.events.completed) context_.events.completed(params);
    });
  }
}

void HttpLink::all_lists_changed() {
  for (const mcp::ListKind kind :
       {mcp::ListKind::tools, mcp::ListKind::prompts, mcp::ListKind::resources}) {
    context_.events.list_changed(kind);
  }
  if (context_.events.missed) context_.events.missed();
}

void HttpLink::session_lost(const Error& why) {
  if (!stopping_ && context_.events.lost) context_.events.lost(why);
}

// --- To the request it is for, on whichever shard that waits

void HttpLink::deliver(rpc::Number to, rpc::Message message) {
  if (to < 0 || stopping_) return;
  runtime::Shard* const shard =
      context_.environment.shards[static_cast<std::size_t>(to) % locals_.size()];
  if (shard->is_current()) return deliver_here(to, message);
  auto boxed = std::make_shared<rpc::Message>(std::move(message));
  shard->post([this, to, boxed] { deliver_here(to, *boxed); });
}

void HttpLink::deliver_here(rpc::Number to, rpc::Message& message) {
  Post* post = local().first;
  while (post && post->number != to)
    post = post->next;
  if (!post || post->id.empty()) return;
  if (message.kind == rpc::Kind::notification) return relay(message, *post);
  if (!post->resumable) return;
  post->settle(std::move(message));
  post->interrupt();
}

// A log message without an address is for the only call there is, or for nobody: never a guess.
void HttpLink::deliver_log(rpc::Message message) {
  if (calls_ != 1 || stopping_) return;
  auto boxed = std::make_shared<const rpc::Message>(std::move(message));
  for (runtime::Shard* shard : context_.environment.shards) {
    if (shard->is_current()) {
      deliver_log_here(*boxed);
    } else {
      shard->post([this, boxed] { deliver_log_here(*boxed); });
    }
  }
}

void HttpLink::deliver_log_here(const rpc::Message& message) {
  if (calls_ != 1) return;
  for (Post* post = local().first; post; post = post->next) {
    if (post->relay) return relay(message, *post);
  }
}

}  // namespace mcpx::upstream
