// Servers over TLS: whom they trust is read from files once, and again after a start that failed.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "rpc/message.hpp"
#include "unit/http/secure_server.hpp"
#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/servers.hpp"

namespace mcpx::upstream {
namespace {

using test::call_of;
using test::code_of;
using test::kEcho;
using test::until;

// A legacy server without tools. It forgets its session when told to.
class Forgetful final : public http::Handler {
 public:
  Task<void> handle(http::Exchange& exchange) override {
    auto parsed = rpc::parse(exchange.take_body(), json::Limits());
    unsigned status = parsed && parsed->kind == rpc::Kind::request ? 200 : 202;
    std::string body;
    if (status == 200 && parsed->method == "initialize") {
      ++sessions;
      forgotten = false;
      const char* const result =
          R"({"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}})";
      rpc::append_result(body, parsed->id, result);
    } else if (status == 200 && (forgotten || parsed->method == "server/discover")) {
      status = forgotten ? 404 : 400;
    } else if (status == 200) {
      rpc::append_result(body, parsed->id, R"({"content":[]})");
    }
    const http1::Field fields[] = {{"Mcp-Session-Id", "s"}};
    const std::string_view parts[] = {body};
    Result<void> sent = co_await exchange.respond(status, "application/json", parts, fields);
    static_cast<void>(sent);
  }
  int sessions = 0;
  bool forgotten = false;
};

struct Scene {
  explicit Scene(runtime::Shard& shard)
      : http(shard, authority, &handler), environment(test::environment_on(shard)) {
    config.name = "remote";
    config.url = "https://127.0.0.1:" + std::to_string(http.listener->port()) + "/mcp";
  }
  Task<void> end(Server& server) {
    co_await server.stop(Clock::now() + Milliseconds(1000));
    co_await http.stop();
  }
  test::Authority authority{"upstream test"};
  test::Files files;
  Forgetful handler;
  http::SecureServer http;
  config::Server config;
  Environment environment;
};

Task<void> kept_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.config.tls.ca = scene.files.write("ca.pem", scene.authority.own().certificate);
  Server server(shard, scene.config, scene.environment);
  server.start();
  co_await until(shard, server, test::is_ready);
  ::unlink(scene.config.tls.ca.c_str());
  scene.handler.forgotten = true;
  const call::Call echo = call_of(shard, kEcho);
  call::Outcome outcome = co_await server.call(echo);
  REQUIRE(code_of(outcome) == "");
  REQUIRE(scene.handler.sessions == 2);
  co_await scene.end(server);
}

TEST_CASE("what TLS needs is read once for all links of a server") {
  test::on_shard(kept_body);
}

Task<void> renewed_body(runtime::Shard& shard) {
  Scene scene(shard);
  const test::Authority other("another");
  scene.config.tls.ca = scene.files.write("ca.pem", other.own().certificate);
  Server server(shard, scene.config, scene.environment);
  server.start();
  Status status = co_await until(shard, server, test::is_failed);
  REQUIRE(status.error->code == "upstream.tls");
  scene.files.write("ca.pem", scene.authority.own().certificate);
  co_await until(shard, server, test::is_ready);
  co_await scene.end(server);
}

TEST_CASE("a start that failed in TLS has the files read anew") {
  test::on_shard(renewed_body);
}

}  // namespace
}  // namespace mcpx::upstream
