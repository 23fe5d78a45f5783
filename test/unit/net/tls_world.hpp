// A client and a server of TLS on one shard, joined by a socket pair. For tests only.
#pragma once

#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "net/endpoint.hpp"
#include "net/tls.hpp"
#include "runtime/task_group.hpp"
#include "unit/net/certificates.hpp"
#include "unit/net/tls_peer.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::net {

using test::Authority;
using test::Certificate;
using test::Files;
using test::TlsPeer;
using test::Wanted;

inline constexpr Milliseconds kPatience{30'000};  // only a failing test waits that long

struct Ends {
  std::unique_ptr<ByteStream> near, far;
};

inline Ends socket_ends(runtime::Shard& shard) {
  int both[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
  Ends ends;
  ends.near = adopt_descriptor(shard, both[0], "near");
  ends.far = adopt_descriptor(shard, both[1], "far");
  ends.far->read_deadline(Clock::now() + kPatience);
  ends.far->write_deadline(Clock::now() + kPatience);
  return ends;
}

inline std::shared_ptr<const TlsContext> trusting(Files& files, const Authority& authority) {
  TlsOptions options;
  options.ca_file = files.write("ca.pem", authority.own().certificate);
  auto made = TlsContext::make(options);
  REQUIRE(made.has_value());
  return *made;
}

inline Task<void> accept_into(TlsPeer& peer, bool& accepted) {
  accepted = co_await peer.accept();
}

// A client and a server that have shaken hands over a socket pair.
struct Pair {
  std::unique_ptr<ByteStream> client;
  std::unique_ptr<TlsPeer> server;
};

inline Task<void> shake_hands(runtime::Shard& shard, Pair& pair, SSL_CTX* server,
                              std::shared_ptr<const TlsContext> context) {
  Ends ends = socket_ends(shard);
  pair.server = std::make_unique<TlsPeer>(std::move(ends.far), server);
  bool accepted = false;
  runtime::TaskGroup group(shard);
  group.spawn("server", accept_into(*pair.server, accepted));
  auto client = co_await start_tls(std::move(ends.near), std::move(context), "localhost",
                                   Clock::now() + kPatience);
  co_await group.join();
  REQUIRE(client.has_value());
  REQUIRE(accepted);
  pair.client = std::move(*client);
}

// What every test needs: an authority, a server for localhost, a client that trusts it.
struct World {
  Authority authority{"mcpx test authority"};
  Files files;
  test::ServerContext server = test::server_context(authority.issue(Wanted()));
  std::shared_ptr<const TlsContext> client = trusting(files, authority);
};

using PairBody = std::function<Task<void>(runtime::Shard&, Pair&)>;

inline Task<void> with_pair_body(runtime::Shard& shard, World& world, PairBody body) {
  Pair pair;
  co_await shake_hands(shard, pair, world.server.get(), world.client);
  Task<void> rest = body(shard, pair);
  co_await std::move(rest);
}

inline void with_pair(PairBody body) {
  World world;
  test::on_shard(
      [&](runtime::Shard& shard) { return with_pair_body(shard, world, std::move(body)); });
}

inline Task<std::string> read_size(ByteStream& stream, std::size_t size) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < size) {
    Result<std::size_t> bytes = co_await stream.read_some(buffer);
    REQUIRE(bytes.has_value());
    REQUIRE(*bytes > 0);
    text.append(buffer.data(), *bytes);
  }
  co_return text;
}

inline Task<std::string> read_code(ByteStream& stream) {
  std::array<char, 64> buffer;
  Result<std::size_t> bytes = co_await stream.read_some(buffer);
  if (!bytes) co_return bytes.error().code;
  co_return *bytes == 0 ? std::string("end") : std::string(buffer.data(), *bytes);
}

}  // namespace mcpx::net
