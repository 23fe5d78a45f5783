// What a right configuration means.
#include <catch2/catch.hpp>
#include <string>

#include "config/config.hpp"
#include "unit/config/load.hpp"

namespace mcpx::config {
namespace {

using test::load;
using test::problems_of;

TEST_CASE("an empty file, a comment and an empty document load without servers, with a warning") {
  for (const std::string text : {"", "# nothing yet\n", "---\n", "{}", "servers:\n"}) {
    const auto result = load(text);
    INFO(text << problems_of(result));
    REQUIRE(result.has_value());
    CHECK(result->servers.empty());
    REQUIRE(result->warnings.size() == 1);
    CHECK(result->warnings[0] == "mcpx.yaml: no servers are configured");
    CHECK(result->listen.http_port == 7332);
  }
}

TEST_CASE("every key of a server reaches its field") {
  const auto result = load(R"(
servers:
  one:
    command: /bin/server
    args: [-v, 8080, "${env:DIR}", true]
    env: {PORT: 8080, DEBUG: true, EMPTY: ""}
    inherit_env: [SSH_AUTH_SOCK]
    cwd: /srv
    enabled: false
    prefix: ""
    tools: {allow: ["read_*"], deny: ["read_secret"]}
    protocol: legacy
    start_timeout: 1m
    probe_timeout: 250ms
    call_timeout: 1h
    list_timeout: 2s
    stop_grace: 0
    idle_stop: 10m
  two:
    url: http://127.0.0.1:3000/mcp
    headers: {X-Plain: abcd}
    type: http
)",
                           {{"DIR", "/data"}});
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  REQUIRE(result->servers.size() == 2);
  const Server& one = result->servers[0];
  CHECK(one.name == "one");
  CHECK(one.command == "/bin/server");
  CHECK(one.args == std::vector<std::string>{"-v", "8080", "/data", "true"});
  CHECK(one.env == std::vector<std::pair<std::string, std::string>>{
                       {"PORT", "8080"}, {"DEBUG", "true"}, {"EMPTY", ""}});
  CHECK(one.inherit_env == std::vector<std::string>{"SSH_AUTH_SOCK"});
  CHECK(one.cwd == "/srv");
  CHECK_FALSE(one.enabled);
  CHECK(one.prefix == std::optional<std::string>(""));
  CHECK(one.protocol == Protocol::legacy);
  CHECK(one.start_timeout == Milliseconds(60'000));
  CHECK(one.probe_timeout == Milliseconds(250));
  CHECK(one.call_timeout == Milliseconds(3'600'000));
  CHECK(one.list_timeout == Milliseconds(2'000));
  CHECK(one.stop_grace == Milliseconds(0));
  CHECK(one.idle_stop == std::optional(Milliseconds(600'000)));
  CHECK_FALSE(one.is_http());
  const Server& two = result->servers[1];
  CHECK(two.is_http());
  CHECK(two.enabled);
  CHECK_FALSE(two.prefix.has_value());
  CHECK(two.headers == std::vector<std::pair<std::string, std::string>>{{"X-Plain", "abcd"}});
}

TEST_CASE("every key outside the servers reaches its field") {
  const auto result = load(R"(
listen:
  http: "[::1]:8080"
  unix: /run/mcpx.sock
  allowed_hosts: [mcpx.example, "mcpx.example:8080"]
  allowed_origins: ["https://app.example"]
limits: {body: 1MiB, message: 2 MiB, head: 16KiB, json_depth: 64, connections: 10, sessions: 11,
         calls_per_server: 12, stderr: 4096}
threads: 3
log: {level: debug, format: json, file: /tmp/x}
names: {max: 48}
path: [/opt/node/bin]
ready_wait: 0
shutdown_grace: 250ms
x-anchors: {anything: [goes]}
)");
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  CHECK(result->listen.http_host == "::1");
  CHECK(result->listen.http_port == 8080);
  CHECK(result->listen.unix_path == "/run/mcpx.sock");
  CHECK(result->listen.allowed_hosts.size() == 2);
  CHECK(result->listen.allowed_origins.size() == 1);
  CHECK(result->limits.body_bytes == 1u << 20);
  CHECK(result->limits.message_bytes == 2u << 20);
  CHECK(result->limits.head_bytes == 16u << 10);
  CHECK(result->limits.json_depth == 64);
  CHECK(result->limits.connections == 10);
  CHECK(result->limits.sessions == 11);
  CHECK(result->limits.calls_per_server == 12);
  CHECK(result->limits.stderr_bytes == 4096);
  CHECK(result->threads == 3);
  CHECK(result->log_level == "debug");
  CHECK(result->log_format == LogFormat::json);
  CHECK(result->log_file == "/tmp/x");
  CHECK(result->names_max == 48);
  CHECK(result->path_extra == std::vector<std::string>{"/opt/node/bin"});
  CHECK(result->ready_wait == Milliseconds(0));
  CHECK(result->shutdown_grace == Milliseconds(250));
  CHECK(result->file == "mcpx.yaml");
}

TEST_CASE("pages of lists, and what clients of some name are shown") {
  const auto result = load(R"(
lists: {page_size: 50}
clients:
  "Visual Studio*": {names: {max: 40, charset: word}}
  reader: {page_size: all}
  quiet:
)");
  REQUIRE(result.has_value());
  CHECK(result->page_size == 50);
  REQUIRE(result->clients.size() == 3);
  CHECK(result->clients[0].pattern == "Visual Studio*");
  CHECK(result->clients[0].names_max == 40);
  CHECK(result->clients[0].names_charset == NameCharset::word);
  CHECK_FALSE(result->clients[0].page_size.has_value());
  CHECK(result->clients[1].page_size == 0);
  CHECK_FALSE(result->clients[2].names_max.has_value());
  CHECK(load("lists: {page_size: all}")->page_size == 0);
  CHECK(load("")->page_size == 0);
}

TEST_CASE("C75: `servers` and the mcpServers JSON of IDEs load, apart and together") {
  const auto json = load(R"({
	"mcpServers": {
		"memory": {"command": "npx", "args": ["-y", "x"], "env": {"N": "\ud83d\ude00 \u00e9 \/"}},
		"remote": {"type": "streamable-http", "url": "http://localhost/mcp", "headers": {}},
		"off": {"command": "never", "disabled": true, "env": {"T": "${env:UNSET}"}, "autoApprove": ["x"]}
	}
})");
  INFO(problems_of(json));
  REQUIRE(json.has_value());
  REQUIRE(json->servers.size() == 3);
  CHECK(json->servers[0].env[0].second == "\xf0\x9f\x98\x80 \xc3\xa9 /");
  CHECK(json->servers[1].is_http());
  CHECK_FALSE(json->servers[2].enabled);
  REQUIRE(json->warnings.size() == 1);
  CHECK(json->warnings[0].find("mcpx.yaml:5:") == 0);
  CHECK(json->warnings[0].find("'autoApprove'") != std::string::npos);

  const auto both = load("servers:\n  a: {command: x}\nmcpServers:\n  b: {command: y}\n");
  REQUIRE(both.has_value());
  CHECK(both->servers.size() == 2);
  CHECK(both->servers[0].name == "a");
}

TEST_CASE("anchors and merge keys share settings; what a server sets itself wins") {
  const auto result = load(R"(
x-common: &common {call_timeout: 5s, env: {A: b}}
servers:
  one: {<<: *common, command: x}
  two:
    <<: [{call_timeout: 7s}, *common]
    command: y
    env: {}
)");
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  CHECK(result->servers[0].call_timeout == Milliseconds(5'000));
  CHECK(result->servers[0].env.size() == 1);
  CHECK(result->servers[1].call_timeout == Milliseconds(7'000));
  CHECK(result->servers[1].env.empty());
}

TEST_CASE("references are replaced, and $${ stands for ${") {
  const auto result = load(R"(
servers:
  a:
    command: ${env:BIN}/run
    args: ["$${env:BIN}", "$HOME", "a${env:A}b${env:A}c", "100$", "$$"]
)",
                           {{"BIN", "/opt"}, {"A", "${env:BIN}"}});
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  CHECK(result->servers[0].command == "/opt/run");
  // What a variable holds is not looked into again.
  CHECK(result->servers[0].args ==
        std::vector<std::string>{"${env:BIN}", "$HOME", "a${env:BIN}b${env:BIN}c", "100$", "$$"});
}

TEST_CASE("listen.http may be an address, a port or off") {
  CHECK(load("listen: {http: 80}")->listen.http_host == "127.0.0.1");
  CHECK(load("listen: {http: 80}")->listen.http_port == 80);
  CHECK(load("listen: {http: 'localhost:0'}")->listen.http_port == 0);
  CHECK_FALSE(load("listen: {http: off, unix: /x}")->listen.http_enabled);
  const auto deaf = load("listen: {http: off}\nservers: {a: {command: x}}");
  REQUIRE(deaf->warnings.size() == 1);
  CHECK(deaf->warnings[0].find("nobody can connect") != std::string::npos);
}

TEST_CASE("a relative cwd is taken from the directory of the file") {
  const auto result = load_text("servers: {a: {command: x, cwd: work}}", "/etc/mcpx/mcpx.yaml", {});
  REQUIRE(result.has_value());
  CHECK(result->servers[0].cwd == "/etc/mcpx/work");
}

TEST_CASE("C72: deny wins over allow, and an empty allow lets everything else through") {
  Server server;
  CHECK(server.tool_allowed("anything"));
  server.tools_deny = {"delete_*", "?"};
  CHECK_FALSE(server.tool_allowed("delete_file"));
  CHECK_FALSE(server.tool_allowed("x"));
  CHECK(server.tool_allowed("read"));
  server.tools_allow = {"read*", "delete_*"};
  CHECK(server.tool_allowed("read_file"));
  CHECK_FALSE(server.tool_allowed("delete_file"));
  CHECK_FALSE(server.tool_allowed("write"));
}

TEST_CASE("the default path follows MCPX_CONFIG, then XDG, then HOME") {
  using test::environment_of;
  CHECK(default_path(environment_of({{"MCPX_CONFIG", "/a.yaml"}, {"HOME", "/h"}})) == "/a.yaml");
  CHECK(default_path(environment_of({{"XDG_CONFIG_HOME", "/x"}, {"HOME", "/h"}})) ==
        "/x/mcpx/mcpx.yaml");
  CHECK(default_path(environment_of({{"HOME", "/h"}})) == "/h/.config/mcpx/mcpx.yaml");
  CHECK(default_path(environment_of({})) == "/etc/mcpx/mcpx.yaml");
}

}  // namespace
}  // namespace mcpx::config
