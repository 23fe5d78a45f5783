// One POST of an HttpLink and its reply: a body, or a stream read to the answer.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.hpp"
#include "upstream/hop.hpp"
#include "upstream/http_post.hpp"
#include "upstream/http_reply.hpp"
#include "upstream/questions.hpp"

namespace mcpx::upstream {
namespace {

// Answers to the server and notices of ours: nobody waits for what becomes of them.
constexpr Milliseconds kQuietTimeout{5'000};
// Between the answer and the end of its stream.
constexpr Milliseconds kDrain{1'000};
// Answers on their way at once, per shard; a server that asks for more does not get one.
constexpr std::size_t kAnswersAtMost = 64;
constexpr std::size_t kAnswerBytes = 256 * 1024;
// Of a body that is no answer; enough for what is shown of it.
constexpr std::size_t kBodyKept = 16 * 1024;

bool is_response(const rpc::Message& message) {
  return message.kind == rpc::Kind::result || message.kind == rpc::Kind::error;
}

// An error that could not say whose it is can only be that of the one request it answers.
bool has_no_id(const rpc::Message& message) {
  return message.kind == rpc::Kind::error && (message.id.empty() || message.id == "null");
}

bool answers(const rpc::Message& message, const std::string& id, rpc::Number number) {
  if (!is_response(message)) return false;
  return message.id == id || rpc::id_number(message.id) == number || has_no_id(message);
}

// A refusal by whoever stands before the MCP server, even where it is spelled as JSON-RPC.
bool is_gatekeeper(unsigned status) {
  return status == 401 || status == 403 || status == 407 || status == 429 || status >= 500;
}

}  // namespace

// --- Sending

Task<Reply> HttpLink::carry(Post& post) {
  return endpoint_.empty() ? exchange(post) : exchange_by_stream(post);
}

Task<Reply> HttpLink::exchange(Post& post) {
  const InFlight in_flight(local(), post);
  std::vector<http1::Field> fields;
  fields.reserve(8 + context_.config.headers.size());
  add_fields(fields, post);
  const std::string_view whole[] = {post.body};
  const std::string_view enveloped[] = {post.envelope, post.body, "}"};
  http::Request request;
  request.target = endpoint_.empty() ? url_.target : endpoint_;
  request.fields = fields;
  request.body = whole;
  if (!post.envelope.empty()) request.body = enveloped;
  request.deadline = post.deadline;
  request.cancel = post.cancel;
  Opened sent = co_await client().send(request);
  if (!sent && settled(post)) co_return std::move(*post.outcome);
  if (!sent) co_return translated(sent.error());
  const http1::ResponseHead& head = (*sent)->head();
  post.status = head.status;
  if (post.method == "initialize" && head.status / 100 == 2 && endpoint_.empty()) {
    Result<void> noted = note_session(head);
    if (!noted) co_return noted.error();
  }
  const bool streams = head.status / 100 == 2 && is_event_stream(head);
  if (streams && !post.id.empty()) co_return co_await read_stream(std::move(*sent), post);
  if (streams) {  // accepted; nothing that this has to wait for
    spawn("drain", drain(std::move(*sent)));
    co_return rpc::Message();
  }
  if (auto body = (*sent)->body_at_hand()) co_return judge(post, head, std::move(*body));
  Result<PaddedBuffer> body = co_await (*sent)->body();
  if (!body) co_return translated(body.error());
  co_return judge(post, head, std::move(*body));
}

// From here on, requests carry it (2025-11-25 basic/transports, "Session Management").
Result<void> HttpLink::note_session(const http1::ResponseHead& head) {
  const auto id = head.fields.find("Mcp-Session-Id");
  if (!id || id->empty()) return {};
  if (!is_session_id(*id)) {
    return Error(
        "upstream.handshake",
        fmt::format("server {} gave a session id that is not visible ASCII", context_.config.name),
        "report this to the server's author");
  }
  session_id_ = *id;
  return {};
}

// An error of the HTTP client as one of this server's.
Error HttpLink::translated(const Error& error) const {
  return redacted_error(context_.environment,
                        client_error(context_.config.name, context_.config.url, error));
}

bool HttpLink::names_session(const Post& post) const {
  return !session_id_.empty() && post.method != "initialize";
}

Reply HttpLink::expired(unsigned status) {
  lost_ = true;
  return Error(
      "upstream.session_expired",
      fmt::format("server {} no longer knows its session (HTTP {})", context_.config.name, status),
      "call again");
}

// It spoke this version when the link was opened: it is another server by now, and which version it
// speaks is for the handshake to find out.
Reply HttpLink::version_refused() {
  lost_ = true;
  return Error("upstream.session_expired",
               fmt::format("server {} no longer speaks {}", context_.config.name, version_),
               "call again");
}

// --- A body

// What a body says, for an error message. Redacted before it is cut: half a secret is one too.
std::string HttpLink::said(std::string_view body) const {
  const std::string_view kept = body.substr(0, kBodyKept);
  const auto& redactor = context_.environment.redactor;
  return redactor ? (*redactor)(kept) : std::string(kept);
}

Reply HttpLink::judge(Post& post, const http1::ResponseHead& head, PaddedBuffer body) {
  const unsigned status = head.status;
  if (post.id.empty() && status / 100 == 2) return rpc::Message();  // accepted
  std::string text;
  if (status != 200 || !body.view().starts_with('{')) text = said(body.view());
  const bool empty = body.empty();
  const json::Limits limits{context_.environment.limits.json_depth};
  std::optional<rpc::Message> answer;
  const Result<void> read = read_messages(std::move(body), limits, [&](rpc::Message& message) {
    if (!answer && answers(message, post.id, post.number)) {
      answer.emplace(std::move(message));
    } else {
      take_message(std::move(message), post);
    }
  });
  if (names_session(post) && session_is_gone(status, answer ? &*answer : nullptr, text)) {
    return expired(status);
  }
  const bool refused = answer && has_no_id(*answer) && is_gatekeeper(status);
  if (answer && !refused && !post.id.empty()) return std::move(*answer);
  if (status != 200) {
    return redacted_error(context_.environment,
                          status_error(context_.config.name, post.method, head, text));
  }
  const auto type = head.fields.find("Content-Type").value_or("no content type");
  const std::string why = read ? "it has another id" : read.error().message;
  const std::string what =
      empty ? "an empty body"
            : fmt::format("{} that is not its JSON-RPC response: {}", excerpt(said(type)),
                          text.empty() ? why : excerpt(text));
  return redacted_error(
      context_.environment,
      Error("upstream.bad_frame",
            fmt::format("server {} answered {} with {}", context_.config.name, post.method, what),
            "report this to the server's author"));
}

// --- A stream

Task<Reply> HttpLink::read_stream(std::unique_ptr<http::Response> response, Post& post) {
  while (true) {
    post.reading = response.get();
    const bool done = co_await read_events(*response, post);
    post.reading = nullptr;
    if (done) break;
    response.reset();
    response = co_await reopen(post);
    if (!response) break;
  }
  const bool answered = post.outcome->has_value();
  if (answered && names_session(post) && session_is_gone(post.status, &**post.outcome, "")) {
    co_return expired(post.status);
  }
  if (response && answered) {
    response->forget_cancel();  // the call is over
    spawn("drain", drain(std::move(response)));
  }
  co_return std::move(*post.outcome);
}

// A stream that has given its answer is about to end, and its connection can serve again.
Task<void> HttpLink::drain(std::unique_ptr<http::Response> response) {
  const TimePoint until = Clock::now() + kDrain;
  while (Clock::now() < until) {
    Result<std::optional<http1::SseEvent>> event = co_await response->next_event(until);
    if (!event || !*event) co_return;
  }
}

// True when post.outcome is set, false when the stream ended or broke before.
Task<bool> HttpLink::read_events(http::Response& response, Post& post) {
  const json::Limits limits{context_.environment.limits.json_depth};
  while (!settled(post)) {
    Result<std::optional<http1::SseEvent>> event = co_await response.next_event(post.deadline);
    if (settled(post)) break;
    if (!event) {
      const Error& why = event.error();
      // Progress that came another way has moved it on meanwhile.
      if (why.code == "http.timeout" && Clock::now() < post.deadline) continue;
      const bool broke = why.code == "http.closed";
      if (!broke) post.settle(translated(why));
      if (broke) post.broken = Error("upstream.disconnected", why.message);
      co_return !broke;
    }
    if (!*event) {
      post.broken = Error("upstream.disconnected", "it ended");
      co_return false;
    }
    note_id(post.last_event_id, (*event)->id);
    if ((*event)->retry_ms) post.retry = Milliseconds(*(*event)->retry_ms);
    post.patience = Milliseconds(0);
    if ((*event)->data.empty()) continue;  // priming events, retry hints
    const Result<void> read =
        read_messages(PaddedBuffer((*event)->data), limits,
                      [&](rpc::Message& message) { take_message(std::move(message), post); });
    if (!read) junk(read.error().message);
  }
  co_return true;
}

void HttpLink::junk(std::string_view what) {
  if (std::exchange(local().warned_junk, true)) return;
  log::warning(
      "server {} sends events that are not JSON-RPC ({}); they are skipped, and this is said "
      "once",
      context_.config.name, what);
}

void HttpLink::take_message(rpc::Message message, Post& post) {
  switch (message.kind) {
    case rpc::Kind::result:
    case rpc::Kind::error:
      if (!post.id.empty() && !post.outcome && answers(message, post.id, post.number)) {
        post.settle(std::move(message));
      } else {
        log::debug("server {}: an answer nobody waits for was ignored", context_.config.name);
      }
      return;
    case rpc::Kind::notification:
      if (post.listens) return hear_subscribed(message, post);
      return relay(message, post);
    case rpc::Kind::request:
      // A modern server has no requests, and takes no responses (2026-07-28
      // basic/transports/streamable-http, "Receiving Messages").
      if (is_legacy() && !ask(message, post)) answer_request(message);
      return;
  }
}

// Some servers end a subscription with this notification instead of a result.
void HttpLink::hear_subscribed(const rpc::Message& message, Post& post) {
  if (listener_.take(message, post.number)) return;
  if (tell_extension(message)) return;
  if (Listener::cancelled_by(message) == post.number) {
    post.settle(Error("upstream.disconnected", "the server ended the subscription"));
  }
}

void HttpLink::relay(const rpc::Message& message, Post& post) {
  if (message.method == "notifications/progress") {
    const auto token = json::find(message.params, "progressToken");
    const bool own = token && rpc::id_number(*token) == post.number;
    if (own && post.relay && post.relay->progress(message.params, Clock::now())) {
      post.deadline = std::max(post.deadline, post.relay->deadline());
    }
  } else if (message.method == "notifications/message") {
    if (post.relay) post.relay->log(message.params);
  } else if (message.method == "notifications/cancelled") {
    withdraw_question(message);
  } else if (post.relay && is_extension(message)) {
    post.relay->pass(extension_message(message));  // what comes on a call's stream is of that call
  } else {
    take_change(message);
  }
}

// --- What is sent without waiting

void HttpLink::answer_request(const rpc::Message& message) {
  std::string body;
  append_answer(body, message, context_.config.roots);
  refuse_request(std::move(body), message.method);
}

void HttpLink::refuse_request(std::string body, std::string_view method) {
  Local& here = local();
  if (here.answers >= kAnswersAtMost || here.answer_bytes + body.size() > kAnswerBytes) {
    if (std::exchange(here.warned_unanswered, true)) return;
    return log::warning(
        "server {} asks faster than it takes the answers; not all get one, and this "
        "is said once",
        context_.config.name);
  }
  const std::size_t bytes = body.size();
  ++here.answers;
  here.answer_bytes += bytes;
  if (spawn("answer", send_answer(std::move(body), std::string(method)))) return;
  --here.answers;
  here.answer_bytes -= bytes;
}

Task<void> HttpLink::send_answer(std::string body, std::string method) {
  Local& here = local();
  const std::size_t bytes = body.size();
  co_await send_quietly(std::move(body), std::move(method));
  --here.answers;
  here.answer_bytes -= bytes;
}

// A disconnect is no cancellation to a legacy server (2025-11-25 basic/transports, "Sending
// Messages to the Server"); to a modern one it is the only one.
void HttpLink::cancel_on_wire(const Post& post, std::string_view reason) {
  if (!is_legacy()) return;
  json::ObjectBuilder params;
  params.integer("requestId", post.number);
  if (!reason.empty()) params.string("reason", reason);
  std::string body;
  rpc::append_notification(body, "notifications/cancelled", params.take());
  spawn("cancel", send_quietly(std::move(body), "notifications/cancelled"));
}

Task<void> HttpLink::send_quietly(std::string body, std::string method) {
  Post post;
  post.method = method;
  post.body = std::move(body);
  post.deadline = Clock::now() + kQuietTimeout;
  Reply sent = co_await exchange(post);
  if (!sent) log::debug("server {}: {}", context_.config.name, sent.error().message);
}

}  // namespace mcpx::upstream
