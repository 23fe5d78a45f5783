#include "admin/reply.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "admin/render.hpp"
#include "json/json.hpp"

namespace mcpx::admin {

Reply Reply::error(unsigned status, const Error& error) {
  json::ObjectBuilder body;
  return {status, body.raw("error", error_object(error, Redactor())).take()};
}

Reply Reply::unknown_server(const std::string& name) {
  return error(404, Error("server.unknown", fmt::format("no server '{}'", name),
                          "GET /v1/servers lists them"));
}

Reply Reply::wrong_method(std::string allowed) {
  Reply reply = error(405, Error("admin.method", "this route answers " + allowed + " only"));
  reply.allow = std::move(allowed);
  return reply;
}

Reply Reply::of(const call::Outcome& outcome, const Redactor& redactor) {
  if (!outcome.ok()) {
    Failure failure = failure_of(outcome.error, redactor);
    return {failure.status, std::move(failure.body)};
  }
  json::ObjectBuilder reply;
  return {200, reply.raw("result", redact_json(outcome.result, redactor)).take()};
}

Task<void> respond(http::Exchange& exchange, const Reply& reply) {
  std::vector<http1::Field> fields;
  fields.emplace_back("Cache-Control", "no-store");
  if (!reply.allow.empty()) fields.emplace_back("Allow", reply.allow);
  const std::array<std::string_view, 1> parts = {reply.body};
  // Failing means that the client is gone: nobody is left to tell.
  co_await exchange.respond(reply.status, "application/json", parts, fields);
}

std::optional<std::string> parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) == name) {
      return percent_decode(pair.substr(std::min(equals + 1, pair.size())));
    }
  }
  return std::nullopt;
}

Body body_of(http::Exchange& exchange, std::size_t depth, std::string_view example) {
  Body out;
  const PaddedBuffer body = exchange.take_body();
  const auto type = exchange.head().fields.find("Content-Type");
  constexpr std::string_view kJson = "application/json";
  const bool json = type && http1::equals_ignoring_case(type->substr(0, kJson.size()), kJson);
  if (!body.empty() && !json) {
    out.refusal = Reply::error(415, Error("admin.bad_request", "the body is not application/json",
                                          "send Content-Type: application/json"));
    return out;
  }
  std::string_view text = body.view();
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.empty()) {
    out.object = "{}";
    return out;
  }
  json::Limits limits;
  limits.depth = depth;
  const auto valid = json::validate(body.view(), limits);
  if (valid.has_error()) {
    out.refusal = Reply::error(
        400, Error("admin.bad_request", "the body is not JSON: " + valid.error().message,
                   "send " + std::string(example)));
  } else if (!json::is_object(text)) {
    out.refusal = Reply::error(400, Error("admin.bad_request", "the body is not an object",
                                          "send " + std::string(example)));
  } else {
    out.object = text;
  }
  return out;
}

}  // namespace mcpx::admin
