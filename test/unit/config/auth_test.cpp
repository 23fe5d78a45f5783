// `auth:`: what each kind becomes, which forms of it are secrets, and what is refused.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "unit/config/load.hpp"

namespace mcpx::config {
namespace {

using test::load;
using test::problems_of;

using Headers = std::vector<std::pair<std::string, std::string>>;

const std::map<std::string, std::string> kVariables = {
    {"TOKEN", "tok-1/2"}, {"PASSWORD", "p:a s&s"}, {"NAME", "aladdin"}, {"SPACED", "Bearer tok"},
    {"EMPTY", ""},        {"LINES", "one\ntwo"},   {"COLON", "a:b"}};

LoadResult with_auth(const std::string& auth, const std::string& more = "") {
  return load("servers:\n  a:\n    url: http://h/mcp?x=1#f\n    auth: " + auth + "\n" + more,
              kVariables);
}

bool is_secret(const Config& config, const std::string& value) {
  return std::find(config.secrets.begin(), config.secrets.end(), value) != config.secrets.end();
}

TEST_CASE("auth becomes a header, or a parameter of the URL, and every form of it is a secret") {
  SECTION("bearer") {
    const auto result = with_auth("{type: bearer, token: \"${env:TOKEN}\"}");
    INFO(problems_of(result));
    REQUIRE(result.has_value());
    CHECK(result->servers[0].headers == Headers{{"Authorization", "Bearer tok-1/2"}});
    CHECK(is_secret(*result, "tok-1/2"));
    CHECK(result->warnings.empty());
  }
  SECTION("header, with text around the reference, beside other headers") {
    const auto result = with_auth("{type: header, name: X-Api-Key, value: \"Key ${env:TOKEN}\"}",
                                  "    headers: {X-Team: core}\n");
    INFO(problems_of(result));
    REQUIRE(result.has_value());
    CHECK(result->servers[0].headers == Headers{{"X-Team", "core"}, {"X-Api-Key", "Key tok-1/2"}});
    CHECK(is_secret(*result, "tok-1/2"));
    CHECK(is_secret(*result, "Key tok-1/2"));
  }
  SECTION("basic") {
    const auto result =
        with_auth("{type: basic, username: \"${env:NAME}\", password: \"${env:PASSWORD}\"}");
    INFO(problems_of(result));
    REQUIRE(result.has_value());
    const std::string coded = "YWxhZGRpbjpwOmEgcyZz";
    CHECK(result->servers[0].headers == Headers{{"Authorization", "Basic " + coded}});
    CHECK(is_secret(*result, "p:a s&s"));
    CHECK(is_secret(*result, coded));
  }
  SECTION("query, before the fragment, with a warning") {
    const auto result = with_auth("{type: query, name: api key, value: \"${env:PASSWORD}\"}");
    INFO(problems_of(result));
    REQUIRE(result.has_value());
    CHECK(result->servers[0].url == "http://h/mcp?x=1&api%20key=p%3Aa%20s%26s#f");
    CHECK(result->servers[0].headers.empty());
    CHECK(is_secret(*result, "p:a s&s"));
    CHECK(is_secret(*result, "p%3Aa%20s%26s"));
    REQUIRE(result->warnings.size() == 1);
    CHECK(result->warnings[0].find("mcpx.yaml:4:5: a secret in the query") == 0);
  }
}

TEST_CASE("the query of a URL without one begins with it") {
  const auto result = load(
      "servers: {a: {url: \"https://h\", auth: {type: query, name: key, value: \"${env:TOKEN}\"}}}",
      kVariables);
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  CHECK(result->servers[0].url == "https://h?key=tok-1%2F2");
}

struct Case {
  std::string name, auth, problem, more = {};
};

TEST_CASE("an auth that cannot work is told with its place and what to do") {
  const std::vector<Case> cases = {
      {"a literal token", "{type: bearer, token: abcdef}",
       "mcpx.yaml:4:33: 'token' must be a reference, not the value itself; write token: "
       "${env:NAME} or token: ${file:PATH}"},
      {"an escaped reference", "{type: bearer, token: \"$${env:TOKEN}\"}",
       "mcpx.yaml:4:33: 'token' must be a reference"},
      {"a number as the token", "{type: bearer, token: 1234}",
       "mcpx.yaml:4:33: 'token' must be a reference"},
      {"a list as the token", "{type: bearer, token: [a]}",
       "mcpx.yaml:4:33: 'token' must be text, not a list"},
      {"a variable that is not set", "{type: bearer, token: \"${env:NOPE}\"}",
       "mcpx.yaml:4:33: the environment variable 'NOPE' is not set"},
      {"an empty variable", "{type: bearer, token: \"${env:EMPTY}\"}",
       "mcpx.yaml:4:33: what 'token' refers to is empty; correct the variable"},
      {"a value of two lines", "{type: bearer, token: \"${env:LINES}\"}",
       "mcpx.yaml:4:33: what 'token' refers to holds a line end"},
      {"a token with its scheme", "{type: bearer, token: \"${env:SPACED}\"}",
       "mcpx.yaml:4:26: what 'token' refers to holds a space; it is the token alone"},
      {"a user name with a colon",
       "{type: basic, username: \"${env:COLON}\", password: \"${env:PASSWORD}\"}",
       "mcpx.yaml:4:25: what 'username' refers to holds a colon"},
      {"no type", "{token: \"${env:TOKEN}\"}",
       "mcpx.yaml:4:5: 'auth' lacks 'type'; add 'type': bearer, header, basic or query"},
      {"a misspelt type", "{type: baerer, token: \"${env:TOKEN}\"}",
       "mcpx.yaml:4:18: 'type' cannot be 'baerer'; did you mean 'bearer'?"},
      {"oauth", "{type: oauth}",
       "mcpx.yaml:4:18: 'type: oauth' is not there yet: mcpx cannot sign in; use a token"},
      {"a key of another type", "{type: bearer, token: \"${env:TOKEN}\", value: \"${env:TOKEN}\"}",
       "mcpx.yaml:4:49: 'value' does not go with 'type: bearer'"},
      {"a key that is missing", "{type: basic, username: \"${env:NAME}\"}",
       "mcpx.yaml:4:5: 'auth' of 'type: basic' lacks 'password'; add 'password'"},
      {"an unknown key", "{type: bearer, token: \"${env:TOKEN}\", tokn: x}",
       "mcpx.yaml:4:49: unknown key 'tokn'; did you mean 'token'?"},
      {"nothing", "", "mcpx.yaml:4:5: 'auth' must be a mapping, not nothing"},
      {"text", "bearer", "mcpx.yaml:4:11: 'auth' must be a mapping, not text"},
      {"a header that is set already", "{type: bearer, token: \"${env:TOKEN}\"}",
       "mcpx.yaml:4:5: 'auth' sets the header 'Authorization', and 'headers' sets it too",
       "    headers: {authorization: x}\n"},
      {"a parameter that is set already", "{type: query, name: x, value: \"${env:TOKEN}\"}",
       "mcpx.yaml:4:25: 'url' has a parameter 'x' already"},
      {"a name that is none", "{type: header, name: a b, value: \"${env:TOKEN}\"}",
       "mcpx.yaml:4:26: 'a b' is no name of an HTTP header"},
      {"a header of ours", "{type: header, name: mcp-session-id, value: \"${env:TOKEN}\"}",
       "mcpx.yaml:4:26: 'mcp-session-id' is a header that mcpx sets itself"},
      {"an empty name", "{type: header, name: \"\", value: \"${env:TOKEN}\"}",
       "mcpx.yaml:4:32: 'name' must be the name of a header or a parameter"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const auto result = with_auth(c.auth, c.more);
      INFO(problems_of(result));
      REQUIRE_FALSE(result.has_value());
      REQUIRE(result.error().size() == 1);
      CHECK(result.error()[0].text().substr(0, c.problem.size()) == c.problem);
      CHECK_FALSE(result.error()[0].suggestion.empty());
    }
  }
}

TEST_CASE("auth is refused for a program") {
  const auto result =
      load("servers: {a: {command: x, auth: {type: bearer, token: \"${env:TOKEN}\"}}}", kVariables);
  REQUIRE_FALSE(result.has_value());
  CHECK(problems_of(result) ==
        "mcpx.yaml:1:27: 'auth' is for a server with 'url'; give a program its secret in 'env'\n");
}

TEST_CASE("the auth of a disabled server needs no variable, but its keys must be right") {
  const std::string off = "servers: {a: {url: http://h, enabled: false, auth: ";
  CHECK(load(off + "{type: bearer, token: \"${env:NOPE}\"}}}").has_value());
  CHECK(load(off + "{type: oauth}}}").has_value());
  CHECK_FALSE(load(off + "{type: bearer, token: literal}}}").has_value());
}

}  // namespace
}  // namespace mcpx::config
