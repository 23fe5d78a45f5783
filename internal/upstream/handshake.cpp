#include <algorithm>
#include <utility>
#include <variant>

#include "base/redact.hpp"

#include "upstream/link.hpp"

namespace mcpx::upstream {
namespace {

using mcp::Handshake;

// The reply as the handshake's event; spans stay inside `reply`.
Handshake::Event event_of(const rpc::Message& reply) {
  if (reply.kind == rpc::Kind::result) return Handshake::GotResult{reply.result};
  return Handshake::GotError{reply.error};
}

// Silence, or something that is not even JSON-RPC (a bare HTTP 400), says "not modern" as well as
// an error does; a server that cannot be reached says nothing about its era.
bool no_modern_answer(const Error& error) {
  return error.code == "upstream.timeout" || error.code == "upstream.http_status" ||
         error.code == "upstream.bad_frame";
}

}  // namespace

Error redacted_error(const Environment& environment, Error error) {
  if (environment.redactor) {
    error.message = (*environment.redactor)(error.message);
    error.remedy = (*environment.redactor)(error.remedy);
  }
  return error;
}

Task<Result<mcp::ServerFacts>> shake_hands(Link& link, Handshake::Options options,
                                           Milliseconds probe_timeout, TimePoint deadline) {
  Handshake handshake(std::move(options));
  Handshake::Action action = handshake.step(Handshake::Start{});
  while (true) {
    if (auto* done = std::get_if<Handshake::Done>(&action)) co_return std::move(done->facts);
    if (auto* failed = std::get_if<Handshake::Failed>(&action)) co_return std::move(failed->error);
    if (auto* notification = std::get_if<Handshake::SendNotification>(&action)) {
      Result<void> sent = co_await link.notify(notification->method);
      if (!sent) co_return sent.error();
      action = handshake.step(Handshake::Sent{});
      continue;
    }
    auto& wanted = std::get<Handshake::SendRequest>(action);
    const bool is_probe = wanted.is_probe;
    const TimePoint until = is_probe ? std::min(deadline, Clock::now() + probe_timeout) : deadline;
    Result<rpc::Message> reply =
        co_await link.request(wanted.method, std::move(wanted.params), until, OnGiveUp::forget);
    if (reply) {
      action = handshake.step(event_of(*reply));
    } else if (is_probe && no_modern_answer(reply.error()) && Clock::now() < deadline) {
      action = handshake.step(Handshake::TimedOut{});
    } else {
      co_return reply.error();
    }
  }
}

}  // namespace mcpx::upstream
