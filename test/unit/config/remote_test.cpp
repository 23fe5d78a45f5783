// Servers over HTTP: https, HTTP+SSE, certificates, proxies.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "unit/config/directory.hpp"
#include "unit/config/load.hpp"

namespace mcpx::config {
namespace {

using test::Directory;
using test::load;
using test::problems_of;

TEST_CASE("https addresses load") {
  const auto result = load("servers: {a: {url: https://mcp.example/mcp}}");
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  CHECK(result->servers[0].is_http());
  CHECK(result->servers[0].http_transport == HttpTransport::probed);
  CHECK(result->servers[0].tls.ca.empty());
}

TEST_CASE("type: sse asks for the transport of 2024-11-05") {
  const auto result = load("servers: {a: {type: sse, url: http://h/sse}}");
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  CHECK(result->servers[0].http_transport == HttpTransport::sse_only);
}

TEST_CASE("tls names files beside the configuration") {
  const Directory directory;
  const std::string ca = directory.write("ca.pem", "x");
  const std::string pair = directory.write("pair.pem", "x");
  const std::string file = directory.write("mcpx.yaml", R"(
servers:
  a:
    url: https://h/
    tls: {ca: ca.pem, cert: )" + pair + R"(, key: pair.pem}
)");
  const auto result = load_file(file, {});
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  CHECK(result->servers[0].tls.ca == ca);
  CHECK(result->servers[0].tls.cert == pair);
  CHECK(result->servers[0].tls.key == pair);
}

TEST_CASE("files of tls that cannot be read are problems, each at its place") {
  const Directory directory;
  directory.write("cert.pem", "x");
  const std::string file = directory.write("mcpx.yaml", R"(
servers:
  a:
    url: https://h/
    tls:
      ca: nope.pem
      cert: cert.pem
      key: .
)");
  const auto result = load_file(file, {});
  REQUIRE_FALSE(result.has_value());
  REQUIRE(result.error().size() == 2);
  CHECK(result.error()[0].line == 6);
  CHECK(result.error()[0].column == 11);
  CHECK(result.error()[0].message.find("'ca' names '") == 0);
  CHECK(result.error()[0].message.find("nope.pem', which cannot be read: No such file") !=
        std::string::npos);
  CHECK(result.error()[1].line == 8);
  CHECK(result.error()[1].message.find("it is not a regular file") != std::string::npos);
}

TEST_CASE("tls: what does not fit together is refused") {
  const Directory directory;
  const std::string pem = directory.write("x.pem", "x");
  const auto half = load("servers: {a: {url: https://h/, tls: {cert: " + pem + "}}}");
  CHECK(problems_of(half).find("mcpx.yaml:1:32: 'cert' and 'key' belong together") == 0);
  const auto plain = load("servers: {a: {url: http://h/, tls: {ca: " + pem + "}}}");
  CHECK(problems_of(plain).find("mcpx.yaml:1:31: 'tls' is set for an address that begins with "
                                "http://; write https://") == 0);
  // A disabled server may name files of another machine.
  CHECK(load("servers: {a: {url: https://h/, enabled: false, tls: {ca: /nope}}}").has_value());
  const auto program = load("servers: {a: {command: x, tls: {ca: " + pem + "}}}");
  REQUIRE(program.has_value());
  REQUIRE(program->warnings.size() == 1);
  CHECK(program->warnings[0].find("'tls' has no effect on a server with 'command'") !=
        std::string::npos);
}

TEST_CASE("a server's proxy wins over that of the file, which wins over none") {
  const std::string servers = R"(
servers:
  inherits: {url: https://a.example/}
  own: {url: https://b.example/, proxy: "http://user:pass-word@own.example:3128/"}
  none: {url: https://c.example/, proxy: off}
  environment: {url: https://d.example/, proxy: environment}
  program: {command: x}
)";
  const std::map<std::string, std::string> variables = {
      {"HTTPS_PROXY", "http://me:hidden-word@env.example:8080"}};
  const auto result = load("proxy: http://file.example:3128" + servers, variables);
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  CHECK(result->servers[0].proxy == "http://file.example:3128");
  CHECK(result->servers[1].proxy == "http://user:pass-word@own.example:3128");
  CHECK(result->servers[2].proxy.empty());
  CHECK(result->servers[3].proxy == "http://me:hidden-word@env.example:8080");
  CHECK(result->servers[4].proxy.empty());
  for (const std::string secret : {"pass-word", "hidden-word"}) {
    INFO(secret);
    CHECK(std::count(result->secrets.begin(), result->secrets.end(), secret) == 1);
  }
  const auto without = load(servers, variables);
  REQUIRE(without.has_value());
  CHECK(without->servers[0].proxy.empty());
}

TEST_CASE("a proxy that is none is refused, wherever it comes from") {
  for (const std::string proxy : {"socks5://h:1080", "https://h:3128", "h:3128", "http://h:3128/x",
                                  "http://h?x", "''", "on"}) {
    INFO(proxy);
    const auto result = load("proxy: " + proxy);
    CHECK(problems_of(result) ==
          "mcpx.yaml:1:8: 'proxy' must be off, environment, or http://host:port; write for "
          "example: proxy: environment\n");
  }
  const auto result = load("servers: {a: {url: http://h.example/, proxy: environment}}",
                           {{"ALL_PROXY", "socks5://h:1080"}});
  CHECK(problems_of(result).find("mcpx.yaml:1:46: server 'a' needs a proxy, and the variable "
                                 "ALL_PROXY holds no address of one; set it to") == 0);
}

}  // namespace
}  // namespace mcpx::config
