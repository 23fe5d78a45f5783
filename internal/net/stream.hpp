// ByteStream: one connected stream of bytes (TCP, Unix socket, pipe), the only way mcpx reads and
// writes a peer.
//
// One reader and one writer at a time, which may be different coroutines. Every operation ends by
// its deadline, by close() or by the peer. Errors: net.closed, net.timeout, net.reset, net.error,
// net.tls.
// net.timeout ends one operation and leaves the stream usable: set a new deadline and go on.
// Destroy it only when no operation is pending (close() and await them first).
// Thread: home shard only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "runtime/task.hpp"

namespace mcpx::net {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Reads at least one byte into `into`; 0 means the peer ended its side.
  virtual Task<Result<std::size_t>> read_some(std::span<char> into) = 0;
  // Writes all parts, gathered; the bytes must stay valid until it returns.
  virtual Task<Result<void>> write(std::span<const std::string_view> parts) = 0;

  // The next (or current) read or write must finish by then; kNever takes the bound away.
  virtual void read_deadline(TimePoint when) = 0;
  virtual void write_deadline(TimePoint when) = 0;

  // Writes what goes without waiting and answers how many bytes that was, 0 for any reason. Not
  // while a write is pending.
  virtual std::size_t try_write(std::span<const std::string_view> /*parts*/) { return 0; }

  // Whether a stream is as it was left `idle` ago: the peer neither ended it nor sent anything.
  // After a short while what the event loop has heard is the answer, later the kernel is asked. For
  // a kept connection before it is used again, and not while a read is pending.
  virtual bool quiet(Duration /*idle*/) const { return true; }

  virtual void shutdown_send() = 0;      // ends our side; the peer reads EOF
  virtual void close() = 0;              // ends both; pending operations answer net.closed
  virtual std::string peer() const = 0;  // for log lines: "127.0.0.1:5123", "unix", "pid 77 stdout"

 protected:
  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
};

// What is left of parts after their first bytes; changes the part it begins in.
std::span<const std::string_view> without_first(std::span<std::string_view> parts,
                                                std::size_t bytes);

// Convenience for one part.
Task<Result<void>> write_all(ByteStream& stream, std::string_view bytes);

// A write to a pipe whose reader is gone must be an error, not the end of the process. Called once
// by main() of every program that uses this room (sockets would not need it: MSG_NOSIGNAL).
void ignore_sigpipe();

}  // namespace mcpx::net
