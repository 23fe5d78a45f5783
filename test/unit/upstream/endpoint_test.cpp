#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "upstream/endpoint.hpp"

namespace mcpx::upstream {
namespace {

struct Case {
  const char* stream;
  const char* data;
  const char* target;  // empty: refused
};

TEST_CASE("an endpoint is resolved against the stream's URL and stays on its origin",
          "[req:http-sse-client-post-to-endpoint]") {
  const std::vector<Case> cases = {
      {"http://h:8000/sse", "/messages?sessionId=1", "/messages?sessionId=1"},
      {"http://h:8000/sse", " /messages/ ", "/messages/"},
      {"http://h:8000/api/sse", "messages?s=1", "/api/messages?s=1"},
      {"http://h:8000/api/sse?key=1", "?s=1", "/api/sse?s=1"},
      {"http://h:8000/api/sse", "../messages#part", "/messages"},
      {"http://h:8000/sse", "http://h:8000/messages?s=1", "/messages?s=1"},
      {"http://h:8000/sse", "http://H:8000/m", "/m"},
      {"http://h/sse", "http://h:80/m", "/m"},
      {"http://h:80/sse", "//h/m", "/m"},
      {"https://h/sse", "https://h:443/m", "/m"},
      {"http://[::1]:8000/sse", "http://[::1]:8000/m", "/m"},
      {"unix:/run/x.sock", "/messages?s=1", "/messages?s=1"},
      {"http://h:8000/sse", "http://evil.example/messages", ""},
      {"http://h:8000/sse", "http://h:8001/messages", ""},
      {"http://h:8000/sse", "https://h:8000/messages", ""},
      {"http://h:8000/sse", "//evil.example/messages", ""},
      {"http://h:8000/sse", "http://h:8000@evil.example/messages", ""},
      {"http://h:8000/sse", "file:///etc/passwd", ""},
      {"http://h:8000/sse", "/mess ages", ""},
      {"http://h:8000/sse", "/m\r\nX-Evil: 1", ""},
      {"http://h:8000/sse", "", ""},
      {"unix:/run/x.sock", "http://evil.example/m", ""},
  };
  for (const Case& c : cases) {
    INFO(c.stream << " " << c.data);
    const auto target = endpoint_target(c.stream, c.data);
    if (std::string(c.target).empty()) {
      REQUIRE(target.has_error());
      CHECK(target.error().code == "upstream.handshake");
    } else {
      REQUIRE(target.has_value());
      CHECK(*target == c.target);
    }
  }
}

}  // namespace
}  // namespace mcpx::upstream
