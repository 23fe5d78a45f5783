#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "json/json.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/probe.hpp"
#include "unit/mcp/talk.hpp"

namespace mcpx::mcp {
namespace {

TEST_CASE("a server is asked to discover itself first, in the latest modern version",
          "[req:versioning-dual-era-client-probe-discover-first-stdio]"
          "[req:stdio-dual-era-client-probe-discover][req:versioning-client-may-discover-first]"
          "[req:meta-request-params-meta-required][req:meta-client-should-send-clientinfo]"
          "[req:discover-request-meta-required]") {
  Talk talk;
  REQUIRE(talk.wants() == "server/discover");
  REQUIRE(talk.request().is_probe);
  REQUIRE(talk.request().params ==
          R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
          R"("io.modelcontextprotocol/clientInfo":{"name":"test","version":"0"},)"
          R"("io.modelcontextprotocol/clientCapabilities":{"roots":{}}}})");
}

TEST_CASE("a DiscoverResult that names a modern version makes a modern server",
          "[req:discover-supportedversions][req:discover-client-choose-from-list]"
          "[req:discover-capabilities][req:discover-serverinfo-in-meta]") {
  Talk talk;
  talk.result(kDiscovered);
  REQUIRE(talk.wants() == "done 2026-07-28");
  REQUIRE(talk.facts().era() == Era::modern);
  REQUIRE(talk.facts().capabilities == R"({"tools":{}})");
  REQUIRE(talk.facts().server_info == R"({"name":"new","version":"2"})");
  REQUIRE(talk.facts().instructions == R"("hi")");
}

TEST_CASE("a DiscoverResult without identity, instructions or resultType is still one",
          "[req:messages-resulttype-absent-means-complete][req:discover-instructions-optional]") {
  Talk talk;
  talk.result(R"({"supportedVersions":["2099-01-01","2026-07-28","2025-11-25"]})");
  REQUIRE(talk.wants() == "done 2026-07-28");
  REQUIRE(talk.facts().capabilities == "{}");
  REQUIRE(talk.facts().server_info.empty());
  REQUIRE(talk.facts().instructions.empty());
}

TEST_CASE("C60: what is no modern DiscoverResult leads to initialize",
          "[req:messages-resulttype-unknown-invalid]") {
  const std::vector<std::string> answers = {
      "{}",
      "null",
      "[]",
      R"("2026-07-28")",
      R"({"supportedVersions":"2026-07-28"})",
      R"({"supportedVersions":[]})",
      R"({"supportedVersions":[20260728,null,{}]})",
      R"({"supportedVersions":["2025-11-25"]})",
      R"({"supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25"]})",
      R"({"resultType":"mystery","supportedVersions":["2026-07-28"]})",
      R"({"protocolVersion":"2026-07-28","capabilities":{}})",
  };
  for (const auto& answer : answers) {
    DYNAMIC_SECTION(answer) {
      Talk talk;
      talk.result(answer);
      REQUIRE(talk.wants() == "initialize");
      talk.result(kInitialized);
      talk.sent();
      REQUIRE(talk.wants() == "done 2025-06-18");
    }
  }
}

TEST_CASE("any error but -32022, and silence, lead to initialize",
          "[req:versioning-fallback-not-keyed-to-one-code]") {
  for (const char* code : {"-32601", "-32602", "-32600", "-32603", "-32700", "-32000", "-32001",
                           "-32002", "-32020", "-32021", "0", "-1", "401", "1e3", "\"-32022\""}) {
    DYNAMIC_SECTION(code) {
      Talk talk;
      talk.error(std::string(R"({"code":)") + code + R"(,"message":"no"})");
      REQUIRE(talk.wants() == "initialize");
    }
  }
  SECTION("no code at all") {
    REQUIRE(Talk().error("{}").wants() == "initialize");
    REQUIRE(Talk().error("null").wants() == "initialize");
  }
  SECTION("silence") {
    REQUIRE(Talk().times_out().wants() == "initialize");
  }
}

TEST_CASE("a modern server that is too slow for the probe is found when it refuses initialize") {
  Talk talk;
  talk.times_out();
  REQUIRE(talk.wants() == "initialize");
  talk.error(R"({"code":-32022,"message":"only 2026-07-28"})");
  REQUIRE(talk.wants() == "server/discover");
  REQUIRE_FALSE(talk.request().is_probe);
  SECTION("it is modern") {
    REQUIRE(talk.result(kDiscovered).wants() == "done 2026-07-28");
    REQUIRE(talk.facts().era_is_certain);
  }
  SECTION("it is neither, and all it said is told") {
    talk.error(R"({"code":-32603,"message":"broken"})");
    REQUIRE(talk.wants() == "failed");
    REQUIRE(talk.failure().message.find("did not answer server/discover") != std::string::npos);
    REQUIRE(talk.failure().message.find("only 2026-07-28") != std::string::npos);
    REQUIRE(talk.failure().message.find("broken") != std::string::npos);
  }
}

TEST_CASE("initialize offers the latest legacy version and carries no _meta",
          "[req:lifecycle-client-sends-initialize][req:lifecycle-client-sends-supported-version]"
          "[req:lifecycle-client-sends-latest-version]") {
  Talk talk;
  talk.times_out();
  REQUIRE(talk.request().params == R"({"protocolVersion":"2025-11-25","capabilities":{"roots":{}},)"
                                   R"("clientInfo":{"name":"test","version":"0"}})");
  REQUIRE_FALSE(talk.request().is_probe);
}

TEST_CASE("an unset client identity is filled in, as every revision requires one",
          "[req:lifecycle-implementation-name-version-required]") {
  Handshake::Options bare;
  bare.protocol = Protocol::legacy;
  bare.client_capabilities.clear();
  Talk talk(std::move(bare));
  REQUIRE(json::find_string(talk.request().params, "protocolVersion") == "2025-11-25");
  REQUIRE(json::find(talk.request().params, "capabilities") == "{}");
  REQUIRE(json::find(talk.request().params, "clientInfo", "name") == "\"mcpx\"");
  REQUIRE(json::find(talk.request().params, "clientInfo", "version").has_value());
}

TEST_CASE("the handshake ends with notifications/initialized and what the server said",
          "[req:lifecycle-client-sends-initialized-after-init]"
          "[req:lifecycle-client-may-support-older]") {
  Talk talk(options(Protocol::legacy));
  REQUIRE(talk.wants() == "initialize");
  talk.result(kInitialized);
  REQUIRE(talk.wants() == "notifications/initialized");
  talk.sent();
  REQUIRE(talk.wants() == "done 2025-06-18");
  REQUIRE(talk.facts().era() == Era::legacy);
  REQUIRE(talk.facts().capabilities == R"({"tools":{}})");
  REQUIRE(talk.facts().server_info == R"({"name":"old","version":"1"})");
  REQUIRE(talk.facts().instructions == R"("be\u0020kind")");
}

TEST_CASE("every legacy version is accepted, also without serverInfo") {
  for (const Revision revision : kAllRevisions) {
    if (era_of(revision) == Era::modern) continue;
    const std::string version(text(revision));
    DYNAMIC_SECTION(version) {
      Talk talk(options(Protocol::legacy));
      talk.result(R"({"protocolVersion":")" + version + R"(","capabilities":{}})").sent();
      REQUIRE(talk.wants() == "done " + version);
      REQUIRE(talk.facts().server_info.empty());
    }
  }
}

TEST_CASE("an answer to initialize that cannot be worked with fails and says why",
          "[req:lifecycle-client-disconnects-on-unsupported-version]"
          "[req:lifecycle-prepared-for-error-cases]") {
  struct Case {
    std::string answer, named;
  };
  const std::vector<Case> cases = {
      {R"({"protocolVersion":"2026-07-28","capabilities":{}})", "\"2026-07-28\""},
      {R"({"protocolVersion":"1.0","capabilities":{}})", "\"1.0\""},
      {R"({"protocolVersion":20251125,"capabilities":{}})", "protocolVersion"},
      {R"({"capabilities":{}})", "protocolVersion"},
      {R"({"protocolVersion":"2025-11-25"})", "capabilities"},
      {R"({"protocolVersion":"2025-11-25","capabilities":[]})", "capabilities"},
      {"null", "no object"},
  };
  for (const auto& c : cases) {
    DYNAMIC_SECTION(c.answer) {
      Talk talk(options(Protocol::legacy));
      talk.result(c.answer);
      REQUIRE(talk.wants() == "failed");
      REQUIRE(talk.failure().code == "upstream.handshake");
      REQUIRE(talk.failure().message.find(c.named) != std::string::npos);
      REQUIRE_FALSE(talk.failure().remedy.empty());
    }
  }
}

TEST_CASE("a peer's text in an error is cut, at a character") {
  std::string lengthy;
  for (int i = 0; i < 1000; ++i)
    lengthy += "\xC3\xA9";
  Talk talk(options(Protocol::legacy));
  talk.result(R"({"protocolVersion":"x)" + lengthy + R"(","capabilities":{}})");
  REQUIRE(talk.failure().message.size() < 300);
  REQUIRE(talk.failure().message.find("\xC3\xA9...") != std::string::npos);
}

TEST_CASE("-32022 that lists a version of ours is asked again, and then given up",
          "[req:versioning-client-retry-with-supported]") {
  const std::string refusal =
      R"({"code":-32022,"message":"no","data":{"supported":["2025-11-25","2026-07-28"]}})";
  Talk talk;
  talk.error(refusal);
  REQUIRE(talk.wants() == "server/discover");
  REQUIRE(talk.request().params.find("\"2026-07-28\"") != std::string::npos);
  SECTION("the second try is accepted") {
    talk.result(kDiscovered);
    REQUIRE(talk.wants() == "done 2026-07-28");
  }
  SECTION("it goes on refusing: no endless loop, and no initialize to a modern server") {
    int rounds = 0;
    while (talk.wants() == "server/discover" && rounds < 10) {
      talk.error(refusal);
      ++rounds;
    }
    REQUIRE(rounds <= 2);
    REQUIRE(talk.wants() == "failed");
    REQUIRE(talk.failure().message.find("2026-07-28") != std::string::npos);
  }
}

TEST_CASE("-32022 that lists legacy versions only leads to initialize") {
  Talk talk;
  talk.error(R"({"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}})");
  REQUIRE(talk.wants() == "initialize");
}

