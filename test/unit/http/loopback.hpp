// A server behind a real listener on loopback, and raw clients of it.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/endpoint.hpp"
#include "unit/http/handlers.hpp"

namespace mcpx::http {

class Loopback {
 public:
  Loopback(runtime::Shard& shard, const ServerOptions& options, Handler& handler)
      : shard_(shard), server(options, one_route(handler)) {
    net::ignore_sigpipe();
    auto bound = net::listen_tcp(shard, "127.0.0.1", 0);
    REQUIRE(bound.has_value());
    listener = std::move(*bound);
    runtime::Shard* const shards[] = {&shard};
    listener->start(shards, [this](runtime::Shard& target, auto stream) {
      server.serve(target, std::move(stream), Server::Transport::tcp);
    });
  }
  Task<void> stop(Milliseconds grace) {
    listener->stop();
    co_await server.stop(shard_, Clock::now() + grace);
    REQUIRE(server.connections() == 0);
  }
  std::uint16_t port() const { return listener->port(); }

 private:
  static std::vector<Route> one_route(Handler& handler) {
    std::vector<Route> routes(1);
    routes[0].prefix = "/";
    routes[0].handler = &handler;
    return routes;
  }
  runtime::Shard& shard_;

 public:
  Server server;
  std::unique_ptr<net::Listener> listener;
};

inline constexpr Milliseconds kPatience{30'000};  // only a failing test waits that long

inline Task<std::unique_ptr<net::ByteStream>> raw_client(runtime::Shard& shard,
                                                         std::uint16_t port) {
  auto stream = co_await net::dial_tcp(shard, "127.0.0.1", port, Clock::now() + kPatience);
  REQUIRE(stream.has_value());
  (*stream)->read_deadline(Clock::now() + kPatience);
  co_return std::move(*stream);
}

// Reads until `text` was seen; false when the stream ended first.
inline Task<bool> read_until(net::ByteStream& stream, std::string& seen, std::string text) {
  std::array<char, 4096> buffer;
  while (seen.find(text) == std::string::npos) {
    Result<std::size_t> bytes = co_await stream.read_some(buffer);
    if (!bytes || *bytes == 0) co_return false;
    seen.append(buffer.data(), *bytes);
  }
  co_return true;
}

inline Task<std::string> read_to_end(net::ByteStream& stream) {
  std::string seen;
  std::array<char, 4096> buffer;
  while (true) {
    Result<std::size_t> bytes = co_await stream.read_some(buffer);
    if (!bytes) {
      seen += "<" + bytes.error().code + ">";
      co_return seen;
    }
    if (*bytes == 0) co_return seen;
    seen.append(buffer.data(), *bytes);
  }
}

inline Task<void> say(net::ByteStream& stream, std::string text) {
  Result<void> sent = co_await net::write_all(stream, text);
  REQUIRE(sent.has_value());
}

}  // namespace mcpx::http
