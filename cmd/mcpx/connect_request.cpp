// One request through the bridge: attempts until there is an answer, and what is said when there is
// none.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "client.hpp"
#include "connect_bridge.hpp"
#include "connect_pending.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::cli {
namespace {

// A request whose answer broke off this often is not sent again, whatever it is.
constexpr int kMostRepeats = 5;

bool is_event_stream(const http1::ResponseHead& head) {
  const auto type = head.fields.find("Content-Type");
  constexpr std::string_view kStream = "text/event-stream";
  return type && http1::equals_ignoring_case(type->substr(0, kStream.size()), kStream);
}

// What the front door of mcpxd says: {"error":{"code","message","remedy"}}.
Error refusal_in(std::string_view body) {
  const PaddedBuffer text(body);
  if (json::validate(text.view(), json::Limits()).has_error()) return Error();
  const auto error = json::find(text.view(), "error");
  if (!error) return Error();
  return Error(json::find_string(*error, "code").value_or(""),
               "mcpxd refused: " + json::find_string(*error, "message").value_or(""),
               json::find_string(*error, "remedy").value_or(""));
}

}  // namespace

Task<void> Bridge::request(PendingPtr pending) {
  co_await serve(*pending);
  if (!pending->settled && !pending->withdrawn) {
    const Error error("connect.stopped", "the request was not answered: " + stop_reason_,
                      "send it again");
    answer_error(*pending, mcp::kRequestCancelled, error);
  }
  settle(*pending, std::nullopt);  // a withdrawn one must not keep its batch waiting
  std::erase(pending_, pending);
  if (pending_.empty()) drain_timer_.cancel();
}

Task<void> Bridge::serve(Pending& pending) {
  std::optional<TimePoint> away_until;
  Milliseconds pause = options_.first_pause;
  int broken = 0, lost = 0;
  while (!pending.cancel.cancelled() && !pending.withdrawn && !stopping_) {
    const unsigned generation = session_.generation;
    const Outcome outcome = co_await attempt(pending);
    if (outcome == Outcome::answered || outcome == Outcome::stopped) co_return;
    if (outcome == Outcome::again) continue;
    if (outcome == Outcome::session_lost) {
      const bool open = co_await reopen(generation);
      if (open && ++lost <= 2) continue;
      if (!pending.withdrawn) give_up(pending, outcome);
      co_return;
    }
    if (pending.withdrawn) co_return;
    if (outcome == Outcome::broken &&
        (!safe_to_repeat(pending.message.method) || ++broken > kMostRepeats)) {
      give_up(pending, outcome);
      co_return;
    }
    if (!away_until) away_until = Clock::now() + options_.wait;
    if (Clock::now() + pause > *away_until) {
      give_up(pending, outcome);
      co_return;
    }
    if (options_.unreachable && outcome == Outcome::unreachable) options_.unreachable();
    co_await pending.timer.sleep_for(pause);
    pause = std::min(pause * 2, options_.longest_pause);
  }
}

Task<Bridge::Outcome> Bridge::attempt(Pending& pending) {
  HeaderList headers = headers_for(pending.message, session_);
  add_mirrored(pending, headers);
  const bool in_session =
      !pending.modern && !session_.id.empty() && pending.message.method != "initialize";
  const Reply reply =
      co_await exchange("POST", headers, pending.message.text.view(), pending.id, pending.cancel);
  co_return co_await conclude(pending, reply, in_session);
}

Task<Bridge::Outcome> Bridge::conclude(Pending& pending, const Reply& reply, bool in_session) {
  switch (reply.kind) {
    case Reply::Kind::dial_failed:
      co_return Outcome::unreachable;
    case Reply::Kind::cancelled:
      co_return Outcome::stopped;
    case Reply::Kind::broken:
      co_return Outcome::broken;
    case Reply::Kind::answer:
    case Reply::Kind::ended:
      break;
  }
  if (reply.status == 404 && in_session) co_return Outcome::session_lost;
  if (reply.kind == Reply::Kind::answer && misses_headers(pending, reply)) {
    pending.mirrored = true;
    co_await learn_mirrored(pending);
    co_return Outcome::again;
  }
  if (reply.kind == Reply::Kind::answer) {
    opened(pending, reply);
    settle(pending, reply.incoming.line);
    co_return Outcome::answered;
  }
  if (pending.withdrawn) co_return Outcome::stopped;
  // A daemon that is full or on its way down did nothing with the request.
  if (reply.status == 503 || reply.status == 429) co_return Outcome::unreachable;
  Error error("connect.no_answer",
              fmt::format("mcpxd at {} answered HTTP {} and no JSON-RPC message", options_.url,
                          reply.status),
              "is it mcpxd that listens there, and is the endpoint right?");
  if (!reply.refusal.code.empty()) error = reply.refusal;
  answer_error(pending, mcp::kUpstreamFailure, error);
  co_return Outcome::answered;
}

