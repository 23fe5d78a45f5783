#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "upstream/http_reply.hpp"

namespace mcpx::upstream {
namespace {

std::size_t read(const std::string& text) {
  std::size_t count = 0;
  const Result<void> done =
      read_messages(PaddedBuffer(text), json::Limits(), [&](rpc::Message&) { ++count; });
  REQUIRE((done.has_value() || count == 0));
  return count;
}

TEST_CASE("a body holds one message, a batch, or one a line",
          "[req:streamable-http-client-supports-json-and-sse]") {
  const std::string one = R"({"jsonrpc":"2.0","id":1,"result":{}})";
  const std::string note = R"({"jsonrpc":"2.0","method":"notifications/progress"})";
  REQUIRE(read(one) == 1);
  REQUIRE(read("  " + one + "\r\n\r\n") == 1);
  REQUIRE(read("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {}\n}\n") == 1);
  REQUIRE(read("[" + note + ",\n" + one + "]") == 2);
  REQUIRE(read(note + "\n" + one + "\n") == 2);
  REQUIRE(read("[]") == 0);
  REQUIRE(read("[" + note + ",7]") == 0);
  REQUIRE(read("[" + note) == 0);
  REQUIRE(read(note + "\nnot json\n") == 0);
  REQUIRE(read("<html>\n</html>") == 0);
  REQUIRE(read("") == 0);
}

struct Gone {
  const char* name;
  unsigned status;
  std::string body;
  bool gone;
};

std::string error(const std::string& code, const std::string& message,
                  const std::string& id = "1") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":)" + code + R"(,"message":")" +
         message + R"("}})";
}

TEST_CASE("C20: every way of saying that a session is gone, and none that is not",
          "[req:streamable-http-client-reinit-on-404]") {
  const std::vector<Gone> cases = {
      {"404 without a body", 404, "", true},
      {"404 with HTML", 404, "<html>Not Found</html>", true},
      {"404 with -32001", 404, error("-32001", "Session not found", "null"), true},
      {"404 with -32600", 404, error("-32600", "Session not found"), true},
      {"400 in plain text", 400, "Invalid session ID", true},
      {"400 in JSON of its own", 400, R"({"error":"Session expired"})", true},
      {"400 with -32000", 400, error("-32000", "Bad Request: No valid session ID provided"), true},
      {"400 of a restarted SDK server", 400, error("-32000", "Bad Request: Server not initialized"),
       true},
      {"400 with -32600", 400, error("-32600", "Bad Request: Missing session ID", "null"), true},
      {"200 with -32600", 200, error("-32600", "Session not found"), true},
      {"200 with -32000", 200, error("-32000", "session has EXPIRED"), true},
      {"200 with -32001", 200, error("-32001", "Invalid session"), true},
      {"400 about something else", 400, "Bad Request", false},
      {"400, an error of the method", 400, error("-32602", "unknown argument: session"), false},
      {"404, an unknown method", 404, error("-32601", "Method not found"), false},
      {"404, a resource that is not there", 404, error("-32002", "Resource not found"), false},
      {"200, an error of a tool", 200, error("-32603", "session not found"), false},
      {"200, the code alone", 200, error("-32000", "the disk is full"), false},
      {"200, the word alone", 200, error("-32000", "your session is fine"), false},
      {"200 with a result", 200, R"({"jsonrpc":"2.0","id":1,"result":{"session":"not found"}})",
       false},
      {"401", 401, "session", false},
      {"500", 500, "session not found", false},
  };
  for (const Gone& c : cases) {
    DYNAMIC_SECTION(c.name) {
      auto parsed = rpc::parse(PaddedBuffer(c.body), json::Limits());
      const bool gone = session_is_gone(c.status, parsed ? &*parsed : nullptr, c.body);
      REQUIRE(gone == c.gone);
    }
  }
}

TEST_CASE("a session id is visible ASCII") {
  REQUIRE(is_session_id("1868a90c-JWT.with_parts~!"));
  REQUIRE_FALSE(is_session_id(""));
  REQUIRE_FALSE(is_session_id("a b"));
  REQUIRE_FALSE(is_session_id("a\tb"));
  REQUIRE_FALSE(is_session_id("caf\xC3\xA9"));
  REQUIRE_FALSE(is_session_id(std::string_view("a\0b", 3)));
}

TEST_CASE("an excerpt is short, on one line and cut between characters") {
  REQUIRE(excerpt("  <h1>\n\n Not\t found</h1>\r\n") == "<h1> Not found</h1>");
  REQUIRE(excerpt(std::string("a\0b", 3)) == "a b");
  const std::string cut = excerpt(std::string(199, 'a') + "\xC3\xA9\xC3\xA9");
  REQUIRE(cut == std::string(199, 'a') + "...");
  REQUIRE(excerpt(std::string(100000, 'x')).size() == 203);
  REQUIRE(excerpt("").empty());
}

http1::ResponseHead head(unsigned status, std::string_view name = {}, std::string_view value = {}) {
  http1::ResponseHead out;
  out.status = status;
  if (!name.empty()) out.fields.add(name, value);
  return out;
}

TEST_CASE("a status that is no answer says what to do about it") {
  const auto remedy = [](const http1::ResponseHead& of) {
    const Error error = status_error("srv", "tools/call", of, "no");
    CHECK(error.code == "upstream.http_status");
    CHECK(error.message ==
          "server srv answered tools/call with HTTP " + std::to_string(of.status) + ": no");
    return error.remedy;
  };
  for (const unsigned status : {202u, 400u, 401u, 403u, 404u, 405u, 407u, 413u, 415u, 418u, 429u,
                                500u, 501u, 502u, 503u, 504u, 302u}) {
    INFO(status);
    CHECK_FALSE(remedy(head(status)).empty());
  }
  REQUIRE(remedy(head(401)).find("auth") != std::string::npos);
  REQUIRE(remedy(head(407)).find("proxy") != std::string::npos);
  REQUIRE(remedy(head(429, "Retry-After", "17")).find("17") != std::string::npos);
  const std::string moved =
      remedy(head(308, "Location", "https://user:pass@new.example/mcp?token=hidden#part"));
  REQUIRE(moved.find("https://new.example/mcp") != std::string::npos);
  REQUIRE(moved.find("hidden") == std::string::npos);
  REQUIRE(moved.find("pass") == std::string::npos);
}

TEST_CASE("errors of the HTTP client become those of a server, each with a remedy where one fits") {
  const auto code = [](const char* from) {
    return client_error("srv", "http://h/mcp", Error(from, "why")).code;
  };
  REQUIRE(code("http.dial") == "upstream.unreachable");
  REQUIRE(code("http.closed") == "upstream.disconnected");
  REQUIRE(code("http.timeout") == "upstream.timeout");
  REQUIRE(code("http.cancelled") == "request.cancelled");
  REQUIRE(code("http.tls") == "upstream.tls");
  REQUIRE(code("http.encoding") == "upstream.bad_frame");
  REQUIRE(code("http.bad_response") == "upstream.bad_frame");
  REQUIRE(code("http.too_large") == "upstream.too_large");
  for (const char* from : {"http.dial", "http.closed", "http.timeout", "http.tls", "http.encoding",
                           "http.bad_response", "http.too_large"}) {
    INFO(from);
    const Error error = client_error("srv", "http://h/mcp?key=hidden", Error(from, "why"));
    CHECK_FALSE(error.remedy.empty());
    CHECK(error.message == "server srv at http://h/mcp: why");
  }
}

}  // namespace
}  // namespace mcpx::upstream