TEST_CASE("-32022 that lists no version of ours is an error to show",
          "[req:versioning-client-retry-with-supported]") {
  Talk talk;
  talk.error(R"({"code":-32022,"message":"no","data":{"supported":["2099-01-01"]}})");
  REQUIRE(talk.wants() == "failed");
  REQUIRE(talk.failure().message.find("2099-01-01") != std::string::npos);
}

TEST_CASE("-32022 without a list is no answer a modern server gives") {
  REQUIRE(Talk().error(R"({"code":-32022,"message":"no"})").wants() == "initialize");
  REQUIRE(Talk().error(R"({"code":-32022,"data":{"supported":"2026-07-28"}})").wants() ==
          "initialize");
}

TEST_CASE("protocol: modern never falls back",
          "[req:versioning-modern-client-probe-legacy-stdio]"
          "[req:stdio-modern-only-client-probe]") {
  const auto failed = [](Talk& talk) {
    REQUIRE(talk.wants() == "failed");
    REQUIRE(talk.failure().code == "upstream.handshake");
    REQUIRE(talk.failure().remedy.find("protocol") != std::string::npos);
  };
  Talk talk(options(Protocol::modern));
  REQUIRE(talk.wants() == "server/discover");
  REQUIRE_FALSE(talk.request().is_probe);
  SECTION("an error") {
    failed(talk.error(R"({"code":-32601,"message":"no"})"));
  }
  SECTION("silence") {
    failed(talk.times_out());
  }
  SECTION("a legacy answer") {
    failed(talk.result(R"({"supportedVersions":["2025-11-25"]})"));
  }
  SECTION("a refusal naming legacy") {
    failed(talk.error(R"({"code":-32022,"data":{"supported":["2025-11-25"]}})"));
  }
}

