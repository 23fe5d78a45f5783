// How a server over HTTP is found out: scripted servers, each answering the probe its own way.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/scripted_http.hpp"

namespace mcpx::upstream {
namespace {

using scripted::call_of;
using scripted::code_of;
using scripted::Scene;
using scripted::Seen;
using scripted::Talk;

struct Probe {
  const char* name;
  unsigned status;
  const char* type;
  const char* body;   // JSON-RPC: what follows the id
  const char* found;  // the revision, or the code of the error
  int initialized;
};

constexpr const char* kJson = "application/json";
constexpr const char* kText = "text/plain";

Task<void> refuse(const Probe& probe, const Seen& seen, Talk& talk) {
  std::string body = probe.body;
  if (body.starts_with(",")) body = R"({"jsonrpc":"2.0","id":)" + seen.id + body + "}";
  return talk.respond(probe.status, probe.type, std::move(body));
}

Task<void> probe_body(runtime::Shard& shard, const Probe& probe) {
  Scene scene(shard);
  scene.legacy.probe = [&](const Seen& seen, Talk& talk) { return refuse(probe, seen, talk); };
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, R"({"name":"echo"})");
  call::Outcome outcome = co_await server.call(call);
  const std::string found = outcome.ok() ? std::string(mcp::text(outcome.from)) : code_of(outcome);
  CHECK(found == probe.found);
  CHECK(scene.legacy.initialized == probe.initialized);
  CHECK(outcome.error.find("top-secret") == std::string_view::npos);
  const Seen& first = scene.http.seen.front();
  CHECK(first.http == "POST");
  CHECK(first.method == "server/discover");
  CHECK(first.version == "2026-07-28");
  CHECK(first.mcp_method == "server/discover");
  CHECK(first.accept == "application/json, text/event-stream");
  co_await scene.end();
}

TEST_CASE("C60: the answer to a modern POST decides the era of a server over HTTP",
          "[req:versioning-dual-era-http-detect][req:versioning-client-retry-with-supported]"
          "[req:streamable-http-client-accept-both]") {
  const std::vector<Probe> probes = {
      {"a DiscoverResult", 200, kJson,
       R"(,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}})",
       "2026-07-28", 0},
      {"only legacy versions", 200, kJson,
       R"(,"result":{"supportedVersions":["2025-11-25"],"capabilities":{}})", "2025-11-25", 1},
      {"an empty result for whatever is asked", 200, kJson, R"(,"result":{})", "2025-11-25", 1},
      {"404 with -32601", 404, kJson, R"(,"error":{"code":-32601,"message":"no"})", "2026-07-28",
       0},
      {"400 with -32021", 400, kJson, R"(,"error":{"code":-32021,"message":"no"})", "2026-07-28",
       0},
      {"400 with -32020", 400, kJson, R"(,"error":{"code":-32020,"message":"no"})",
       "upstream.handshake", 0},
      {"400 with -32022 and unknown versions", 400, kJson,
       R"(,"error":{"code":-32022,"message":"no","data":{"supported":["2099-01-01"]}})",
       "upstream.handshake", 0},
      {"400 with -32601", 400, kJson, R"(,"error":{"code":-32601,"message":"no"})", "2025-11-25",
       1},
      {"400 with -32000", 400, kJson, R"(,"error":{"code":-32000,"message":"Bad Request"})",
       "2025-11-25", 1},
      {"200 with -32601", 200, kJson, R"(,"error":{"code":-32601,"message":"no"})", "2025-11-25",
       1},
      {"400 in plain text", 400, kText, "Bad Request", "2025-11-25", 1},
      {"404 in HTML", 404, "text/html", "<html>no</html>", "2025-11-25", 1},
      {"405", 405, "", "", "2025-11-25", 1},
      {"422", 422, kJson, R"({"detail":"no"})", "2025-11-25", 1},
      {"500", 500, kText, "oops", "2025-11-25", 1},
      {"a web page", 200, "text/html", "<html>hello</html>", "2025-11-25", 1},
      {"401", 401, kText, "top-secret is wrong", "upstream.http_status", 0},
      {"401 as JSON-RPC", 401, kJson, R"(,"error":{"code":-32001,"message":"Unauthorized"})",
       "upstream.http_status", 0},
      {"403", 403, kText, "no", "upstream.http_status", 0},
      {"429", 429, kText, "no", "upstream.http_status", 0},
      {"503", 503, kText, "no", "upstream.http_status", 0},
      {"302", 302, kText, "no", "upstream.http_status", 0},
  };
  for (const Probe& probe : probes) {
    DYNAMIC_SECTION(probe.name) {
      test::on_shard([&](runtime::Shard& shard) { return probe_body(shard, probe); });
    }
  }
}

Task<void> newer_first(int& asked, const Seen& seen, Talk& talk) {
  if (++asked == 1) {
    return talk.respond(400, kJson,
                        R"({"jsonrpc":"2.0","id":)" + seen.id +
                            R"(,"error":{"code":-32022,"message":"no",)"
                            R"("data":{"supported":["2099-01-01","2026-07-28"]}}})");
  }
  return talk.result(seen, R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}})");
}

Task<void> retry_body(runtime::Shard& shard) {
  Scene scene(shard);
  int asked = 0;
  scene.legacy.probe = [&](const Seen& seen, Talk& talk) { return newer_first(asked, seen, talk); };
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, R"({"name":"echo"})");
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.from == mcp::Revision::r2026_07_28);
  REQUIRE(asked == 2);
  REQUIRE(scene.legacy.initialized == 0);
  co_await scene.end();
}

TEST_CASE("-32022 makes the probe try a version the server names",
          "[req:versioning-client-retry-with-supported]") {
  test::on_shard(retry_body);
}

Task<void> silence(const Seen&, Talk& talk) {
  return talk.until_gone();
}

Task<void> silent_probe_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.legacy.probe = silence;
  scene.house.config.probe_timeout = Milliseconds(20);
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, R"({"name":"echo"})");
  call::Outcome outcome = co_await server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(outcome.from == mcp::Revision::r2025_11_25);
  co_await scene.end();
}

TEST_CASE("a server that never answers the probe is asked to initialize",
          "[req:versioning-fallback-not-keyed-to-one-code]") {
  test::on_shard(silent_probe_body);
}

Task<void> pinned_body(runtime::Shard& shard, config::Protocol protocol) {
  Scene scene(shard);
  scene.house.config.protocol = protocol;
  Server& server = scene.server(shard);
  const call::Call call = call_of(shard, R"({"name":"echo"})");
  call::Outcome outcome = co_await server.call(call);
  if (protocol == config::Protocol::legacy) {
    REQUIRE(outcome.ok());
    REQUIRE(scene.http.count("server/discover") == 0);
    REQUIRE(scene.http.seen.front().params.find("_meta") == std::string::npos);
    REQUIRE(scene.http.seen.front().version.empty());
  } else {
    REQUIRE(code_of(outcome) == "upstream.http_status");
    REQUIRE(scene.http.count("initialize") == 0);
  }
  co_await scene.end();
}

TEST_CASE("protocol: legacy never probes, and its initialize carries no _meta",
          "[req:lifecycle-client-sends-initialize][req:lifecycle-client-sends-latest-version]") {
  test::on_shard(
      [](runtime::Shard& shard) { return pinned_body(shard, config::Protocol::legacy); });
}
TEST_CASE("protocol: modern never falls back") {
  test::on_shard(
      [](runtime::Shard& shard) { return pinned_body(shard, config::Protocol::modern); });
}

}  // namespace
}  // namespace mcpx::upstream
