// What a route of /v1 answers, and what routes read of a request. Internal to the room. Thread: the
// exchange's shard.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/redact.hpp"
#include "base/result.hpp"
#include "call/call.hpp"
#include "http/server.hpp"

namespace mcpx::admin {

struct Reply {
  unsigned status = 200;
  std::string body;
  std::string allow;  // of a 405

  Reply(unsigned status_, std::string body_) : status(status_), body(std::move(body_)) {}
  static Reply error(unsigned status, const Error& error);
  static Reply unknown_server(const std::string& name);
  static Reply wrong_method(std::string allowed);
  // {"result"}, or how the call failed.
  static Reply of(const call::Outcome& outcome, const Redactor& redactor);
};

Task<void> respond(http::Exchange& exchange, const Reply& reply);

// The decoded value of one query parameter; nullopt when absent.
std::optional<std::string> parameter(std::string_view query, std::string_view name);

// The body as a JSON object, {} when there is none; 415 or 400 otherwise. A page of another origin
// can send any type but JSON without being asked first by its browser.
struct Body {
  Body() = default;
  std::string object;
  std::optional<Reply> refusal;
};
Body body_of(http::Exchange& exchange, std::size_t depth, std::string_view example);

}  // namespace mcpx::admin
