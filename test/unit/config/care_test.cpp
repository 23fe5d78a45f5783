// Scope, instances, times, breaker, roots, and what of the daemon serves them.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unit/config/load.hpp"

namespace mcpx::config {
namespace {

using test::load;
using test::problems_of;

TEST_CASE("the care of a server reaches its fields") {
  const auto result = load(R"(
starts_at_once: 2
state_dir: /var/lib/mcpx
servers:
  a:
    command: x
    scope: session
    instances: {max: 12}
    call_timeout: 1m
    call_timeout_max: 20m
    breaker: {failures: 0, cooldown: 1s}
    tools:
      timeouts:
        build_fast: 2m
        "build_*": 15m
)");
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  CHECK(result->starts_at_once == 2);
  CHECK(result->state_dir == "/var/lib/mcpx");
  const Server& a = result->servers[0];
  CHECK(a.scope == Scope::session);
  CHECK(a.instances_max == 12);
  CHECK(a.call_timeout_max == Milliseconds(1'200'000));
  CHECK(a.breaker_failures == 0);
  CHECK(a.breaker_cooldown == Milliseconds(1'000));
  // The first pattern that matches, in the order of the file.
  CHECK(a.call_timeout_for("build_fast") == Milliseconds(120'000));
  CHECK(a.call_timeout_for("build_all") == Milliseconds(900'000));
  CHECK(a.call_timeout_for("read") == Milliseconds(60'000));
  CHECK(a.call_timeout_for("") == Milliseconds(60'000));
}

TEST_CASE("call_timeout_max follows longer timeouts unless it is set") {
  const auto longer = load("servers: {a: {command: x, call_timeout: 1h}}");
  REQUIRE(longer.has_value());
  CHECK(longer->servers[0].call_timeout_max == Milliseconds(3'600'000));
  const auto tool = load("servers: {a: {command: x, tools: {timeouts: {t: 2h}}}}");
  REQUIRE(tool.has_value());
  CHECK(tool->servers[0].call_timeout_max == Milliseconds(7'200'000));
}

struct Case {
  std::string name, text, problem;
};

TEST_CASE("what cannot hold is told with its place and what to do") {
  const std::string a = "servers: {a: {command: x, ";  // 26 characters
  const std::vector<Case> cases = {
      {"scope", a + "scope: sesion}}",
       "mcpx.yaml:1:34: 'scope' cannot be 'sesion'; did you mean 'session'?"},
      {"no instances", a + "instances: {max: 0}}}",
       "mcpx.yaml:1:44: 'max' must be from 1 to 1000; write for example: max: 8"},
      {"too many instances", a + "instances: {max: 1001}}}",
       "mcpx.yaml:1:44: 'max' must be from 1 to 1000"},
      {"a number for instances", a + "instances: 4}}",
       "mcpx.yaml:1:38: 'instances' must be a mapping, not a number; write for example: "
       "instances: {max: 8}"},
      {"sessions without room", a + "scope: session, instances: {max: 1}}}",
       "mcpx.yaml:1:43: 'scope: session' needs 'instances: {max: 2}' at least"},
      {"a longest below the usual", a + "call_timeout: 60s, call_timeout_max: 59s}}",
       "mcpx.yaml:1:64: 'call_timeout_max' is below 'call_timeout' or one of 'tools.timeouts'"},
      {"a longest below a tool's", a + "call_timeout_max: 61s, tools: {timeouts: {t: 62s}}}}",
       "mcpx.yaml:1:45: 'call_timeout_max' is below"},
      {"a tool's timeout", a + "tools: {timeouts: {t: 5}}}}",
       "mcpx.yaml:1:49: 't' must be a duration with its unit"},
      {"a breaker", a + "breaker: {failure: 3}}}",
       "mcpx.yaml:1:37: unknown key 'failure'; did you mean 'failures'?"},
      {"a cooldown", a + "breaker: {cooldown: 0}}}",
       "mcpx.yaml:1:47: 'cooldown' must be at least 1ms"},
      {"starts", "starts_at_once: 0",
       "mcpx.yaml:1:17: 'starts_at_once' must be from 1 to 256; write for example: "
       "starts_at_once: 4"},
      {"a tilde", "state_dir: ~/x",
       "mcpx.yaml:1:12: 'state_dir' must be a directory, without '~', or off"},
      {"a relative root", "roots: [src]",
       "mcpx.yaml:1:9: the root 'src' is neither an absolute path nor a file:// URI; write for "
       "example: roots: [/srv/project]"},
      {"another scheme", "roots: [\"https://h/\"]", "mcpx.yaml:1:9: the root 'https://h/' is "},
      {"a climbing path", "roots: [/srv/../etc]",
       "mcpx.yaml:1:9: the root '/srv/../etc' holds '..'"},
      {"a climbing URI", "roots: [\"file:///srv/%2E./etc\"]",
       "mcpx.yaml:1:9: the root 'file:///srv/%2E./etc' holds '..'"},
      {"a URI of a host", "roots: [\"file://srv/x\"]",
       "mcpx.yaml:1:9: the root 'file://srv/x' names a host, or no absolute path"},
      {"a URI with a space", "roots: [\"file:///a b\"]",
       "mcpx.yaml:1:9: the root 'file:///a b' holds a character that a file URI spells as %XX"},
      {"a root that is a list", "roots: [[a]]", "mcpx.yaml:1:9: 'roots' must be text, not a list"},
      {"a root without uri", "roots: [{name: x}]", "mcpx.yaml:1:9: a root without 'uri'"},
      {"a misspelt root", "roots: [{url: file:///x}]", "mcpx.yaml:1:9: a root without 'uri'"},
      {"roots of text", "roots: /srv", "mcpx.yaml:1:8: 'roots' must be a list, not text"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const auto result = load(c.text);
      INFO(problems_of(result));
      REQUIRE_FALSE(result.has_value());
      CHECK(result.error()[0].text().substr(0, c.problem.size()) == c.problem);
      CHECK_FALSE(result.error()[0].suggestion.empty());
    }
  }
}

TEST_CASE("roots become file URIs; a server's own replace those of the file") {
  const auto result = load(R"(
roots: ["${env:WORK}/a b#1", {uri: "file:///data", name: Data}]
servers:
  inherits: {command: x}
  own: {command: y, roots: [/é]}
  none: {command: z, roots: []}
)",
                           {{"WORK", "/home/me"}});
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  const auto& inherited = result->servers[0].roots;
  REQUIRE(inherited.size() == 2);
  CHECK(inherited[0].uri == "file:///home/me/a%20b%231");
  CHECK(inherited[0].name.empty());
  CHECK(inherited[1].uri == "file:///data");
  CHECK(inherited[1].name == "Data");
  REQUIRE(result->servers[1].roots.size() == 1);
  CHECK(result->servers[1].roots[0].uri == "file:///%C3%A9");
  CHECK(result->servers[2].roots.empty());
}

TEST_CASE("what servers may ask of clients") {
  const auto given = load(
      "ask: {timeout: 1s, rounds: 3, state_ttl: 168h, per_server: 0, per_session: 12}\nservers: "
      "{}");
  INFO(problems_of(given));
  REQUIRE(given.has_value());
  CHECK(given->ask.timeout == Milliseconds(1'000));
  CHECK(given->ask.rounds == 3);
  CHECK(given->ask.state_ttl == Milliseconds(604'800'000));
  CHECK(given->ask.per_server == 0);
  CHECK(given->ask.per_session == 12);
  for (const char* wrong : {"timeout: 0s", "rounds: 0", "state_ttl: 169h", "state_ttl: 10ms",
                            "per_server: -1", "per_client: 1"}) {
    INFO(wrong);
    CHECK_FALSE(load("ask: {" + std::string(wrong) + "}").has_value());
  }
}

TEST_CASE("the state directory is systemd's, else XDG's, else below HOME") {
  const auto state = [](std::map<std::string, std::string> variables,
                        const std::string& text = "") {
    return load(text, std::move(variables))->state_dir;
  };
  CHECK(state({{"STATE_DIRECTORY", "/var/lib/mcpx:/b"}, {"HOME", "/h"}}) == "/var/lib/mcpx");
  CHECK(state({{"XDG_STATE_HOME", "/x"}, {"HOME", "/h"}}) == "/x/mcpx");
  CHECK(state({{"XDG_STATE_HOME", "relative"}, {"HOME", "/h"}}) == "/h/.local/state/mcpx");
  CHECK(state({}).empty());
  CHECK(state({{"HOME", "/h"}}, "state_dir: off").empty());
  CHECK(state({{"HOME", "/h"}}, "state_dir: \"${env:HOME}/state\"") == "/h/state");
  const auto beside = load_text("state_dir: state", "/etc/mcpx/mcpx.yaml", {});
  REQUIRE(beside.has_value());
  CHECK(beside->state_dir == "/etc/mcpx/state");
}

}  // namespace
}  // namespace mcpx::config
