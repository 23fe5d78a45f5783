// The connection loop over a scripted stream: pipelining, limits, timeouts, refusals, failures.
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

#include "unit/http/handlers.hpp"

namespace mcpx::http {
namespace {

using test::FakeStream;
using Script = FakeStream::Script;

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

ServerOptions small() {
  ServerOptions options;
  options.limits.head_bytes = 1024;
  options.limits.body_bytes = 4096;
  return options;
}

// Serves one scripted connection to its end.
Task<void> serve_script(runtime::Shard& shard, std::shared_ptr<Script> script, Handler& handler,
                        Server::Transport transport = Server::Transport::tcp) {
  std::vector<Route> routes(1);
  routes[0].prefix = "/mcp";
  routes[0].handler = &handler;
  Server server(small(), std::move(routes));
  server.serve(shard, std::make_unique<FakeStream>(script), transport);
  runtime::Timer turn(shard);
  while (server.connections() != 0) {
    co_await turn.sleep_for(Milliseconds(0));
  }
  co_await server.stop(shard, Clock::now());
}

struct Run {
  std::shared_ptr<Script> script = std::make_shared<Script>();
  Echo echo;
  Server::Transport transport = Server::Transport::tcp;

  void operator()() {
    test::on_shard(
        [this](runtime::Shard& shard) { return serve_script(shard, script, echo, transport); });
    REQUIRE(script->closed);
  }
  bool says(std::string_view text) const { return script->written.find(text) != std::string::npos; }
};

TEST_CASE("requests on one connection are served in order until the client ends it") {
  Run run;
  run.script->bytes(post("/mcp", "one"));
  run.script->bytes(post("/mcp/x?y", "two"));
  run.script->end();
  run();
  REQUIRE(run.echo.bodies == std::vector<std::string>{"one", "two"});
  REQUIRE(run.echo.ids[0] != run.echo.ids[1]);
  REQUIRE(run.echo.ids[0].substr(0, 2) == "r-");
  REQUIRE(count(run.script->written, "HTTP/1.1 200 OK\r\n") == 2);
  REQUIRE(run.script->written.find("one") < run.script->written.find("two"));
}

TEST_CASE("a request is the same whatever pieces it arrives in") {
  Run run;
  run.script->byte_by_byte(post("/mcp", "hello") + post("/mcp", "again"));
  run.script->end();
  run();
  REQUIRE(run.echo.bodies == std::vector<std::string>{"hello", "again"});
}

TEST_CASE("pipelined requests are answered one by one") {
  Run run;
  std::string all;
  std::vector<std::string> expected;
  for (int i = 0; i < 2'000; ++i) {  // more than is kept at once
    expected.push_back("body " + std::to_string(i));
    all += post("/mcp", expected.back());
  }
  run.script->bytes(all);
  run.script->end();
  run();
  REQUIRE((run.echo.bodies == expected));
  REQUIRE(count(run.script->written, "HTTP/1.1 200 OK\r\n") == 2'000);
}

TEST_CASE("Connection: close ends the connection after the answer") {
  Run run;
  run.script->bytes(post("/mcp", "one", "Connection: close\r\n") + post("/mcp", "two"));
  run.script->ends_with_us = true;
  run();
  REQUIRE(run.echo.bodies == std::vector<std::string>{"one"});
  REQUIRE(run.says("Connection: close\r\n"));
  REQUIRE(run.script->sent_end);
}

struct RefusalCase {
  const char* name;
  std::string request;
  const char* status;
};

TEST_CASE("what is not acceptable is refused in JSON and the connection ends gracefully") {
  const std::string big(5'000, 'x');
  const RefusalCase cases[] = {
      {"no request", "nonsense\r\n\r\n", "400"},
      {"no host", "GET / HTTP/1.1\r\n\r\n", "400"},
      {"head too large", "GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + big + "\r\n\r\n", "431"},
      {"body too large", post("/mcp", big), "413"},
      {"unknown coding", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
       "501"},
      {"other version", "GET /mcp HTTP/2.0\r\nHost: localhost\r\n\r\n", "505"},
  };
  for (const RefusalCase& c : cases) {
    DYNAMIC_SECTION(c.name) {
      Run run;
      run.script->bytes(c.request);
      run.script->after_writes(1);
      run.script->bytes("more that is sent meanwhile");
      run.script->ends_with_us = true;
      run();
      REQUIRE(run.script->written.substr(0, 13) == std::string("HTTP/1.1 ") + c.status + " ");
      REQUIRE(run.says("Content-Type: application/json\r\n"));
      REQUIRE(run.says("Connection: close\r\n"));
      REQUIRE(run.says(R"({"error":{"code":"http.)"));
      REQUIRE(run.script->sent_end);
      REQUIRE(run.script->reads.empty());  // drained, so that no reset eats the answer
      REQUIRE(run.echo.bodies.empty());
    }
  }
}

TEST_CASE(
    "C70: a foreign Origin or Host is 403 on every route, over TCP only"
    "[req:streamable-http-server-403-invalid-origin]") {
  for (const char* target : {"/mcp", "/mcp/x", "/nowhere", "/"}) {
    for (const char* origin : {"http://evil.example", "null"}) {
      Run run;
      const std::string field = std::string("Origin: ") + origin + "\r\n";
      run.script->bytes(post(target, "x", field));
      run.script->end();
      run();
      CAPTURE(target, origin);
      REQUIRE(run.says("HTTP/1.1 403 "));
      REQUIRE(run.says("http.forbidden_origin"));
      REQUIRE(run.says("listen.allowed_origins"));
      REQUIRE_FALSE(run.says("evil.example"));
      REQUIRE(run.echo.bodies.empty());
    }
  }
  Run host;
  host.script->bytes("GET /mcp HTTP/1.1\r\nHost: evil.example:7332\r\n\r\n");
  host.script->end();
  host();
  REQUIRE(host.says("HTTP/1.1 403 "));

  Run local;
  local.transport = Server::Transport::local;
  local.script->bytes(post("/mcp", "x", "Origin: null\r\n"));
  local.script->end();
  local();
  REQUIRE(local.says("HTTP/1.1 200 "));
}

TEST_CASE("an unknown path is 404 and the connection goes on") {
  Run run;
  run.script->bytes(post("/mcpx", "x") + post("/mcp", "y"));
  run.script->end();
  run();
  REQUIRE(run.says("HTTP/1.1 404 "));
  REQUIRE(run.says("http.not_found"));
  REQUIRE(run.echo.bodies == std::vector<std::string>{"y"});
}

TEST_CASE("a request that does not become complete in time is 408") {
  for (const char* part : {"POST /mcp HT",
                           "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                           "5\r\n\r\nab"}) {
    Run run;
    run.script->bytes(part);
    run.script->timeout();
    run.script->ends_with_us = true;
    run();
    REQUIRE(run.says("HTTP/1.1 408 "));
  }
}

TEST_CASE("a connection that idles for too long is closed without a word") {
  Run run;
  run.script->bytes(post("/mcp", "one"));
  run.script->after_writes(1);
  run.script->timeout();  // its memory is given back
  run.script->timeout();
  run();
  REQUIRE(run.echo.bodies.size() == 1);
  REQUIRE(run.script->writes == 1);

  Run awake;  // a request after the first of the two still works
  awake.script->timeout();
  awake.script->bytes(post("/mcp", std::string(4'000, 'z')));
  awake.script->after_writes(1);
  awake.script->timeout();
  awake.script->bytes(post("/mcp", "two"));
  awake.script->after_writes(2);
  awake.script->end();
  awake();
  REQUIRE(awake.echo.bodies.size() == 2);
}

Task<void> continue_body(runtime::Shard& shard, Run& run) {
  run.script->bytes(
      "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  runtime::TaskGroup group(shard);
  group.spawn("serve", serve_script(shard, run.script, run.echo));
  runtime::Timer turn(shard);
  while (run.script->writes == 0) {
    co_await turn.sleep_for(Milliseconds(0));
  }
  REQUIRE(run.script->written == "HTTP/1.1 100 Continue\r\n\r\n");
  run.script->bytes("ok");
  run.script->end();
  co_await group.join();
}
TEST_CASE("Expect: 100-continue is answered before the body comes") {
  Run run;
  test::on_shard([&run](runtime::Shard& shard) { return continue_body(shard, run); });
  REQUIRE(run.says("HTTP/1.1 200 "));
  REQUIRE(run.echo.bodies == std::vector<std::string>{"ok"});
}

TEST_CASE("a write that fails ends its connection") {
  Run run;
  run.script->fail_write = 1;
  run.script->bytes(post("/mcp", "one") + post("/mcp", "two"));
  run.script->after_writes(1);
  run();
  REQUIRE(run.echo.failed == 1);
  REQUIRE(run.echo.bodies.size() == 1);
}

TEST_CASE("an answer to HEAD has a length and no body") {
  Run run;
  run.script->bytes("HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc");
  run.script->end();
  run();
  REQUIRE(run.says("Content-Length: 3\r\n\r\n"));
  REQUIRE_FALSE(run.says("abc"));
}

class Broken final : public Handler {
 public:
  enum class How { silent, throws, stops_streaming, answers_twice };
  explicit Broken(How how) : how_(how) {}
  Task<void> handle(Exchange& exchange) override;

 private:
  How how_;
};

Task<void> Broken::handle(Exchange& exchange) {
  if (how_ == How::throws) throw std::runtime_error("oh");
  if (how_ == How::stops_streaming) {
    Result<void> begun = co_await exchange.begin_stream(kNoFields);
    REQUIRE(begun.has_value());
  }
  if (how_ == How::answers_twice) {
    Result<void> first = co_await exchange.respond(202, "", kNoParts, kNoFields);
    REQUIRE(first.has_value());
    Result<void> second = co_await exchange.respond(200, "", kNoParts, kNoFields);
    REQUIRE(second.has_error());
    Result<void> third = co_await exchange.begin_stream(kNoFields);
    REQUIRE(third.has_error());
    Result<void> fourth = co_await exchange.send_event("{}");
    REQUIRE(fourth.has_error());
  }
  co_return;
}

std::string run_broken(Broken::How how) {
  auto script = std::make_shared<Script>();
  script->bytes(post("/mcp", "one") + post("/mcp", "two"));
  script->ends_with_us = true;
  if (how == Broken::How::answers_twice) script->after_writes(2);
  if (how == Broken::How::answers_twice) script->end();
  Broken handler(how);
  test::on_shard([&](runtime::Shard& shard) { return serve_script(shard, script, handler); });
  return script->written;
}

TEST_CASE("a handler that does not answer costs its request and connection, nothing else") {
  REQUIRE(run_broken(Broken::How::silent).substr(0, 13) == "HTTP/1.1 500 ");
  REQUIRE(run_broken(Broken::How::throws).substr(0, 13) == "HTTP/1.1 500 ");
  const std::string cut = run_broken(Broken::How::stops_streaming);
  REQUIRE(count(cut, "HTTP/1.1 ") == 1);
  REQUIRE(cut.find("0\r\n\r\n") == std::string::npos);
  REQUIRE(count(run_broken(Broken::How::answers_twice), "HTTP/1.1 202 ") == 2);
}

class Streamer final : public Handler {
 public:
  Task<void> handle(Exchange& exchange) override;
  std::string large = std::string(5'000, 'L');
};

Task<void> Streamer::handle(Exchange& exchange) {
  REQUIRE_FALSE(exchange.streaming());
  Result<void> ok = co_await exchange.begin_stream(kNoFields);
  REQUIRE(exchange.streaming());
  ok = co_await exchange.send_event(R"({"a":1})");
  ok = co_await exchange.send_keep_alive();
  ok = co_await exchange.send_event("{\n}");
  ok = co_await exchange.send_event(large);
  ok = co_await exchange.end_stream();
  REQUIRE(ok.has_value());
}

TEST_CASE("an event stream is chunked, and the connection can be used after it") {
  auto script = std::make_shared<Script>();
  script->bytes(post("/mcp", "one") + post("/mcp", "two"));
  script->end();
  Streamer handler;
  test::on_shard([&](runtime::Shard& shard) { return serve_script(shard, script, handler); });
  const std::string& text = script->written;
  REQUIRE(count(text, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n") == 2);
  REQUIRE(count(text, "Cache-Control: no-cache\r\n") == 2);
  REQUIRE(count(text, "X-Accel-Buffering: no\r\n") == 2);
  REQUIRE(count(text, "\r\nevent: message\ndata: {\"a\":1}\n\n\r\n") == 2);
  REQUIRE(count(text, "data: {\ndata: }\n\n\r\n") == 2);
  // 22 bytes around the data, both in the size and in the chunk
  REQUIRE(count(text, "\r\n139f\r\nevent: message\ndata: " + handler.large + "\n\n\r\n") == 2);
  REQUIRE(count(text, "\r\n0\r\n\r\n") == 2);
}

}  // namespace
}  // namespace mcpx::http
