#include "daemon/signals.hpp"

#include <signal.h>
#include <sys/signalfd.h>

#include <span>

#include "base/check.hpp"
#include "net/endpoint.hpp"

namespace mcpx::daemon {
namespace {

sigset_t wanted() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&set, signal);
  return set;
}

}  // namespace

void block_signals() {
  const sigset_t set = wanted();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // a write to a dead child must be an error, not the end of us
}

Signals::Signals(runtime::Shard& shard) {
  const sigset_t set = wanted();
  const int descriptor = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  MCPX_CHECK(descriptor >= 0);
  stream_ = net::adopt_descriptor(shard, descriptor, "signals");
}

Task<int> Signals::next() {
  signalfd_siginfo info{};
  const std::span<char> bytes(reinterpret_cast<char*>(&info), sizeof info);
  Result<std::size_t> got = co_await stream_->read_some(bytes);
  if (!got || *got != sizeof info) co_return 0;
  co_return static_cast<int>(info.ssi_signo);
}

void Signals::close() {
  stream_->close();
}

}  // namespace mcpx::daemon
