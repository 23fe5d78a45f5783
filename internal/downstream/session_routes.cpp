#include "downstream/session_routes.hpp"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "downstream/answer.hpp"
#include "downstream/fields.hpp"
#include "downstream/resume.hpp"
#include "downstream/session_stream.hpp"
#include "rpc/message.hpp"

namespace mcpx::downstream {
namespace {

// What the official SDKs answer for a session they do not know; clients match on it.
constexpr int kSessionNotFound = -32001;

bool says_modern(const http1::Fields& fields) {
  const auto version = field(fields, kVersionField);
  const auto revision = version ? mcp::parse_revision(*version) : std::nullopt;
  return revision && mcp::era_of(*revision) == mcp::Era::modern;
}

Task<void> refuse(http::Exchange& exchange, const Refusal& refusal) {
  co_await send_error(exchange, refusal.status, json::Raw(), refusal.code, refusal.message,
                      refusal.data);
}

}  // namespace

boost::system::result<SessionPtr, Refusal> session_of(const Core& core,
                                                      const http::Exchange& exchange,
                                                      std::string_view endpoint) {
  const http1::Fields& fields = exchange.head().fields;
  const auto version = field(fields, kVersionField);
  if (version && !mcp::parse_revision(*version)) {
    return Refusal(400, rpc::kInvalidRequest,
                   fmt::format("Bad Request: unsupported {} '{}'", kVersionField, *version));
  }
  const auto id = field(fields, kSessionField);
  if (!id) {
    return Refusal(400, rpc::kInvalidRequest,
                   fmt::format("Bad Request: the {} header is missing; send 'initialize' first",
                               kSessionField));
  }
  SessionPtr session = core.sessions.find(*id);
  if (!session || session->endpoint != endpoint || session->principal != exchange.principal()) {
    return Refusal(404, kSessionNotFound, "Session not found; send 'initialize' again");
  }
  return session;
}

Task<void> refuse_method(http::Exchange& exchange, std::string_view allowed) {
  const std::array<http1::Field, 1> fields = {http1::Field{"Allow", allowed}};
  std::string body;
  rpc::append_error(
      body, json::Raw(),
      rpc::error_object(rpc::kInvalidRequest, fmt::format("Method not allowed; use {}", allowed)));
  co_await send_body(exchange, 405, kJson, body, fields);
}

Task<void> serve_get(Core& core, http::Exchange& exchange, std::string_view endpoint) {
  const http1::Fields& fields = exchange.head().fields;
  // 2026-07-28 has no GET stream, and a browser that strays here wants none.
  const bool wants_stream = accepts(fields).events && fields.find("Accept").has_value();
  if (says_modern(fields)) co_return co_await refuse_method(exchange, "POST");
  if (!wants_stream && !fields.find(kSessionField)) {
    co_return co_await refuse_method(exchange, "POST, GET, DELETE");
  }
  if (!wants_stream) {
    const Refusal refusal(406, rpc::kInvalidRequest,
                          "Not Acceptable: the client must accept text/event-stream");
    co_return co_await refuse(exchange, refusal);
  }
  auto session = session_of(core, exchange, endpoint);
  if (session.has_error()) co_return co_await refuse(exchange, session.error());
  if (const auto last = field(fields, kLastEventField)) {
    co_return co_await serve_rest(core, exchange, *session, std::string(*last));
  }
  co_await serve_session_stream(core, exchange, *session);
}

Task<void> serve_delete(Core& core, http::Exchange& exchange, std::string_view endpoint) {
  const http1::Fields& fields = exchange.head().fields;
  if (says_modern(fields)) co_return co_await refuse_method(exchange, "POST");
  auto session = session_of(core, exchange, endpoint);
  if (session.has_error()) co_return co_await refuse(exchange, session.error());
  co_await core.sessions.end(*session);
  co_await send_empty(exchange, 200);
}

}  // namespace mcpx::downstream
