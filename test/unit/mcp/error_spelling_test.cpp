#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "mcp/error_codes.hpp"
#include "mcp/spelling.hpp"
#include "rpc/message.hpp"

namespace mcpx::mcp {
namespace {

constexpr Revision kModern = Revision::r2026_07_28;

std::string spelled(const std::string& error, Revision to, Method method = Method::tools_call) {
  std::string out;
  append_error_for(out, method, error, to);
  return out;
}

std::string spelled(const std::string& error, Revision from, Revision to, Method method,
                    std::string_view uri = {}) {
  ErrorContext context;
  context.from = from;
  context.to = to;
  context.uri = uri;
  std::string out;
  append_error_for(out, method, error, context);
  return out;
}

TEST_CASE("C36: an error keeps its code, message and data, byte for byte",
          "[req:errors-receivers-no-meaning-for-legacy-subrange][req:errors-data-may]"
          "[req:errors-standard-jsonrpc-codes]") {
  const std::vector<std::string> errors = {
      R"({"code":-32050,"message":"m","data":{"x":[1.0,1e400]}})",
      R"({ "message" : "\u00e9" , "code" : -32601 , "extra" : null })",
      R"({"code":-32603,"message":""})",
      R"({"code":-32000,"message":"m","data":null})",
      R"({"code":-32001,"message":"m"})",
      R"({"code":1,"message":"m","data":"text"})",
      R"({"code":-32602,"message":"unknown tool","data":{"uri":"not a resource"}})",
  };
  for (const Revision to : kAllRevisions) {
    for (const auto& error : errors) {
      CAPTURE(text(to), error);
      REQUIRE(spelled(error, to) == error);
    }
  }
}

TEST_CASE("a missing resource has the code of the caller's era",
          "[req:resources-not-found-32002][req:resources-not-found-32602]"
          "[req:resources-client-accept-32002][req:errors-client-accept-32002-from-legacy]"
          "[req:errors-do-not-emit-32002-and-32042]") {
  const std::string legacy = R"({"code":-32002,"message":"m","data":{"uri":"x:y"}})";
  const std::string modern = R"({"code":-32602,"message":"m","data":{"uri":"x:y"}})";
  REQUIRE(spelled(legacy, kModern, Method::resources_read) == modern);
  REQUIRE(spelled(modern, kModern, Method::resources_read) == modern);
  for (const Revision to : kAllRevisions) {
    if (era_of(to) == Era::modern) continue;
    REQUIRE(spelled(modern, to, Method::resources_read) == legacy);
    REQUIRE(spelled(legacy, to, Method::resources_read) == legacy);
  }
}

TEST_CASE("invalid parameters without a URI are no missing resource") {
  const std::string error = R"({"code":-32602,"message":"uri must be a string"})";
  REQUIRE(spelled(error, kLatestLegacy, Method::resources_read) == error);
  const std::string other = R"({"code":-32602,"message":"m","data":{"uri":7}})";
  REQUIRE(spelled(other, kLatestLegacy, Method::resources_read) == other);
}

TEST_CASE("a legacy server's missing resource gains the URI that modern callers look for") {
  const std::string bare = R"({"code":-32002,"message":"m"})";
  REQUIRE(spelled(bare, kLatestLegacy, kModern, Method::resources_read, "x:y") ==
          R"({"code":-32602,"message":"m","data":{"uri":"x:y"}})");
  const std::string full = R"({"code":-32002,"message":"m","data":[1]})";
  REQUIRE(spelled(full, kLatestLegacy, kModern, Method::resources_read, "x:y") ==
          R"({"code":-32602,"message":"m","data":[1]})");
}

TEST_CASE("codes that only the modern era has become an invalid request for legacy callers") {
  for (const char* code : {"-32020", "-32021", "-32022"}) {
    CAPTURE(code);
    const std::string tail = R"(,"message":"why","data":{"requiredCapabilities":{}}})";
    const std::string error = std::string(R"({"code":)") + code + tail;
    REQUIRE(spelled(error, kLatestLegacy) == R"({"code":-32600)" + tail);
    REQUIRE(spelled(error, kModern) == error);
  }
}

TEST_CASE("-32042 reaches only callers of 2025-11-25", "[req:errors-do-not-emit-32002-and-32042]") {
  const std::string error = R"({"code":-32042,"message":"sign in","data":{"elicitations":[]}})";
  const std::string internal = R"({"code":-32603,"message":"sign in","data":{"elicitations":[]}})";
  REQUIRE(spelled(error, Revision::r2025_11_25) == error);
  for (const Revision to : {Revision::r2024_11_05, Revision::r2025_03_26, Revision::r2025_06_18,
                            Revision::r2026_07_28}) {
    CAPTURE(text(to));
    REQUIRE(spelled(error, to) == internal);
    REQUIRE(spelled(error, Revision::r2025_11_25, to, Method::tools_call) == internal);
  }
}

TEST_CASE("a code is read with the meaning of the era it comes from") {
  const std::string mine = R"({"code":-32020,"message":"a legacy server's own code"})";
  REQUIRE(spelled(mine, Revision::r2025_06_18, Revision::r2025_11_25, Method::tools_call) == mine);
  const std::string missing = R"({"code":-32602,"message":"m","data":{"uri":"x:y"}})";
  REQUIRE(spelled(missing, Revision::r2025_06_18, Revision::r2025_11_25, Method::resources_read) ==
          missing);
  const std::string odd = R"({"code":-32002,"message":"a modern server's own mistake"})";
  REQUIRE(spelled(odd, kModern, kModern, Method::tools_call) == odd);
}

TEST_CASE("an error without an integer code or a message is completed",
          "[req:errors-error-has-code-and-message][req:errors-codes-integers]") {
  REQUIRE(spelled(R"({"code":"E1","message":"m"})", kModern) == R"({"code":-32603,"message":"m"})");
  REQUIRE(spelled(R"({"message":"m"})", kModern) == R"({"message":"m","code":-32603})");
  REQUIRE(spelled(R"({"code":5})", kModern) ==
          R"({"code":5,"message":"the server gave no error message"})");
  REQUIRE(spelled(R"({"code":5,"message":{"a":1}})", kModern) ==
          R"({"code":5,"message":"the server gave no error message"})");
}

TEST_CASE("C58: modern errors travel with the HTTP status that the schema gives them",
          "[req:versioning-unsupported-version-http-400][req:errors-header-mismatch-http-400]"
          "[req:errors-missing-required-client-capability]"
          "[req:meta-server-rejects-missing-required-field]") {
  for (const int code : {kHeaderMismatch, kMissingClientCapability, kUnsupportedProtocolVersion,
                         rpc::kParseError, rpc::kInvalidRequest}) {
    CAPTURE(code);
    REQUIRE(http_status_for(code, kModern) == 400);
    REQUIRE(http_status_for(code, kModern, ErrorStage::validation) == 400);
  }
  REQUIRE(http_status_for(rpc::kMethodNotFound, kModern) == 404);
  REQUIRE(http_status_for(rpc::kMethodNotFound, kModern, ErrorStage::validation) == 404);
  REQUIRE(http_status_for(rpc::kInvalidParams, kModern, ErrorStage::validation) == 400);
  REQUIRE(http_status_for(rpc::kInvalidParams, kModern) == 200);
  REQUIRE(http_status_for(rpc::kInternalError, kModern) == 200);
  REQUIRE(http_status_for(-32050, kModern) == 200);
}

TEST_CASE("legacy errors of an executed request travel with 200") {
  for (const int code : {rpc::kMethodNotFound, rpc::kInvalidRequest, rpc::kInvalidParams,
                         kHeaderMismatch, kResourceNotFound}) {
    REQUIRE(http_status_for(code, kLatestLegacy) == 200);
    REQUIRE(http_status_for(code, kLatestLegacy, ErrorStage::validation) == 400);
  }
}

}  // namespace
}  // namespace mcpx::mcp
