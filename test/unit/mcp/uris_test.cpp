#include <boost/url/parse.hpp>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "mcp/uris.hpp"

namespace mcpx::mcp {
namespace {

struct Example {
  const char* original;
  const char* exposed;
};

TEST_CASE("a resource URI is qualified by the name of its server") {
  const Example examples[] = {
      {"file:///srv/a%20b.txt?x=1#top", "mcpx://files/file:///srv/a%20b.txt?x=1#top"},
      {"test://static-text", "mcpx://files/test://static-text"},
      {"urn:isbn:0451450523", "mcpx://files/urn:isbn:0451450523"},
      {"mailto:x@example.com", "mcpx://files/mailto:x@example.com"},
      {"test://template/{id}/data", "mcpx://files/test://template/{id}/data"},
      {"file:///my docs/{+path}{?q}", "mcpx://files/file:///my docs/{+path}{?q}"},
      {"ui://widget/main.html", "ui://mcpx.files/widget/main.html"},
      {"skill://review/SKILL.md", "skill://mcpx.files/review/SKILL.md"},
      {"skill://acme/a b/SKILL.md", "skill://mcpx.files/=/acme/a%20b/SKILL.md"},
      {"skill://mcpx.inner/review", "skill://mcpx.files/mcpx.inner/review"},
      {"ui:opaque", "mcpx://files/ui:opaque"},
      {"http://[::1]/a%20b", "mcpx://files/=/http://%5B::1%5D/a%2520b"},
      {"file:///a b", "mcpx://files/=/file:///a%20b"},
      {"=/x", "mcpx://files/=/=/x"},
      {"mcpx://inner/file:///x", "mcpx://files/mcpx://inner/file:///x"},
      {"ui://mcpx.inner/x", "ui://mcpx.files/mcpx.inner/x"},
  };
  for (const auto& example : examples) {
    DYNAMIC_SECTION(example.original) {
      REQUIRE(exposed_uri("files", example.original) == example.exposed);
      const auto parsed = parse_exposed_uri(example.exposed);
      REQUIRE(parsed.has_value());
      REQUIRE(parsed->server == "files");
      REQUIRE(parsed->original == example.original);
    }
  }
}

TEST_CASE("a URI that no server of ours qualified is not read as one") {
  for (const char* foreign :
       {"", "file:///x", "mcpx:", "mcpx://", "mcpx://files", "mcpx:///x", "mcpx://a.b/x",
        "mcpx://a%20b/x", "MCPX://files/x", "ui://files/x", "ui://mcpx./x", "ui://mcpx.files",
        "skill://files/x", "skill://mcpx.files", "skill://mcpx./x", "ui://mcpx.a.b/x",
        "mcpx://a@b/x"}) {
    CAPTURE(foreign);
    REQUIRE_FALSE(parse_exposed_uri(foreign).has_value());
  }
}

TEST_CASE("a half escape in a URI that a client made is taken literally") {
  REQUIRE(parse_exposed_uri("mcpx://s/=/a%2")->original == "a%2");
  REQUIRE(parse_exposed_uri("mcpx://s/=/a%zz%41")->original == "a%zzA");
  REQUIRE(parse_exposed_uri("mcpx://s/=/%")->original == "%");
}

const std::vector<std::string>& servers() {
  static const std::vector<std::string> names = {"a", "files", "ha-mcp", "b1_x", "_",
                                                 "-", "0",     "Upper",  "mcpx"};
  return names;
}

std::string random_text(std::mt19937& random, bool valid) {
  const std::vector<std::string> good = {
      "file:///", "test://", "urn:a:",    "mailto:", "a",         "Z9",          "/",  "//",
      ":",        "%20",     "%C3%A9",    "?",       "x=1&y=2",   "~",           "..", "=",
      "=/",       "@",       "!$'()*+,;", "ui://",   "mcpx://s/", "ui://mcpx.s/"};
  const std::vector<std::string> bad = {" ",  "[", "]",  "%", "%2", "#",    "##", "\xC3\xA9",
                                        "\"", "<", "\\", "^", "|",  "\x01", "`"};
  std::uniform_int_distribution<std::size_t> any(0, good.size() + (valid ? 0 : bad.size()) - 1);
  std::uniform_int_distribution<int> count(0, 8);
  std::string out = valid ? "s:" : "";
  for (int i = count(random); i > 0; --i) {
    const std::size_t at = any(random);
    out += at < good.size() ? good[at] : bad[at - good.size()];
  }
  return out;
}

TEST_CASE("every URI of every server comes back, nested ones too, and no two meet",
          "[req:resources-custom-scheme-rfc3986]") {
  std::mt19937 random(6570);
  std::set<std::string> exposed, pairs;
  for (int i = 0; i < 4000; ++i) {
    const std::string original = random_text(random, i % 2 == 0);
    const std::string& server = servers()[static_cast<std::size_t>(i) % servers().size()];
    const std::string once = exposed_uri(server, original);
    CAPTURE(server, original, once);
    const auto parsed = parse_exposed_uri(once);
    REQUIRE(parsed.has_value());
    REQUIRE(parsed->server == server);
    REQUIRE(parsed->original == original);
    // What an mcpx in front of this one shows.
    const auto outer = parse_exposed_uri(exposed_uri("outer", once));
    REQUIRE(outer.has_value());
    REQUIRE(outer->server == "outer");
    REQUIRE(outer->original == once);
    // Valid by RFC 3986 whatever the original was.
    REQUIRE(boost::urls::parse_uri(once).has_value());
    exposed.insert(once);
    pairs.insert(server + ' ' + original);
  }
  REQUIRE(exposed.size() == pairs.size());
}

TEST_CASE("a valid URI is never escaped") {
  std::mt19937 random(3986);
  for (int i = 0; i < 1000; ++i) {
    const std::string original = random_text(random, true);
    REQUIRE(exposed_uri("s", original) == "mcpx://s/" + original);
  }
}

// Simple expansion (RFC 6570 level 1) of {id} and {+path}, as a client does it.
std::string expand(std::string text, const std::string& id, const std::string& path) {
  const auto replace = [&text](const std::string& variable, const std::string& value) {
    for (auto at = text.find(variable); at != std::string::npos; at = text.find(variable)) {
      text.replace(at, variable.size(), value);
    }
  };
  replace("{id}", id);
  replace("{+path}", path);
  return text;
}

TEST_CASE("C44: expanding a qualified template is qualifying its expansion") {
  const std::vector<std::string> templates = {"test://template/{id}/data",
                                              "file:///{+path}",
                                              "urn:x:{id}",
                                              "ui://w/{id}?p={+path}",
                                              "x{id}:{+path}",
                                              "http://[::1]/{id}",
                                              "db://{id}#{id}"};
  const std::vector<std::string> values = {"42", "a%20b", "%C3%A9%2F", "x/y/z", "=", "", "a b"};
  for (const auto& uri_template : templates) {
    for (const auto& value : values) {
      const auto parsed =
          parse_exposed_uri(expand(exposed_uri("s", uri_template), value, value + "/t"));
      CAPTURE(uri_template, value);
      REQUIRE(parsed.has_value());
      REQUIRE(parsed->server == "s");
      REQUIRE(parsed->original == expand(uri_template, value, value + "/t"));
    }
  }
}

}  // namespace
}  // namespace mcpx::mcp
