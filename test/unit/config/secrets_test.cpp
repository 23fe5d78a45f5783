// C71: which values must never be shown, and that no problem shows one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "unit/config/directory.hpp"
#include "unit/config/load.hpp"

namespace mcpx::config {
namespace {

using test::Directory;
using test::load;
using test::problems_of;

bool is_secret(const Config& config, const std::string& value) {
  return std::find(config.secrets.begin(), config.secrets.end(), value) != config.secrets.end();
}

TEST_CASE("C71: a token in env, header, url and argv is a secret of the configuration") {
  const auto result = load(R"(
servers:
  a:
    command: ${env:BIN}/x
    args: ["--root=${env:HOME}", "--id", "${env:ARG}", "--token=literal-token", "--api-key", "literal-key", "plain-arg"]
    env: {GITHUB_TOKEN: ghp_plain, MODE: production, OTHER: "${env:OTHER}"}
  b:
    url: http://user:p%40ss@h/mcp?key=query-value&x=%41bcd
    headers: {Authorization: "Bearer header-token", X-Trace: "${env:TRACE}"}
    proxy: http://puser:p%40pass@proxy:3128
  c: {url: "https://h", proxy: "http://alone@proxy:3128"}
)",
                           {{"BIN", "/opt/bin"},
                            {"HOME", "/home/me"},
                            {"ARG", "argv-value"},
                            {"OTHER", "other-value"},
                            {"TRACE", "trace-value"}});
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  for (const std::string value :
       {"argv-value", "literal-token", "literal-key", "ghp_plain", "other-value", "user:p%40ss",
        "p%40ss", "p@ss", "query-value", "%41bcd", "Abcd", "Bearer header-token", "header-token",
        "trace-value", "p@pass", "cHVzZXI6cEBwYXNz", "YWxvbmU6"}) {
    INFO(value);
    CHECK(is_secret(*result, value));
  }
  // Redacting these would blank out ordinary lines and hide nothing.
  for (const std::string value : {"production", "/home/me", "/opt/bin", "plain-arg", "--id"}) {
    INFO(value);
    CHECK_FALSE(is_secret(*result, value));
  }
}

TEST_CASE("C71: a variable that looks secret is one even in a command") {
  const auto result =
      load("servers: {a: {command: \"x-${env:MY_TOKEN}\"}}", {{"MY_TOKEN", "tttt"}});
  REQUIRE(result.has_value());
  CHECK(is_secret(*result, "tttt"));
}

TEST_CASE("C71: no problem shows the value it complains about") {
  const auto result = load(R"(
servers:
  a: {url: "gopher://user:hunter2@h/?k=hunter2"}
  b: {command: x, args: hunter2}
  c: {url: "http://h", headers: {Authorization: "hunter2\n"}}
  d: {command: x, call_timeout: hunter2}
  e: {command: x, env: hunter2}
  f: {url: "http://h", proxy: "socks5://user:hunter2@h"}
  g: {url: "http://h", auth: {type: bearer, token: hunter2}}
  h: {url: "http://h", auth: {type: basic, username: hunter2, password: "${env:NOPE}"}}
)");
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().size() == 9);
  CHECK(problems_of(result).find("hunter2") == std::string::npos);
}

TEST_CASE("a referenced file is read from beside the configuration, without its last line end") {
  const Directory directory;
  directory.write("token.txt", "file-token\r\n");
  directory.write("two-lines.txt", "first-line\nsecond-line\n\n");
  const std::string file = directory.write("mcpx.yaml", R"(
servers:
  a:
    command: x
    env: {A: "${file:token.txt}", B: "${file:two-lines.txt}"}
)");
  const auto result = load_file(file, {});
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  CHECK(result->servers[0].env[0].second == "file-token");
  CHECK(result->servers[0].env[1].second == "first-line\nsecond-line");
  CHECK(is_secret(*result, "file-token"));
  CHECK(is_secret(*result, "second-line"));
}

TEST_CASE("a referenced file that is too large, no file, or binary is a problem") {
  const Directory directory;
  directory.write("large", std::string((64u << 10) + 1, 'x'));
  directory.write("binary", std::string("a\0b", 3));
  const std::string file = directory.write("mcpx.yaml", R"(
servers:
  a:
    command: x
    args:
      - ${file:large}
      - ${file:binary}
      - ${file:.}
      - ${file:/dev/zero}
      - ${file:}
      - ${file:/proc/self/mem}
)");
  const auto result = load_file(file, {});
  REQUIRE_FALSE(result.has_value());
  const auto& problems = result.error();
  REQUIRE(problems.size() == 6);
  CHECK(problems[0].message.find("at most 65536 bytes are read") != std::string::npos);
  CHECK(problems[1].message.find("NUL") != std::string::npos);
  CHECK(problems[2].message.find("not a regular file") != std::string::npos);
  CHECK(problems[3].message.find("not a regular file") != std::string::npos);
  CHECK(problems[4].message.find("names no file") != std::string::npos);
  CHECK(problems[5].message.find("cannot be read") != std::string::npos);
  for (std::size_t i = 0; i < problems.size(); ++i)
    CHECK(problems[i].line == static_cast<int>(i) + 6);
}

}  // namespace
}  // namespace mcpx::config
