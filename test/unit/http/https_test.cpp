// The client over TLS.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "http/client.hpp"
#include "unit/http/secure_server.hpp"

namespace mcpx::http {
namespace {

Task<std::string> post_hello(Client& client, std::string body) {
  const std::string_view parts[] = {body};
  Request request;
  request.target = "/mcp";
  request.body = parts;
  request.deadline = Clock::now() + kPatience;
  Result<std::unique_ptr<Response>> response = co_await client.send(request);
  if (!response) co_return "<" + response.error().code + "> " + response.error().message;
  Result<PaddedBuffer> got = co_await (*response)->body();
  if (!got) co_return "<" + got.error().code + ">";
  co_return std::to_string((*response)->head().status) + " " + std::string(got->view());
}

Task<void> round_trip_body(runtime::Shard& shard, const test::Authority& authority) {
  SecureServer server(shard, authority);
  Client::Options options;
  options.tls = trusting(authority);
  {
    Client client(shard, server.origin("localhost"), options);
    for (int i = 0; i < 3; ++i) {
      const std::string answer = co_await post_hello(client, "hello");
      REQUIRE(answer == "200 hello");
    }
    REQUIRE(server.server.connections() == 1);  // kept and used again
    const std::string large(300'000, 'x');
    const std::string answer = co_await post_hello(client, large);
    REQUIRE((answer == "200 " + large));
  }
  co_await server.stop();
}
TEST_CASE("https requests share a kept connection") {
  const test::Authority authority("mcpx test authority");
  test::on_shard([&](runtime::Shard& shard) { return round_trip_body(shard, authority); });
}

Task<void> untrusted_body(runtime::Shard& shard, const test::Authority& authority) {
  SecureServer server(shard, authority);
  {
    Client client(shard, server.origin("localhost"), Client::Options());  // the system's roots
    const std::string answer = co_await post_hello(client, "hello");
    REQUIRE(answer.find("<http.tls> TLS with localhost: ") == 0);
    REQUIRE(answer.find("no authority known to this system") != std::string::npos);
  }
  co_await server.stop();
}
TEST_CASE("a server that is not trusted is http.tls") {
  const test::Authority authority("mcpx test authority");
  test::on_shard([&](runtime::Shard& shard) { return untrusted_body(shard, authority); });
}

Task<void> plain_body(runtime::Shard& shard) {
  Echo echo;
  Loopback loopback(shard, ServerOptions(), echo);
  Origin origin;
  origin.host = "127.0.0.1";
  origin.port = loopback.port();
  origin.tls = true;
  {
    Client client(shard, origin, Client::Options());
    const std::string answer = co_await post_hello(client, "hello");
    REQUIRE(answer.find("<http.tls> TLS with 127.0.0.1: the answer is not TLS") == 0);
  }
  co_await loopback.stop(kPatience);
}
TEST_CASE("a server that speaks plain HTTP where https was asked is http.tls") {
  test::on_shard(plain_body);
}

}  // namespace
}  // namespace mcpx::http
