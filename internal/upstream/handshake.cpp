#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "base/redact.hpp"

#include "upstream/link.hpp"

namespace mcpx::upstream {
namespace {

using mcp::Handshake;

// Silence, or something that is not even JSON-RPC, says "not modern" as well as an error does; a
// server that cannot be reached says nothing about its era.
bool no_modern_answer(const Error& error) {
  return error.code == "upstream.timeout" || error.code == "upstream.bad_frame";
}

// What came of the request as the handshake's event, or nothing: then the error ends it. Spans stay
// inside `answer`.
std::optional<Handshake::Event> event_of(const HandshakeReply& answer, bool is_probe,
                                         TimePoint deadline) {
  const Reply& reply = answer.reply;
  if (reply && reply->kind == rpc::Kind::result) return Handshake::GotResult{reply->result};
  if (reply) return Handshake::GotError{reply->error, answer.http_status};
  const Error& error = reply.error();
  if (answer.http_status != 0) return Handshake::Refused{answer.http_status, error};
  if (is_probe && no_modern_answer(error) && Clock::now() < deadline) return Handshake::TimedOut{};
  return std::nullopt;
}

}  // namespace

Error redacted_error(const Environment& environment, Error error) {
  if (environment.redactor) {
    error.message = (*environment.redactor)(error.message);
    error.remedy = (*environment.redactor)(error.remedy);
  }
  return error;
}

Task<HandshakeReply> Link::ask(std::string_view method, std::string params, TimePoint deadline) {
  Reply reply = co_await request(method, std::move(params), deadline, OnGiveUp::forget);
  co_return HandshakeReply(std::move(reply));
}

Task<Result<void>> Link::open_event_stream(TimePoint) {
  co_return Error("upstream.handshake", "this transport has no event stream of its own");
}

Task<Result<mcp::ServerFacts>> shake_hands(Link& link, Handshake::Options options,
                                           Milliseconds probe_timeout, TimePoint deadline) {
  options.over_http = link.transport() != Transport::stdio;
  options.only_event_stream = link.transport() == Transport::event_stream;
  Handshake handshake(std::move(options));
  Handshake::Action action = handshake.step(Handshake::Start());
  while (true) {
    if (auto* done = std::get_if<Handshake::Done>(&action)) co_return std::move(done->facts);
    if (auto* failed = std::get_if<Handshake::Failed>(&action)) co_return std::move(failed->error);
    if (std::holds_alternative<Handshake::OpenEventStream>(action)) {
      Result<void> opened = co_await link.open_event_stream(deadline);
      action = opened ? handshake.step(Handshake::StreamOpened())
                      : handshake.step(Handshake::StreamRefused{opened.error()});
      continue;
    }
    if (auto* notification = std::get_if<Handshake::SendNotification>(&action)) {
      std::string no_params;
      Result<void> sent = co_await link.notify(notification->method, std::move(no_params));
      if (!sent) co_return sent.error();
      action = handshake.step(Handshake::Sent());
      continue;
    }
    auto& wanted = std::get<Handshake::SendRequest>(action);
    const bool is_probe = wanted.is_probe;
    const TimePoint until = is_probe ? std::min(deadline, Clock::now() + probe_timeout) : deadline;
    HandshakeReply answer = co_await link.ask(wanted.method, std::move(wanted.params), until);
    const auto event = event_of(answer, is_probe, deadline);
    if (!event) co_return answer.reply.error();
    action = handshake.step(*event);
  }
}

}  // namespace mcpx::upstream