Task<Bridge::Reply> Bridge::exchange(std::string_view method, const HeaderList& headers,
                                     std::string_view body, json::Raw id,
                                     runtime::CancelSource& cancel) {
  std::vector<http1::Field> fields;
  for (const auto& [name, value] : headers) {
    fields.emplace_back(name, value);
  }
  const std::array<std::string_view, 1> parts = {body};
  http::Request request;
  request.method = method;
  request.target = options_.target;
  request.fields = fields;
  request.body = parts;
  request.cancel = &cancel;
  Reply reply;
  auto response = co_await transport_.send(request);
  if (!response) {
    const std::string& code = response.error().code;
    reply.kind = code == "http.dial"        ? Reply::Kind::dial_failed
                 : code == "http.cancelled" ? Reply::Kind::cancelled
                                            : Reply::Kind::broken;
    reply.cause = response.error().message;
    co_return reply;
  }
  const http1::ResponseHead& head = (*response)->head();
  reply.status = head.status;
  reply.session_id = std::string(head.fields.find("Mcp-Session-Id").value_or(""));
  co_await read_reply(**response, id, reply);
  if (reply.kind == Reply::Kind::broken && cancel.cancelled()) reply.kind = Reply::Kind::cancelled;
  co_return reply;
}

// Everything that is no answer to `id` goes to the client as it comes.
Task<void> Bridge::read_reply(http::Response& response, json::Raw id, Reply& reply) {
  if (!is_event_stream(response.head())) {
    const auto body = co_await response.body();
    reply.kind = body ? Reply::Kind::ended : Reply::Kind::broken;
    if (!body) {
      reply.cause = body.error().message;
      co_return;
    }
    reply.incoming = read_incoming(body->view(), id);
    if (reply.incoming.kind == Incoming::Kind::answer) reply.kind = Reply::Kind::answer;
    if (reply.status >= 400) reply.refusal = refusal_in(body->view());
    co_return;
  }
  while (true) {
    const auto event = co_await response.next_event(kNever);
    if (!event || !*event) {
      // A stream that ends without the answer broke off, however politely.
      reply.kind = Reply::Kind::broken;
      reply.cause = event ? "the stream ended without the answer" : event.error().message;
      co_return;
    }
    if ((*event)->data.empty()) continue;
    reply.incoming = read_incoming((*event)->data, id);
    if (reply.incoming.kind == Incoming::Kind::answer) {
      reply.kind = Reply::Kind::answer;
      co_return;
    }
    if (reply.incoming.kind == Incoming::Kind::other_message) {
      output_.write_line(reply.incoming.line);
    }
  }
}

void Bridge::give_up(Pending& pending, Outcome outcome) {
  const std::string seconds =
      fmt::format("{} s", std::chrono::duration_cast<std::chrono::seconds>(options_.wait).count());
  if (outcome == Outcome::unreachable) {
    const Error error("connect.unreachable",
                      fmt::format("mcpxd at {} did not answer for {}", options_.url, seconds),
                      unreachable_remedy());
    return answer_error(pending, mcp::kUpstreamFailure, error);
  }
  if (outcome == Outcome::session_lost) {
    const Error error("connect.session_lost",
                      "mcpxd forgot the session, and opening it again failed",
                      "restart the client's connection");
    return answer_error(pending, mcp::kUpstreamFailure, error);
  }
  const bool call = !safe_to_repeat(pending.message.method);
  const Error error(
      "connect.broken",
      call ? "the connection to mcpxd broke after the call was sent, so it may or may not have run"
           : "the connection to mcpxd broke again and again before the answer was complete",
      call ? "check its effect before calling again; mcpx does not repeat calls by itself"
           : "see the log of mcpxd");
  answer_error(pending, mcp::kUpstreamFailure, error);
}

void Bridge::opened(Pending& pending, const Reply& reply) {
  if (pending.message.method != "initialize" || !reply.incoming.is_result) return;
  const auto result = json::find(reply.incoming.line, "result");
  session_.id = reply.session_id;
  session_.version =
      (result ? json::find_string(*result, "protocolVersion") : std::nullopt).value_or("");
  ++session_.generation;
  initialize_ = std::string(pending.message.text.view());
  last_event_id_.clear();
  if (stream_) stream_->close();  // it belonged to the session before
}

}  // namespace mcpx::cli
