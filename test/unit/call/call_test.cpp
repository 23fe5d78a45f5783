// Outcome: what a caller is told when mcpx has no answer of the server to pass on.
#include "call/call.hpp"

#include <catch2/catch.hpp>

#include "json/json.hpp"

namespace mcpx::call {
namespace {

TEST_CASE("a failure says code, server and what to do") {
  const Error error("upstream.timeout", "server s did not answer", "raise call_timeout");
  const Outcome outcome = Outcome::of_failure(-31010, error, "s");
  REQUIRE(json::find(outcome.error, "code") == "-31010");
  REQUIRE(json::find(outcome.error, "data", "code") == "\"upstream.timeout\"");
  REQUIRE(json::find(outcome.error, "data", "server") == "\"s\"");
  REQUIRE(json::find(outcome.error, "data", "remedy") == "\"raise call_timeout\"");
}

TEST_CASE("a failure without a remedy of its own says where to look") {
  const Error error("upstream.unreachable", "server s broke off");
  const Outcome outcome = Outcome::of_failure(-31010, error, "s");
  const auto remedy = json::find_string(json::find(outcome.error, "data").value_or(""), "remedy");
  REQUIRE(remedy.value_or("").find("mcpx servers s") != std::string::npos);
}

}  // namespace
}  // namespace mcpx::call
