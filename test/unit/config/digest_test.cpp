// The digest that stored eras and catalogues are found by.
#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace mcpx::config {
namespace {

using Change = std::function<void(Server&)>;

TEST_CASE("whatever decides what a server offers changes its digest") {
  const std::vector<Change> changes = {
      [](Server&) {},
      [](Server& s) { s.command = "x"; },
      [](Server& s) { s.args = {"x"}; },
      [](Server& s) {
        s.args = {"x", ""};
      },
      [](Server& s) {
        s.args = {"ab", "c"};
      },
      [](Server& s) {
        s.args = {"a", "bc"};
      },
      [](Server& s) { s.args = {"1:a"}; },
      [](Server& s) {
        s.env = {{"a", "b"}};
      },
      [](Server& s) {
        s.env = {{"ab", ""}};
      },
      [](Server& s) {
        s.headers = {{"a", "b"}};
      },
      [](Server& s) { s.inherit_env = {"a"}; },
      [](Server& s) { s.cwd = "x"; },
      [](Server& s) { s.url = "x"; },
      [](Server& s) { s.protocol = Protocol::modern; },
      [](Server& s) { s.protocol = Protocol::legacy; },
      [](Server& s) { s.http_transport = HttpTransport::sse_only; },
  };
  std::set<std::string> seen;
  for (const Change& change : changes) {
    Server server;
    change(server);
    const std::string first = digest(server);
    CHECK(first.size() == 64);
    CHECK(first == digest(server));
    CHECK(seen.insert(first).second);
  }
}

TEST_CASE("names, filters, times and credentials of the connection do not change the digest") {
  const std::string plain = digest(Server{});
  const std::vector<Change> changes = {
      [](Server& s) { s.name = "x"; },
      [](Server& s) { s.prefix = "x"; },
      [](Server& s) { s.enabled = false; },
      [](Server& s) { s.tools_deny = {"x"}; },
      [](Server& s) { s.call_timeout = Milliseconds{1}; },
      [](Server& s) {
        s.tool_timeouts = {{"x", Milliseconds{1}}};
      },
      [](Server& s) { s.idle_stop = Milliseconds{1}; },
      [](Server& s) { s.breaker_failures = 1; },
      [](Server& s) { s.instances_max = 1; },
      [](Server& s) { s.tls.ca = "x"; },
      [](Server& s) { s.proxy = "x"; },
  };
  for (const Change& change : changes) {
    Server server;
    change(server);
    CHECK(digest(server) == plain);
  }
}

}  // namespace
}  // namespace mcpx::config
