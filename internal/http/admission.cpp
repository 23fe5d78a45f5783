// The part of Connection that decides who is served: the checks of a request's head, what it is
// counted as, and who makes room when all connections are taken.
#include <fmt/core.h>

#include <utility>
#include <vector>

#include "http/answer.hpp"
#include "http/connection.hpp"
#include "http/front_door.hpp"

namespace mcpx::http {

// ---- who makes room ----------------------------------------------------------------------------

void WaitingList::push_back(Connection& connection) {
  connection.line_ = this;
  connection.waits_before_ = last_;
  connection.waits_after_ = nullptr;
  (last_ ? last_->waits_after_ : first_) = &connection;
  last_ = &connection;
}

void WaitingList::remove(Connection& connection) {
  Connection* const before = connection.waits_before_;
  Connection* const after = connection.waits_after_;
  (before ? before->waits_after_ : first_) = after;
  (after ? after->waits_before_ : last_) = before;
  connection.line_ = nullptr;
}

bool ServerSide::make_room() {
  if (!handshakes.empty()) {
    Handshake* const oldest = handshakes.front();
    handshakes.pop_front();
    oldest->counted = false;
    --shared.open;
    oldest->cancel.cancel("another client needs the connection");
    return true;
  }
  Connection* const oldest = fresh.front() ? fresh.front() : used.front();
  if (!oldest) return false;
  oldest->counted = false;
  --shared.open;
  oldest->evict();
  return true;
}

void Connection::wait_in_line() {
  leave_line();
  (served_ ? side_.used : side_.fresh).push_back(*this);
}

void Connection::leave_line() {
  if (line_) line_->remove(*this);
}

// ---- who comes in ------------------------------------------------------------------------------

// As soon as the head is there, so that a stranger's body is not even read, and no 100 sent for it.
void Connection::admit() {
  admitted_ = true;
  if (options_ != side_.options) options_ = side_.options;
  const bool over_network = transport_ == Server::Transport::tcp;
  if (over_network) {
    auto stranger = check_front_door(head(), options().allowed_hosts, options().allowed_origins);
    if (stranger) {
      refused_.emplace(403, std::move(*stranger));
      return;
    }
    cors_origin_ = listed_origin(head(), options().allowed_origins);
    // It asks for a request of the page, and carries no token itself (Fetch standard, section 4.8).
    preflight_ = !cors_origin_.empty() && head().method == "OPTIONS" &&
                 head().fields.find("access-control-request-method");
    if (preflight_) return;
  }
  handler_ = side_.shared.route(head().path());
  if (!handler_) {
    refused_.emplace(404, Error("http.not_found", "nothing is served at this path",
                                "MCP is at /mcp, the administration at /v1"));
    return;
  }
  const Access& access = *options().access;
  const auto known =
      access.admit(head(), over_network ? Access::Need::token : Access::Need::nothing);
  if (known.has_error()) {
    refused_ = known.error();
    return;
  }
  if (access.counts_turns()) refused_ = access.take_turn(**known, Clock::now());
  if (!refused_) refused_ = access.enter(**known);
  if (!refused_) principal_ = *known;
}

void Connection::turn_away() {
  if (admission_ == Admission::plain) {
    refused_.emplace(400, Error("http.tls_required", "TLS is spoken at this address",
                                "write https:// in the URL of the client"));
  } else {
    refused_.emplace(503, Error("http.too_many_connections",
                                fmt::format("{} connections are open already, none of them idle",
                                            options().connections),
                                "close some, or raise limits.connections"));
    refused_->retry_after_seconds = 1;
  }
  become_busy();
}

std::string_view Connection::principal() const {
  return principal_ ? Access::name(*principal_) : std::string_view();
}

// Bodies that come in pieces are what fills the memory; one that came with its head does not.
void Connection::count_body(std::size_t bytes) {
  body_counted_ += bytes;
  const std::size_t all = side_.shared.body_bytes.fetch_add(bytes) + bytes;
  if (all <= options().bodies_bytes || refused_) return;
  refused_.emplace(503,
                   Error("http.busy",
                         fmt::format("the bodies of requests in progress hold {} bytes already",
                                     options().bodies_bytes),
                         "send it again later, or raise limits.bodies"));
  refused_->retry_after_seconds = 1;
}

void Connection::forget_request() {
  if (principal_) options().access->leave(*principal_);
  if (body_counted_ != 0) side_.shared.body_bytes -= body_counted_;
  principal_ = nullptr;
  cors_origin_ = {};
  preflight_ = false;
  handler_ = nullptr;
  refused_.reset();
  body_counted_ = 0;
  admitted_ = false;
}

std::span<const http1::Field> Connection::with_cors(std::span<const http1::Field> extra) {
  if (cors_origin_.empty()) return extra;
  cors_fields_.assign(extra.begin(), extra.end());
  cors_fields_.emplace_back("Access-Control-Allow-Origin", cors_origin_);
  cors_fields_.emplace_back("Access-Control-Expose-Headers",
                            "Mcp-Session-Id, WWW-Authenticate, Retry-After");
  cors_fields_.emplace_back("Vary", "Origin");
  return cors_fields_;
}

Task<void> Connection::answer_preflight() {
  std::vector<http1::Field> extra;
  extra.emplace_back("Access-Control-Allow-Methods", "GET, POST, DELETE");
  if (const auto wanted = head().fields.find("access-control-request-headers")) {
    extra.emplace_back("Access-Control-Allow-Headers", *wanted);
  }
  // A page from elsewhere that asks for this machine (Private Network Access).
  if (head().fields.find("access-control-request-private-network")) {
    extra.emplace_back("Access-Control-Allow-Private-Network", "true");
  }
  extra.emplace_back("Access-Control-Max-Age", "600");
  Result<void> sent = co_await respond(204, "", std::span<const std::string_view>(), extra);
  static_cast<void>(sent);  // respond() has noted it
}

Task<void> Connection::refuse(const Refused& refused) {
  const std::string body = error_body(refused.error);
  const std::string_view parts[] = {body};
  const std::string wait = std::to_string(refused.retry_after_seconds);
  std::vector<http1::Field> extra;
  if (!refused.challenge.empty()) extra.emplace_back("WWW-Authenticate", refused.challenge);
  if (refused.retry_after_seconds != 0) extra.emplace_back("Retry-After", wait);
  Result<void> sent = co_await respond(refused.status, "application/json", parts, extra);
  static_cast<void>(sent);  // respond() has noted it
}

}  // namespace mcpx::http
