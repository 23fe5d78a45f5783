// The JSON of /v1: redaction that keeps it JSON, errors, paths.
#include "admin/render.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace mcpx::admin {
namespace {

TEST_CASE("C71: secrets leave string values, never keys, numbers or keywords") {
  const Redactor redactor({"hunter2", "true", "8080", "q\"uote"});
  CHECK(redact_json(R"({"a":"my hunter2!","hunter2":1,"t":true,"p":8080})", redactor) ==
        R"({"a":"my [redacted]!","hunter2":1,"t":true,"p":8080})");
  CHECK(redact_json(R"(["hunter\u0032","\"hunter2\\"])", redactor) ==
        R"(["[redacted]","\"[redacted]\\"])");
  CHECK(redact_json(R"({"a" : "q\"uote", "b":"1.0 \u00e9"})", redactor) ==
        R"({"a" : "[redacted]", "b":"1.0 \u00e9"})");
  CHECK(redact_json("", redactor) == "");
}

TEST_CASE("an error of ours is told with its remedy, one of the server whole") {
  const Redactor redactor({"hunter2"});
  const Failure own =
      failure_of(R"({"code":-31010,"message":"exited with 3; see hunter2",)"
                 R"("data":{"code":"upstream.exited","server":"a","remedy":"see hunter2"}})",
                 redactor);
  CHECK(own.status == 502);
  CHECK(own.body == R"({"error":{"code":"upstream.exited","message":"exited with 3",)"
                    R"("remedy":"see [redacted]"}})");
  const Failure late =
      failure_of(R"({"code":-31010,"message":"m","data":{"code":"upstream.timeout"}})", redactor);
  CHECK(late.status == 504);
  const Failure rpc = failure_of(R"({"code":-32602,"message":"bad","data":[1.0]})", redactor);
  CHECK(rpc.status == 502);
  CHECK(json::find(rpc.body, "error", "code") == R"("upstream.rpc_error")");
  CHECK(json::find(rpc.body, "error", "rpc") == R"({"code":-32602,"message":"bad","data":[1.0]})");
}

TEST_CASE("percent escapes are decoded, stray ones left") {
  CHECK(percent_decode("a%20b%2fc") == "a b/c");
  CHECK(percent_decode("100%") == "100%");
  CHECK(percent_decode("%zz%4") == "%zz%4");
  CHECK(percent_decode("%41") == "A");
}

}  // namespace
}  // namespace mcpx::admin
