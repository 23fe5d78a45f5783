// The handshake over HTTP, where statuses count and HTTP+SSE is the last resort.
#include <catch2/catch.hpp>
#include <string>

#include "unit/mcp/talk.hpp"

namespace mcpx::mcp {
namespace {

Handshake::Options over_http(Protocol protocol = Protocol::automatic) {
  Handshake::Options out = options(protocol);
  out.over_http = true;
  return out;
}

std::string rpc_error(const std::string& code) {
  return R"({"code":)" + code + R"(,"message":"no"})";
}

TEST_CASE("over HTTP a modern error counts only with the status that fits it",
          "[req:versioning-dual-era-http-detect]") {
  for (const unsigned status : {400u, 404u, 405u}) {
    INFO(status);
    CHECK(Talk(over_http()).error(rpc_error("-32021"), status).wants() == "done 2026-07-28");
    CHECK(Talk(over_http()).error(rpc_error("-32020"), status).wants() == "failed");
    CHECK(Talk(over_http()).error(rpc_error("-32000"), status).wants() == "initialize");
    const bool unknown_method_is_modern = status == 404;
    CHECK(Talk(over_http()).error(rpc_error("-32601"), status).wants() ==
          (unknown_method_is_modern ? "done 2026-07-28" : "initialize"));
    CHECK(Talk(over_http()).refused(status).wants() == "initialize");
  }
  for (const char* code : {"-32020", "-32021", "-32601"}) {
    INFO(code);
    CHECK(Talk(over_http()).error(rpc_error(code), 200).wants() == "initialize");
    CHECK(Talk(over_http()).error(rpc_error(code), 422).wants() == "initialize");
  }
}

TEST_CASE("a modern server that cannot describe itself is taken to offer every list") {
  Talk talk(over_http());
  talk.error(rpc_error("-32601"), 404);
  for (const char* capability : {"tools", "prompts", "resources"})
    REQUIRE(json::find(talk.facts().capabilities, capability).has_value());
}

TEST_CASE("what stands before a server says nothing about its era") {
  for (const unsigned status : {301u, 307u, 401u, 403u, 407u, 429u, 502u, 503u, 504u}) {
    INFO(status);
    CHECK(Talk(over_http()).refused(status).failure().code == "upstream.http_status");
    CHECK(Talk(over_http()).error(rpc_error("-32001"), status).failure().code ==
          "upstream.http_status");
    CHECK(Talk(over_http(Protocol::legacy)).refused(status).failure().code ==
          "upstream.http_status");
    CHECK(Talk(over_http(Protocol::legacy)).error(rpc_error("-32001"), status).failure().code ==
          "upstream.http_status");
  }
}

TEST_CASE("an era found for want of an answer is not certain", "[req:versioning-era-cache]") {
  const auto certain = [](Talk& talk) {
    return talk.result(kInitialized).sent().facts().era_is_certain;
  };
  Talk refused(over_http()), failed(over_http()), failed_in_json(over_http());
  Talk silent(over_http()), silent_process;
  CHECK(certain(refused.refused(404)));
  CHECK_FALSE(certain(failed.refused(500)));
  CHECK_FALSE(certain(failed_in_json.error(rpc_error("-32603"), 500)));
  CHECK_FALSE(certain(silent.times_out()));
  CHECK(certain(silent_process.times_out()));
}

TEST_CASE("an initialize refused with 400, 404 or 405 is tried over HTTP+SSE",
          "[req:http-sse-client-backcompat-probe-400-404-405]"
          "[req:http-sse-client-backcompat-probe-non-modern-body]") {
  for (const unsigned status : {400u, 404u, 405u}) {
    INFO(status);
    Talk talk(over_http());
    REQUIRE(talk.refused(status).refused(status).wants() == "stream");
    SECTION("an endpoint event came " + std::to_string(status)) {
      REQUIRE(talk.feed(Handshake::StreamOpened{}).wants() == "initialize");
      SECTION("and initialize is answered there") {
        REQUIRE(talk.result(kInitialized).sent().wants() == "done 2025-06-18");
      }
      SECTION("and initialize is refused there too: no second stream") {
        REQUIRE(talk.refused(status).wants() == "failed");
      }
    }
    SECTION("no stream either: both reasons are told " + std::to_string(status)) {
      talk.feed(Handshake::StreamRefused{Error("upstream.http_status", "GET says 406")});
      REQUIRE(talk.failure().message.find("refused") != std::string::npos);
      REQUIRE(talk.failure().message.find("GET says 406") != std::string::npos);
    }
  }
  REQUIRE(Talk(over_http()).refused(404).refused(422).wants() == "failed");
  REQUIRE(Talk(over_http()).refused(404).refused(500).wants() == "failed");
  REQUIRE(Talk(over_http()).refused(404).error(rpc_error("-32000"), 400).wants() == "stream");
  REQUIRE(Talk(over_http()).refused(404).error(rpc_error("-32022"), 400).wants() == "failed");
}

TEST_CASE("HTTP+SSE by configuration: no probe, no Streamable HTTP") {
  Handshake::Options only = over_http();
  only.only_event_stream = true;
  Talk talk(only);
  REQUIRE(talk.wants() == "stream");
  SECTION("opened") {
    REQUIRE(talk.feed(Handshake::StreamOpened{}).wants() == "initialize");
    REQUIRE(talk.error(rpc_error("-32602"), 200).wants() == "failed");
  }
  SECTION("refused") {
    talk.feed(Handshake::StreamRefused{Error("upstream.unreachable", "nobody there")});
    REQUIRE(talk.failure().code == "upstream.unreachable");
  }
}

TEST_CASE("a server known as legacy that is now modern over HTTP is found again") {
  Handshake::Options known = over_http();
  known.known_era = Era::legacy;
  SECTION("it says so") {
    REQUIRE(Talk(known).error(rpc_error("-32022"), 400).wants() == "server/discover");
  }
  SECTION("it only refuses") {
    Talk talk(known);
    REQUIRE(talk.refused(404).wants() == "stream");
    talk.feed(Handshake::StreamRefused{Error("upstream.http_status", "405")});
    REQUIRE(talk.wants() == "server/discover");
    REQUIRE(talk.result(kDiscovered).wants() == "done 2026-07-28");
  }
}

}  // namespace
}  // namespace mcpx::mcp
