// What a wrong configuration is told: one table of texts and the lines they answer.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unit/config/load.hpp"

namespace mcpx::config {
namespace {

using test::load;
using test::problems_of;

struct Case {
  std::string name, text;
  std::vector<std::string> lines;  // the problems in order, each as its beginning
};

// `text` is put inside a server, indented by four.
std::string in_server(const std::string& text) {
  return "servers:\n  a:\n    " + text + "\n";
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"a misspelt root key",
       "server:\n  a: {command: x}\n",
       {"mcpx.yaml:1:1: unknown key 'server'; did you mean 'servers'?"}},
      {"a size of no pages",
       "lists: {page_size: 0}",
       {"mcpx.yaml:1:20: 'page_size' must be from 1 to 100000"}},
      {"a client with a name too short",
       "clients:\n  a: {names: {max: 8}}",
       {"mcpx.yaml:2:20: 'max' must be from 16 to 256"}},
      {"a charset nobody knows",
       "clients:\n  a: {names: {charset: words}}",
       {"mcpx.yaml:2:24: 'charset' cannot be 'words'; did you mean 'word'?"}},
      {"a misspelt server key",
       in_server("comand: x"),
       {"mcpx.yaml:2:3: server 'a' has neither 'command' nor 'url'; add 'command'",
        "mcpx.yaml:3:5: unknown key 'comand'; did you mean 'command'?"}},
      {"a key in camel case",
       in_server("command: x\n    callTimeout: 5s"),
       {"mcpx.yaml:4:5: unknown key 'callTimeout'; did you mean 'call_timeout'?"}},
      {"another program's key",
       in_server("serverUrl: http://x/"),
       {"mcpx.yaml:2:3: server 'a' has neither",
        "mcpx.yaml:3:5: unknown key 'serverUrl'; did you mean 'url'?"}},
      {"a key like nothing known",
       "listen: {quite_another: 1}",
       {"mcpx.yaml:1:10: unknown key 'quite_another'; known here: http, unix, allowed_hosts, "
        "allowed_origins"}},
      {"text for a list",
       in_server("command: x\n    args: -y"),
       {"mcpx.yaml:4:11: 'args' must be a list, not text; write for example: args: [\"-y\","}},
      {"a list for text",
       in_server("command: [npx, -y]"),
       {"mcpx.yaml:3:14: 'command' must be text, not a list; write for example: command: npx"}},
      {"a number for text",
       in_server("command: 42"),
       {"mcpx.yaml:3:14: 'command' must be text, not a number"}},
      {"nothing for text",
       in_server("command:"),
       {"mcpx.yaml:3:5: 'command' must be text, not nothing"}},
      {"text for a mapping",
       "servers: npx\n",
       {"mcpx.yaml:1:10: 'servers' must be a mapping, not text"}},
      {"a list of servers",
       "servers:\n  - command: x\n",
       {"mcpx.yaml:2:3: 'servers' must be a mapping, not a list; write for example: servers: {"}},
      {"a server that is nothing",
       "servers:\n  a:\n",
       {"mcpx.yaml:2:3: 'a' must be a mapping, not nothing"}},
      {"a list as the file",
       "- a\n",
       {"mcpx.yaml:1:1: 'the configuration' must be a mapping, not a list"}},
      {"yes for a boolean",
       in_server("command: x\n    enabled: yes"),
       {"mcpx.yaml:4:14: 'enabled' must be true or false, not text; write for example: enabled: "
        "true"}},
      {"a quoted boolean",
       in_server("command: x\n    enabled: \"true\""),
       {"mcpx.yaml:4:14: 'enabled' must be true or false, not text"}},
      {"a duration without unit",
       in_server("command: x\n    call_timeout: 30"),
       {"mcpx.yaml:4:19: 'call_timeout' must be a duration with its unit (ms, s, m, h), at most a "
        "week, not a number; write for example: call_timeout: 60s"}},
      {"a timeout of nothing",
       in_server("command: x\n    call_timeout: 0s"),
       {"mcpx.yaml:4:19: 'call_timeout' must be at least 1ms"}},
      {"a decimal size",
       "limits: {body: 16MB}",
       {"mcpx.yaml:1:16: 'body' must be a size in B, KiB, MiB or GiB, not text"}},
      {"a size out of range",
       "limits: {body: 5}",
       {"mcpx.yaml:1:16: 'body' must be from 1KiB to 1GiB"}},
      {"a negative number", "threads: -1", {"mcpx.yaml:1:10: 'threads' must be a whole number"}},
      {"a depth out of range",
       "limits: {json_depth: 100000}",
       {"mcpx.yaml:1:22: 'json_depth' must be from 16 to 1024"}},
      {"an unknown level",
       "log: {level: warn}",
       {"mcpx.yaml:1:14: 'level' cannot be 'warn'; did you mean 'warning'?"}},
      {"a port too high",
       "listen: {http: 70000}",
       {"mcpx.yaml:1:16: 'http' must be host:port, a port, or off, not a number"}},
      {"a relative socket",
       "listen: {unix: mcpx.sock}",
       {"mcpx.yaml:1:16: 'unix' must be an absolute path"}},
      {"an origin without scheme",
       "listen: {allowed_origins: [app.example]}",
       {"mcpx.yaml:1:27: 'allowed_origins' must be a list of origins"}},
      {"command and url",
       in_server("command: x\n    url: http://h/"),
       {"mcpx.yaml:4:5: server 'a' has both 'command' and 'url'"}},
      {"neither command nor url", "servers: {a: {}}", {"mcpx.yaml:1:11: server 'a' has neither"}},
      {"another scheme",
       in_server("url: ws://h/mcp"),
       {"mcpx.yaml:3:10: 'url' must be an address"}},
      {"a type against the rest",
       in_server("url: http://h/\n    type: stdio"),
       {"mcpx.yaml:4:5: 'type: stdio' does not go with 'url'"}},
      {"the sse transport of a program",
       in_server("command: x\n    type: sse"),
       {"mcpx.yaml:4:5: 'type: sse' does not go with 'command'"}},
      {"the sse transport, modern",
       in_server("url: http://h/\n    type: sse\n    protocol: modern"),
       {"mcpx.yaml:5:5: 'protocol: modern' does not go with 'type: sse'"}},
      {"enabled and disabled",
       in_server("command: x\n    enabled: true\n    disabled: true"),
       {"mcpx.yaml:5:5: 'enabled' and 'disabled' are both set"}},
      {"a duplicate key",
       in_server("command: x\n    command: y"),
       {"mcpx.yaml:4:5: duplicate key 'command'; it is already set at line 3, column 5"}},
      {"a server twice in one mapping",
       "servers:\n  a: {command: x}\n  a: {command: y}\n",
       {"mcpx.yaml:3:3: duplicate key 'a'; it is already set at line 2, column 3"}},
      {"a server in both mappings",
       "servers: {a: {command: x}}\nmcpServers: {a: {command: y}}\n",
       {"mcpx.yaml:2:14: server 'a' is defined twice; the first one is at line 1, column 11"}},
      {"a bad name",
       "servers: {\"a b\": {command: x}}",
       {"mcpx.yaml:1:11: 'a b' is no name of a server"}},
      {"a bad prefix",
       in_server("command: x\n    prefix: a.b"),
       {"mcpx.yaml:4:13: 'prefix' must be at most 64 characters"}},
      {"one prefix twice",
       "servers:\n  a: {command: x, prefix: p}\n  p: {command: y}\n",
       {"mcpx.yaml:3:3: server 'p' has the prefix 'p' of the server at line 2; give one"}},
      {"a missing variable",
       in_server("command: x\n    args: [\"${env:NOPE}\"]"),
       {"mcpx.yaml:4:12: the environment variable 'NOPE' is not set; set NOPE for mcpxd"}},
      {"a missing file",
       in_server("command: x\n    env: {T: \"${file:nope.txt}\"}"),
       {"mcpx.yaml:4:14: the file 'nope.txt' does not exist or cannot be reached; paths are"}},
      {"a bare reference",
       in_server("command: ${HOME}/x"),
       {"mcpx.yaml:3:14: unknown reference '${HOME}'; did you mean '${env:HOME}'?"}},
      {"an editor's reference",
       in_server("command: \"${input:token}\""),
       {"mcpx.yaml:3:14: unknown reference '${input:token}'; write ${env:NAME} or ${file:PATH}"}},
      {"an open reference",
       in_server("command: \"${env:X\""),
       {"mcpx.yaml:3:14: a reference is not closed"}},
      {"a tilde",
       in_server("command: ~/bin/x"),
       {"mcpx.yaml:3:14: 'command' must be a path without '~'"}},
      {"a header of ours",
       in_server("url: http://h/\n    headers: {mcp-session-id: x}"),
       {"mcpx.yaml:4:15: 'mcp-session-id' is a header that mcpx sets itself"}},
      {"a header of a tool's argument",
       in_server("url: http://h/\n    headers: {Mcp-Param-X: x}"),
       {"mcpx.yaml:4:15: 'Mcp-Param-X' is a header that mcpx sets itself"}},
      {"a header of the connection",
       in_server("url: http://h/\n    headers: {Expect: 100-continue}"),
       {"mcpx.yaml:4:15: 'Expect' is a header that mcpx sets itself"}},
      {"a header with a line end",
       in_server("url: http://h/\n    headers: {X: \"a\\r\\nB: c\"}"),
       {"mcpx.yaml:4:15: 'X' has a value with a line end"}},
      {"a variable without name",
       in_server("command: x\n    env: {\"A=B\": c}"),
       {"mcpx.yaml:4:11: 'A=B' is no name of a variable"}},
      {"a null in env",
       in_server("command: x\n    env: {A: }"),
       {"mcpx.yaml:4:11: 'A' must be text, not nothing"}},
      {"a mapping among args",
       in_server("command: x\n    args: [a, {b: c}]"),
       {"mcpx.yaml:4:15: 'args' must be a list of texts, and holds a mapping"}},
      {"broken brackets", "servers: {a: {command: x}\n", {"mcpx.yaml:2:1: syntax error: "}},
      {"a tab for indentation", "servers:\n\ta: {command: x}\n", {"mcpx.yaml:2:"}},
      {"a reference in a flow list",
       in_server("command: x\n    args: [${env:X}]"),
       {"mcpx.yaml:4:13: syntax error: end of sequence flow not found; inside [ ] and { } quote"}},
      {"a comment in JSON",
       "{ // note\n\"servers\": {}}",
       {"mcpx.yaml:1:3: a key must be text; JSON has no comments"}},
      {"an open quote",
       in_server("command: \"x\n    args: []"),
       {"mcpx.yaml:3:14: the quote that opens here is never closed; add the closing \""}},
      {"a second document",
       "servers: {}\n---\nservers: {}\n",
       {"mcpx.yaml:2:1: a second document starts here"}},
      {"text after JSON", "{\"servers\": {}} x", {"mcpx.yaml:1:17: a second document starts here"}},
      {"a tag", "servers: !!binary aGk=\n", {"mcpx.yaml:1:10: the tag '"}},
      {"a merge of text",
       "servers:\n  a: {command: x, <<: y}\n",
       {"mcpx.yaml:2:19: '<<' merges a mapping"}},
      {"an unknown anchor", "servers: *nope\n", {"mcpx.yaml:1:10: syntax error: "}},
  };
  return kCases;
}

