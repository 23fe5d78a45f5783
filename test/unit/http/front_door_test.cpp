// Who may talk to the daemon (case C70), and URLs.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "http/answer.hpp"
#include "http/client.hpp"
#include "http/front_door.hpp"

namespace mcpx::http {
namespace {

struct DoorCase {
  const char* name;
  const char* host;
  const char* origin;  // null: no such header
  const char* code;    // "" : let in
};

const DoorCase kDoor[] = {
    {"localhost", "localhost", nullptr, ""},
    {"localhost with port", "localhost:7332", nullptr, ""},
    {"case of the name", "LocalHost:1", nullptr, ""},
    {"127.0.0.1", "127.0.0.1:7332", nullptr, ""},
    {"all of 127/8", "127.255.0.3", nullptr, ""},
    {"IPv6 loopback", "[::1]:7332", nullptr, ""},
    {"IPv6 loopback without port", "[::1]", nullptr, ""},
    {"listed host", "mcpx.example", nullptr, ""},
    {"listed host, another port", "mcpx.example:99", nullptr, ""},
    {"listed with its port", "other.example:8080", nullptr, ""},
    {"listed with another port", "other.example:8081", nullptr, "http.forbidden_host"},
    {"foreign host", "evil.example:7332", nullptr, "http.forbidden_host"},
    {"no host", "", nullptr, "http.forbidden_host"},
    {"only a port", ":7332", nullptr, "http.forbidden_host"},
    {"loopback as a prefix", "localhost.evil.example", nullptr, "http.forbidden_host"},
    {"loopback as a label", "127.0.0.1.evil.example", nullptr, "http.forbidden_host"},
    {"loopback as user", "localhost@evil.example", nullptr, "http.forbidden_host"},
    {"a port that is none", "localhost:evil", nullptr, "http.forbidden_host"},
    {"an empty port", "localhost:", nullptr, "http.forbidden_host"},
    {"short spelling", "127.1", nullptr, "http.forbidden_host"},
    {"octal spelling", "0177.0.0.1", nullptr, "http.forbidden_host"},
    {"leading zero", "127.0.0.01", nullptr, "http.forbidden_host"},
    {"number over 255", "127.0.0.256", nullptr, "http.forbidden_host"},
    {"five numbers", "127.0.0.1.1", nullptr, "http.forbidden_host"},
    {"trailing dot", "127.0.0.1.", nullptr, "http.forbidden_host"},
    {"any address", "0.0.0.0:7332", nullptr, "http.forbidden_host"},
    {"unclosed bracket", "[::1", nullptr, "http.forbidden_host"},
    {"text after the bracket", "[::1]evil", nullptr, "http.forbidden_host"},

    {"loopback origin", "localhost", "http://localhost:3000", ""},
    {"loopback origin, https", "localhost", "https://127.0.0.1", ""},
    {"loopback origin, IPv6", "localhost", "http://[::1]:5173", ""},
    {"listed origin", "localhost", "https://app.example", ""},
    {"listed origin of another kind", "localhost", "vscode-webview://abc", ""},
    {"listed origin, other scheme", "localhost", "http://app.example", "http.forbidden_origin"},
    {"listed origin, other port", "localhost", "https://app.example:1", "http.forbidden_origin"},
    {"foreign origin", "localhost", "http://evil.example", "http.forbidden_origin"},
    {"null origin", "localhost", "null", "http.forbidden_origin"},
    {"empty origin", "localhost", "", "http.forbidden_origin"},
    {"no scheme", "localhost", "localhost", "http.forbidden_origin"},
    {"file", "localhost", "file://", "http.forbidden_origin"},
    {"another scheme on loopback", "localhost", "ftp://localhost", "http.forbidden_origin"},
    {"loopback as user", "localhost", "http://localhost@evil.example", "http.forbidden_origin"},
    {"loopback as prefix", "localhost", "http://localhost.evil.example", "http.forbidden_origin"},
    {"a path", "localhost", "http://localhost/x", "http.forbidden_origin"},
    {"a list", "localhost", "http://localhost http://evil.example", "http.forbidden_origin"},
    {"foreign host beside a good origin", "evil.example", "http://localhost",
     "http.forbidden_host"},
};

TEST_CASE(
    "C70: only loopback or listed Host and Origin values pass"
    "[req:http-sse-server-validate-origin][req:streamable-http-server-validate-origin]") {
  const std::vector<std::string> hosts = {"mcpx.example", "other.example:8080"};
  const std::vector<std::string> origins = {"https://app.example", "vscode-webview://abc", "null"};
  for (const DoorCase& c : kDoor) {
    DYNAMIC_SECTION(c.name) {
      http1::RequestHead head;
      head.authority = c.host;
      if (c.origin) head.fields.add("oRiGin", c.origin);
      const auto refused = check_front_door(head, hosts, origins);
      REQUIRE((refused ? refused->code : "") == c.code);
    }
  }
}

TEST_CASE("a second Origin header does not hide behind a good one") {
  http1::RequestHead head;
  head.authority = "localhost";
  head.fields.add("Origin", "http://localhost");
  head.fields.add("Origin", "http://evil.example");
  const auto refused = check_front_door(head, {}, {});
  REQUIRE(refused);
}

TEST_CASE("an error body is JSON whatever the message holds") {
  REQUIRE(error_body(Error("a.b", "say \"x\\y\"\n\xff", "do")) ==
          R"({"error":{"code":"a.b","message":"say \"x\\y\"\u000a\u00ff","remedy":"do"}})");
}

