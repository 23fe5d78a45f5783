#include "call/call.hpp"

#include <fmt/format.h>

#include "rpc/message.hpp"

namespace mcpx::call {

Outcome Outcome::of_result(std::string_view result, mcp::Revision from) {
  Outcome outcome;
  outcome.text = PaddedBuffer(result);
  outcome.result = outcome.text.view();
  outcome.from = from;
  return outcome;
}

Outcome Outcome::of_error(std::string_view error_object, mcp::Revision from) {
  Outcome outcome;
  outcome.text = PaddedBuffer(error_object);
  outcome.error = outcome.text.view();
  outcome.from = from;
  return outcome;
}

Outcome Outcome::of_failure(int code, const Error& error, std::string_view server) {
  json::ObjectBuilder data;
  data.string("code", error.code);
  if (!server.empty()) data.string("server", server);
  if (!error.remedy.empty()) {
    data.string("remedy", error.remedy);
  } else if (!server.empty()) {
    data.string("remedy", fmt::format("see `mcpx servers {}` and the server's own log", server));
  }
  return of_error(rpc::error_object(code, error.text(), data.take()), mcp::kLatestModern);
}

}  // namespace mcpx::call
