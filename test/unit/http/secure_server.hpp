// A server over TLS on loopback, and a context that trusts it. For tests only.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/client.hpp"
#include "net/tls.hpp"
#include "unit/http/loopback.hpp"
#include "unit/net/certificates.hpp"
#include "unit/net/tls_peer.hpp"

namespace mcpx::http {

// Echoes what is posted, over TLS, unless it is given another handler.
class SecureServer {
 public:
  SecureServer(runtime::Shard& shard, const test::Authority& authority, Handler* handler = nullptr)
      : shard_(shard),
        group_(shard),
        context_(test::server_context(authority.issue(test::Wanted()))),
        server(ServerOptions(), one_route(handler ? *handler : echo)) {
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

inline std::shared_ptr<const net::TlsContext> trusting(const test::Authority& authority) {
  test::Files files;
  net::TlsOptions options;
  options.ca_file = files.write("ca.pem", authority.own().certificate);
  auto made = net::TlsContext::make(options);
  REQUIRE(made.has_value());
  return *made;
}

}  // namespace mcpx::http