TEST_CASE("protocol: legacy never probes") {
  Talk talk(options(Protocol::legacy));
  REQUIRE(talk.wants() == "initialize");
  talk.error(R"({"code":-32601,"message":"no initialize here"})");
  REQUIRE(talk.wants() == "failed");
  REQUIRE(talk.failure().message.find("no initialize here") != std::string::npos);
}

TEST_CASE("a known era saves the probe, and is given up once when refuted",
          "[req:versioning-era-cache]") {
  SECTION("legacy: straight to initialize") {
    Talk talk(knowing(Era::legacy));
    REQUIRE(talk.wants() == "initialize");
    SECTION("still legacy") {
      REQUIRE(talk.result(kInitialized).sent().wants() == "done 2025-06-18");
    }
    SECTION("now modern") {
      talk.error(R"({"code":-32601,"message":"modern now"})");
      REQUIRE(talk.wants() == "server/discover");
      SECTION("found") {
        REQUIRE(talk.result(kDiscovered).wants() == "done 2026-07-28");
      }
      SECTION("neither: both answers are told") {
        talk.error(R"({"code":-32603,"message":"broken"})");
        REQUIRE(talk.wants() == "failed");
        REQUIRE(talk.failure().message.find("modern now") != std::string::npos);
        REQUIRE(talk.failure().message.find("broken") != std::string::npos);
      }
    }
    SECTION("a modern version in the answer") {
      talk.result(R"({"protocolVersion":"2026-07-28","capabilities":{}})");
      REQUIRE(talk.wants() == "server/discover");
    }
  }
  SECTION("modern: discover with the whole deadline, as its silence says nothing new") {
    Talk talk(knowing(Era::modern));
    REQUIRE(talk.wants() == "server/discover");
    REQUIRE_FALSE(talk.request().is_probe);
    talk.error(R"({"code":-32601,"message":"legacy now"})");
    REQUIRE(talk.wants() == "initialize");
    talk.error(R"({"code":-32600,"message":"dead"})");
    REQUIRE(talk.wants() == "failed");
    REQUIRE(talk.failure().message.find("legacy now") != std::string::npos);
    REQUIRE(talk.failure().message.find("dead") != std::string::npos);
  }
}

TEST_CASE("initialize that is not answered ends the handshake") {
  REQUIRE(Talk().times_out().times_out().wants() == "failed");
  REQUIRE(Talk(knowing(Era::legacy)).times_out().wants() == "failed");
}

TEST_CASE("an event out of place fails and never restarts the handshake") {
  Talk talk;
  talk.result(kDiscovered);
  talk.result(kDiscovered);
  REQUIRE(talk.wants() == "failed");
  REQUIRE(talk.feed(Handshake::Start{}).wants() == "failed");
  REQUIRE(Talk().sent().wants() == "failed");
  REQUIRE(Talk().times_out().result(kInitialized).times_out().wants() == "failed");
}

TEST_CASE("the _meta of our modern requests leaves an unknown identity out") {
  REQUIRE(modern_meta(Revision::r2026_07_28, "", "") ==
          R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
          R"("io.modelcontextprotocol/clientCapabilities":{}})");
}

}  // namespace
}  // namespace mcpx::mcp
