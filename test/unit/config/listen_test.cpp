// Who may come in: tokens, TLS, time-outs, and what an address beyond loopback asks for.
#include <catch2/catch.hpp>
#include <string>

#include "base/digest.hpp"
#include "unit/config/directory.hpp"
#include "unit/config/load.hpp"

namespace mcpx::config {
namespace {

using test::load;
using test::problems_of;

const std::string kServers = "\nservers: {files: {command: x}, mail: {command: y}}";
const std::string kDigest = sha256_hex("a token that is long enough");

bool says(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

TEST_CASE("tokens are known by name and digest, and are for all endpoints but not for /v1") {
  const auto result = load("listen: {tokens: {laptop: {sha256: " + kDigest +
                               "}, ci: {token: \"${env:CI}\", endpoints: [/mcp, /mcp/files], "
                               "admin: true}}}" +
                               kServers,
                           {{"CI", "another-token-that-is-long"}});
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  REQUIRE(result->listen.tokens.size() == 2);
  const Token& laptop = result->listen.tokens[0];
  CHECK(laptop.name == "laptop");
  CHECK(laptop.sha256 == kDigest);
  CHECK(laptop.endpoints.empty());
  CHECK_FALSE(laptop.admin);
  const Token& ci = result->listen.tokens[1];
  CHECK(ci.sha256 == sha256_hex("another-token-that-is-long"));
  CHECK(ci.endpoints == std::vector<std::string>{"/mcp", "/mcp/files"});
  CHECK(ci.admin);
  // It is known here, so it must not be told on.
  CHECK(result->secrets == std::vector<std::string>{"another-token-that-is-long"});
}

struct ListenProblem {
  const char* name;
  std::string text;
  const char* told;
};

TEST_CASE("what is wrong with a token is told without telling the token") {
  const ListenProblem cases[] = {
      {"the token for its digest", "tokens: {a: {sha256: my-own-secret-token-of-mine}}",
       "not the token"},
      {"a short digest", "tokens: {a: {sha256: '00'}}", "64 lower-case"},
      {"neither", "tokens: {a: {}}", "has neither of 'sha256' and 'token'"},
      {"both", "tokens: {a: {sha256: " + kDigest + ", token: \"${env:LONG}\"}}", "has both of"},
      {"written out", "tokens: {a: {token: my-own-secret-token-of-mine}}", "must be a reference"},
      {"short", "tokens: {a: {token: \"${env:SHORT}\"}}", "shorter than 20"},
      {"spaces", "tokens: {a: {token: \"${env:SPACES}\"}}", "holds a space"},
      {"not set", "tokens: {a: {token: \"${env:NOPE}\"}}", "is not set"},
      {"the same", "tokens: {a: {sha256: " + kDigest + "}, b: {sha256: " + kDigest + "}}",
       "'a' and 'b' are the same"},
      {"no name", "tokens: {\"a b\": {sha256: " + kDigest + "}}", "cannot name a token"},
      {"no such server", "tokens: {a: {sha256: " + kDigest + ", endpoints: [/mcp/fils]}}",
       "names the endpoint '/mcp/fils', which is not there"},
      {"no endpoint", "tokens: {a: {sha256: " + kDigest + ", endpoints: [/v1]}}", "'/v1'"},
      {"none", "tokens: {a: {sha256: " + kDigest + ", endpoints: []}}", "endpoints"},
      {"unknown", "tokens: {a: {sha265: " + kDigest + "}}", "did you mean 'sha256'"},
      {"a list", "tokens: [a]", "must be a mapping"},
  };
  for (const ListenProblem& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const auto result =
          load("listen: {" + c.text + "}" + kServers, {{"LONG", "long-enough-for-a-token"},
                                                       {"SHORT", "my-own-secret"},
                                                       {"SPACES", "my-own-secret token of mine"}});
      const std::string told = problems_of(result);
      INFO(told);
      CHECK(says(told, c.told));
      CHECK_FALSE(says(told, "my-own-secret"));
    }
  }
}

TEST_CASE("an address that other machines reach needs a token") {
  const std::string token = "tokens: {a: {sha256: " + kDigest + "}}";
  for (const char* address : {"0.0.0.0:80", "'[::]:80'", "192.0.2.1:7332"}) {
    INFO(address);
    const auto bare = load(std::string("listen: {http: ") + address + "}" + kServers);
    const std::string told = problems_of(bare);
    CHECK(says(told, "mcpx.yaml:1:16: other machines may reach"));
    CHECK(says(told, "mcpx token new"));
    const auto guarded =
        load(std::string("listen: {http: ") + address + ", " + token + "}" + kServers);
    REQUIRE(guarded.has_value());
    REQUIRE(guarded->warnings.size() == 1);
    CHECK(says(guarded->warnings[0], "without TLS"));
  }
  const auto off = load("listen: {http: off, unix: /x}" + kServers);
  CHECK(off.has_value());
}

TEST_CASE("listen.tls names files that can be read, both of them") {
  const test::Directory directory;
  const std::string certificate = directory.write("server.pem", "certificate");
  directory.write("server.key", "key");
  const std::string file = directory.write("mcpx.yaml", "");
  const auto good = load_text(
      "listen: {tls: {cert: server.pem, key: server.key, min_version: \"1.3\"}}" + kServers, file,
      {});
  INFO(problems_of(good));
  REQUIRE(good.has_value());
  CHECK(good->listen.tls.enabled());
  CHECK(good->listen.tls.cert == certificate);
  CHECK(good->listen.tls.only_tls13);
  CHECK_FALSE(load("listen: {}" + kServers)->listen.tls.enabled());
  const auto missing = load_text("listen: {tls: {cert: nope.pem, key: server.key}}", file, {});
  CHECK(says(problems_of(missing), "cannot be read"));
  const auto half = load_text("listen: {tls: {cert: server.pem}}", file, {});
  CHECK(says(problems_of(half), "belong together"));
  const auto old = load_text(
      "listen: {tls: {cert: server.pem, key: server.key, min_version: \"1.1\"}}", file, {});
  CHECK(says(problems_of(old), "cannot be '1.1'"));
}

TEST_CASE("time-outs and bounds of clients can be set, but not against each other") {
  const auto result = load(
      "listen: {timeouts: {handshake: 1s, head: 2s, body: 3s, idle: 4s, write: 5s}}\n"
      "limits: {body: 1MiB, bodies: 2MiB, headers: 32, requests: 7, requests_per_second: 8, "
      "request_burst: 9}" +
      kServers);
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  const ListenTimeouts& timeouts = result->listen.timeouts;
  CHECK(timeouts.handshake == Milliseconds(1000));
  CHECK(timeouts.head == Milliseconds(2000));
  CHECK(timeouts.body == Milliseconds(3000));
  CHECK(timeouts.idle == Milliseconds(4000));
  CHECK(timeouts.write == Milliseconds(5000));
  CHECK(result->limits.bodies_bytes == 2u << 20);
  CHECK(result->limits.header_fields == 32);
  CHECK(result->limits.requests == 7);
  CHECK(result->limits.requests_per_second == 8);
  CHECK(result->limits.request_burst == 9);
  CHECK(says(problems_of(load("limits: {body: 2MiB, bodies: 1MiB}")), "'bodies' is below 'body'"));
  CHECK(load("limits: {body: 512MiB}" + kServers)->limits.bodies_bytes == 512u << 20);
  CHECK(says(problems_of(load("listen: {timeouts: {head: 0}}")), "at least 1ms"));
}

}  // namespace
}  // namespace mcpx::config
