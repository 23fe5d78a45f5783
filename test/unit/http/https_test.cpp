// The client over TLS.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "http/client.hpp"
#include "net/tls.hpp"
#include "unit/http/loopback.hpp"
#include "unit/net/certificates.hpp"
#include "unit/net/tls_peer.hpp"

namespace mcpx::http {
namespace {

// Echoes what is posted, over TLS.
class SecureServer {
 public:
  SecureServer(runtime::Shard& shard, const test::Authority& authority)
      : shard_(shard),
        group_(shard),
        context_(test::server_context(authority.issue(test::Wanted()))),
        server(ServerOptions(), one_route(echo)) {
    auto bound = net::listen_tcp(shard, "127.0.0.1", 0);
    REQUIRE(bound.has_value());
    listener = std::move(*bound);
    runtime::Shard* const shards[] = {&shard};
    listener->start(shards, [this](runtime::Shard&, std::unique_ptr<net::ByteStream> stream) {
      group_.spawn("accept", accept(std::move(stream)));
    });
  }

  Origin origin(std::string host) const {
    Origin origin;
    origin.host = std::move(host);
    origin.port = listener->port();
    origin.tls = true;
    return origin;
  }
  Task<void> stop() {
    listener->stop();
    co_await group_.join();
    co_await server.stop(shard_, Clock::now() + kPatience);
  }

 private:
  Task<void> accept(std::unique_ptr<net::ByteStream> stream) {
    auto peer = std::make_unique<test::TlsPeer>(std::move(stream), context_.get());
    const bool accepted = co_await peer->accept();
    if (accepted) server.serve(shard_, std::move(peer), Server::Transport::tcp);
  }
  static std::vector<Route> one_route(Handler& handler) {
    std::vector<Route> routes(1);
    routes[0].prefix = "/";
    routes[0].handler = &handler;
    return routes;
  }

  runtime::Shard& shard_;
  runtime::TaskGroup group_;
  test::ServerContext context_;

 public:
  Echo echo;
  Server server;
  std::unique_ptr<net::Listener> listener;
};

std::shared_ptr<const net::TlsContext> trusting(const test::Authority& authority) {
  test::Files files;
  net::TlsOptions options;
  options.ca_file = files.write("ca.pem", authority.own().certificate);
  auto made = net::TlsContext::make(options);
  REQUIRE(made.has_value());
  return *made;
}

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
