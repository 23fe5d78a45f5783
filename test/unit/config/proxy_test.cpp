// The proxy that the environment names for a URL.
#include "config/proxy.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "unit/config/load.hpp"

namespace mcpx::config {
namespace {

struct Case {
  std::string name, url;
  std::map<std::string, std::string> variables;
  std::string proxy, variable;
};

TEST_CASE("the environment names a proxy by the scheme of the URL, unless NO_PROXY excludes it") {
  const std::string p = "http://p:3128", q = "http://q:3128";
  const auto but = [&p](const std::string& excluded) {
    return std::map<std::string, std::string>{{"HTTP_PROXY", p}, {"NO_PROXY", excluded}};
  };
  const std::vector<Case> cases = {
      {"nothing set", "https://h/", {}, "", ""},
      {"https", "https://h/", {{"HTTPS_PROXY", p}, {"HTTP_PROXY", q}}, p, "HTTPS_PROXY"},
      {"http", "http://h/", {{"HTTPS_PROXY", p}, {"HTTP_PROXY", q}}, q, "HTTP_PROXY"},
      {"the other scheme only", "http://h/", {{"HTTPS_PROXY", p}}, "", ""},
      {"all", "http://h/", {{"ALL_PROXY", p}}, p, "ALL_PROXY"},
      {"the scheme's wins", "http://h/", {{"ALL_PROXY", p}, {"http_proxy", q}}, q, "http_proxy"},
      {"lower case wins", "http://h/", {{"http_proxy", p}, {"HTTP_PROXY", q}}, p, "http_proxy"},
      {"empty is unset", "http://h/", {{"http_proxy", ""}, {"HTTP_PROXY", q}}, q, "HTTP_PROXY"},
      {"without scheme", "http://h/", {{"HTTP_PROXY", "p:3128"}}, p, "HTTP_PROXY"},
      {"with a path", "http://h/", {{"HTTP_PROXY", "http://p:3128/"}}, p, "HTTP_PROXY"},
      {"socks", "http://h/", {{"HTTP_PROXY", "socks5://p:1"}}, "", "HTTP_PROXY"},
      {"loopback name", "http://localhost:1/", {{"HTTP_PROXY", p}}, "", ""},
      {"loopback address", "http://127.0.0.2/", {{"HTTP_PROXY", p}}, "", ""},
      {"loopback of IPv6", "http://[::1]:80/", {{"HTTP_PROXY", p}}, "", ""},
      {"a star", "http://h/", but("*"), "", ""},
      {"the host", "http://h.example/", but("x, h.example"), "", ""},
      {"the host in capitals", "http://H.example/", but("h.EXAMPLE"), "", ""},
      {"a host below", "http://a.h.example/", but("h.example"), "", ""},
      {"a host below, with a dot", "http://a.h.example/", but(".h.example"), "", ""},
      {"a host below, with a star", "http://a.h.example/", but("*.h.example"), "", ""},
      {"an end that is no domain", "http://ah.example/", but("h.example"), p, "HTTP_PROXY"},
      {"the port", "http://h:81/", but("h:81"), "", ""},
      {"another port", "http://h:82/", but("h:81"), p, "HTTP_PROXY"},
      {"the port of the scheme", "http://h/", but("h:80"), "", ""},
      {"an address", "http://10.0.0.1/", but("10.0.0.1"), "", ""},
      {"IPv6", "http://[2001:db8::1]:81/", but("2001:db8::1"), "", ""},
      {"IPv6 with a port", "http://[2001:db8::1]:81/", but("[2001:db8::1]:81"), "", ""},
      {"IPv6 with another port", "http://[2001:db8::1]:81/", but("[2001:db8::1]:82"), p,
       "HTTP_PROXY"},
      {"empty entries", "http://h/", but(",, ,"), p, "HTTP_PROXY"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const auto found = proxy_from_environment(c.url, test::environment_of(c.variables));
      CHECK(found.url == c.proxy);
      CHECK(found.variable == c.variable);
    }
  }
}

TEST_CASE("without an environment there is no proxy") {
  CHECK(proxy_from_environment("http://h/", {}).url.empty());
}

}  // namespace
}  // namespace mcpx::config