TEST_CASE("C75: each mistake is told with its place, its cause and a suggestion") {
  for (const Case& c : cases()) {
    DYNAMIC_SECTION(c.name) {
      const auto result = load(c.text);
      INFO(problems_of(result));
      REQUIRE_FALSE(result.has_value());
      REQUIRE(result.error().size() == c.lines.size());
      for (std::size_t i = 0; i < c.lines.size(); ++i) {
        CHECK(result.error()[i].text().substr(0, c.lines[i].size()) == c.lines[i]);
        CHECK_FALSE(result.error()[i].suggestion.empty());
      }
    }
  }
}

TEST_CASE("all problems of a file are told, in the order of the file") {
  const auto result = load(R"(threads: many
limits: {body: big}
servers:
  a: {comand: x}
  b: {command: y, args: z, enabled: maybe}
log: {level: loud}
)");
  REQUIRE_FALSE(result.has_value());
  std::vector<int> lines;
  for (const Problem& problem : result.error())
    lines.push_back(problem.line);
  CHECK(lines == std::vector<int>{1, 2, 4, 4, 5, 5, 6});
}

TEST_CASE("a flood of problems is cut, and says so") {
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += "key" + std::to_string(i) + ": 1\n";
  const auto result = load(text);
  REQUIRE_FALSE(result.has_value());
  REQUIRE(result.error().size() == 101);
  CHECK(result.error().back().text() ==
        "mcpx.yaml: 400 more problems are not shown; correct these first");
}

TEST_CASE("references of a disabled server need not resolve, but must be well formed") {
  CHECK(load(in_server("command: x\n    enabled: false\n    args: [\"${env:NOPE}\"]")).has_value());
  CHECK(load(in_server("command: ${env:NOPE}\n    disabled: true")).has_value());
  CHECK(load(in_server("url: ${env:NOPE}\n    disabled: true")).has_value());
  CHECK_FALSE(load(in_server("command: ${nope}\n    enabled: false")).has_value());
}

}  // namespace
}  // namespace mcpx::config
