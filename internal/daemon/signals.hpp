// The signals the daemon acts on, as an awaitable. Blocked in every thread and read from a
// signalfd, so no handler runs anywhere. Thread: block_signals() startup, before any thread; the
// rest its shard.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "net/stream.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::daemon {

void block_signals();  // SIGTERM, SIGINT, SIGHUP; SIGPIPE is ignored

class Signals {
 public:
  explicit Signals(runtime::Shard& shard);
  Task<int> next();  // the number of the next signal; 0 after close()
  void close();

 private:
  std::unique_ptr<net::ByteStream> stream_;
};

}  // namespace mcpx::daemon
