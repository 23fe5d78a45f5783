#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/diff.hpp"

namespace mcpx::config {
namespace {

Server stdio(const std::string& name) {
  Server server;
  server.name = name;
  server.command = "server-" + name;
  return server;
}

Server remote(const std::string& name) {
  Server server;
  server.name = name;
  server.url = "https://" + name + ".example/mcp";
  return server;
}

Config five() {
  Config config;
  config.servers = {stdio("a"), stdio("b"), remote("c"), stdio("d"), stdio("e")};
  return config;
}

TEST_CASE("nothing changed: every server is kept") {
  const Difference found = difference(five(), five());
  CHECK(found.servers == std::vector<Fate>(5, Fate::kept));
  CHECK(found.removed.empty());
  CHECK(restart_needed(five(), five()).empty());
}

TEST_CASE("C76: a change of one server is about no other") {
  struct Case {
    const char* name;
    void (*change)(Server&);
    Fate fate;
  };
  const Case cases[] = {
      {"the command", [](Server& s) { s.command = "other"; }, Fate::changed},
      {"an argument", [](Server& s) { s.args = {"-v"}; }, Fate::changed},
      {"a resolved secret",
       [](Server& s) {
         s.env = {{"TOKEN", "new"}};
       },
       Fate::changed},
      {"the environment", [](Server& s) { s.inherit_env = {"SSH_AUTH_SOCK"}; }, Fate::changed},
      {"the directory", [](Server& s) { s.cwd = "/srv"; }, Fate::changed},
      {"from a command to a url", [](Server& s) { s.command = "", s.url = "http://x/"; },
       Fate::changed},
      {"the protocol", [](Server& s) { s.protocol = Protocol::legacy; }, Fate::changed},
      {"the scope", [](Server& s) { s.scope = Scope::session; }, Fate::changed},
      {"the roots",
       [](Server& s) {
         s.roots = {{"file:///srv", ""}};
       },
       Fate::changed},
      {"a timeout", [](Server& s) { s.call_timeout = Milliseconds(1); }, Fate::changed},
      {"a tool's timeout",
       [](Server& s) {
         s.tool_timeouts = {{"*", Milliseconds(1)}};
       },
       Fate::changed},
      {"the idle stop", [](Server& s) { s.idle_stop = Milliseconds(1); }, Fate::changed},
      {"the breaker", [](Server& s) { s.breaker_failures = 1; }, Fate::changed},
      {"a certificate", [](Server& s) { s.tls.ca = "/ca.pem"; }, Fate::changed},
      {"off", [](Server& s) { s.enabled = false; }, Fate::changed},
      {"the prefix", [](Server& s) { s.prefix = ""; }, Fate::relisted},
      {"the prefix to what it was by default", [](Server& s) { s.prefix = "b"; }, Fate::relisted},
      {"an allowed tool", [](Server& s) { s.tools_allow = {"read_*"}; }, Fate::relisted},
      {"a denied tool", [](Server& s) { s.tools_deny = {"write_*"}; }, Fate::relisted},
      {"a denied tool and the command",
       [](Server& s) { s.tools_deny = {"write_*"}, s.command = "other"; }, Fate::changed},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      Config after = five();
      c.change(after.servers[1]);
      const Difference found = difference(five(), after);
      CHECK(found.servers ==
            std::vector<Fate>{Fate::kept, c.fate, Fate::kept, Fate::kept, Fate::kept});
      CHECK(found.removed.empty());
    }
  }
}

TEST_CASE("servers are known by name, wherever they stand") {
  Config after = five();
  after.servers = {stdio("e"), stdio("new"), remote("c"), stdio("a")};
  const Difference found = difference(five(), after);
  CHECK(found.servers == std::vector<Fate>{Fate::kept, Fate::added, Fate::kept, Fate::kept});
  CHECK(found.removed == std::vector<std::string>{"b", "d"});
}

TEST_CASE("what a server runs under belongs to it") {
  Config after = five();
  SECTION("a limit on what servers send") {
    after.limits.message_bytes = 1u << 20;
    CHECK(difference(five(), after).servers == std::vector<Fate>(5, Fate::changed));
  }
  SECTION("the PATH is for those with a command") {
    after.path_extra = {"/opt/bin"};
    const auto fates = difference(five(), after).servers;
    CHECK(fates == std::vector<Fate>{Fate::changed, Fate::changed, Fate::kept, Fate::changed,
                                     Fate::changed});
  }
  SECTION("a limit on clients is not about servers") {
    after.limits.body_bytes = 1u << 20;
    after.limits.sessions = 1;
    after.log_level = "debug";
    CHECK(difference(five(), after).servers == std::vector<Fate>(5, Fate::kept));
  }
}

TEST_CASE("what needs a restart is named as in the file") {
  Config after = five();
  after.listen.http_port = 1;
  after.listen.unix_path = "/run/mcpx.sock";
  after.threads = 7;
  after.state_dir = "/elsewhere";
  after.log_level = "debug";
  CHECK(restart_needed(five(), after) ==
        std::vector<std::string>{"listen.http", "listen.unix", "threads", "state_dir"});
  Config off = five();
  off.listen.http_enabled = false;
  CHECK(restart_needed(five(), off) == std::vector<std::string>{"listen.http"});
}

}  // namespace
}  // namespace mcpx::config
