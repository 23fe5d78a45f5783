// Dialling and listening. Thread: home shard of the shard given.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/stream.hpp"
#include "runtime/cancel.hpp"
#include "runtime/shard.hpp"

namespace mcpx::net {

// Resolves and connects. Resolution runs off the shard and is abandoned at the deadline (style.md
// P10). All addresses are tried. `cancel`, when given, ends the dial early: net.closed.
// Errors: net.resolve, net.refused, net.timeout, net.closed, net.error; each names host and port.
Task<Result<std::unique_ptr<ByteStream>>> dial_tcp(runtime::Shard& shard, std::string host,
                                                   std::uint16_t port, TimePoint deadline,
                                                   runtime::CancelSource* cancel = nullptr);
Task<Result<std::unique_ptr<ByteStream>>> dial_unix(runtime::Shard& shard, std::string path,
                                                    TimePoint deadline);

// A descriptor that is already open (a pipe to a child, a socket), made non-blocking and owned from
// here on. shutdown_send() of a pipe closes it.
std::unique_ptr<ByteStream> adopt_descriptor(runtime::Shard& shard, int descriptor,
                                             std::string peer);

// Listener: accepts on one shard and hands each connection to a shard chosen round robin.
// It never stops on an error: EMFILE and such back off 50-200 ms (style.md P9). stop() ends it.
class Listener {
 public:
  using OnConnection = std::function<void(runtime::Shard&, std::unique_ptr<ByteStream>)>;

  virtual ~Listener() = default;
  virtual std::string address() const = 0;  // as bound: "127.0.0.1:7332", "unix:/run/..."
  virtual std::uint16_t port() const = 0;   // 0 for a Unix socket
  // Starts accepting. `accepted` runs on the chosen shard, also for a connection that was on its
  // way there when stop() was called. Thread: the listener's shard, for start(), stop() and the
  // end.
  virtual void start(std::span<runtime::Shard* const> shards, OnConnection accepted) = 0;
  virtual void stop() = 0;

 protected:
  Listener() = default;
};

// Errors: net.bind (address in use, permission), with the address and what to change.
Result<std::unique_ptr<Listener>> listen_tcp(runtime::Shard& shard, const std::string& host,
                                             std::uint16_t port);
// Mode 0600. A stale socket file (nobody accepts on it) is replaced; a live one is net.bind.
Result<std::unique_ptr<Listener>> listen_unix(runtime::Shard& shard, const std::string& path);

}  // namespace mcpx::net