struct UrlCase {
  const char* text;
  const char* host;  // null: refused
  std::uint16_t port;
  const char* target;
};

const UrlCase kUrls[] = {
    {"http://example.com", "example.com", 80, "/"},
    {"http://example.com:8080/mcp?x=1", "example.com", 8080, "/mcp?x=1"},
    {"HTTP://example.com/a%20b", "example.com", 80, "/a%20b"},
    {"http://example.com?x", "example.com", 80, "/?x"},
    {"http://example.com/p#fragment", "example.com", 80, "/p"},
    {"http://127.0.0.1:1/", "127.0.0.1", 1, "/"},
    {"http://[::1]:9/x", "[::1]", 9, "/x"},
    {"https://example.com/", "example.com", 443, "/"},
    {"HTTPS://example.com:8443/x", "example.com", 8443, "/x"},
    {"http://example.com:/x", "example.com", 80, "/x"},
    {"ws://example.com/", nullptr, 0, "scheme"},
    {"http://user:secret@example.com/", nullptr, 0, "user name"},
    {"http:///path", nullptr, 0, "host"},
    {"http://example.com:0/", nullptr, 0, "port"},
    {"http://example.com:99999/", nullptr, 0, ""},
    {"http://exa mple.com/", nullptr, 0, "URL"},
    {"http://a%0d%0ab/", nullptr, 0, "host"},
    {"https://a%00b/", nullptr, 0, "host"},
    {"example.com/mcp", nullptr, 0, ""},
    {"", nullptr, 0, "URL"},
};

TEST_CASE("URLs are taken apart, and what cannot be dialled says why") {
  for (const UrlCase& c : kUrls) {
    DYNAMIC_SECTION(c.text) {
      const Result<Url> url = parse_url(c.text);
      REQUIRE(url.has_value() == (c.host != nullptr));
      if (c.host) {
        REQUIRE(url->origin.host == c.host);
        REQUIRE(url->origin.port == c.port);
        REQUIRE(url->target == c.target);
        REQUIRE(url->origin.tls == (c.text[4] == 's' || c.text[4] == 'S'));
      } else {
        REQUIRE(url.error().code == "http.url");
        REQUIRE(url.error().message.find(c.target) != std::string::npos);
        REQUIRE_FALSE(url.error().remedy.empty());
        REQUIRE(url.error().text().find("secret") == std::string::npos);
      }
    }
  }
  REQUIRE(parse_url("unix:/run/s")->origin.unix_path == "/run/s");
  REQUIRE(parse_url("unix:///run/s")->origin.unix_path == "/run/s");
  REQUIRE_FALSE(parse_url("unix:relative").has_value());
}

}  // namespace
}  // namespace mcpx::http
