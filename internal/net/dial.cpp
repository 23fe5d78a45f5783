#include <fmt/core.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "net/address.hpp"
#include "net/descriptor.hpp"
#include "net/descriptor_stream.hpp"
#include "net/endpoint.hpp"
#include "net/resolve.hpp"
#include "runtime/readiness.hpp"
#include "runtime/timer.hpp"

namespace mcpx::net {
namespace {

struct Target {
  explicit Target(std::string name_in) : name(std::move(name_in)) {}
  std::string name;  // as configured, for messages
  TimePoint deadline = kNever;
  runtime::CancelSource* cancel = nullptr;
};

Error dial_error(const Target& target, const Address& address, int error) {
  std::string where = target.name;
  if (address.text() != target.name && address.family() != AF_UNIX) {
    where += " (" + address.text() + ")";
  }
  if (error == ECONNREFUSED || error == ENOENT) {
    return Error("net.refused", fmt::format("connecting to {}: {}", where, errno_text(error)),
                 "check that the program is running and listens on that address");
  }
  return Error("net.error", fmt::format("connecting to {}: {}", where, errno_text(error)));
}

// Waits until a connect that is under way has ended; its outcome is in SO_ERROR.
Task<Result<void>> finish_connect(runtime::Shard& shard, const Address& address,
                                  const Descriptor& descriptor, const Target& target) {
  runtime::Readiness connected(shard);
  if (const int failure = connected.watch(descriptor.get()); failure != 0) {
    co_return dial_error(target, address, failure);
  }
  connected.output_exhausted();  // it is under way
  bool expired = false;
  bool cancelled = false;
  runtime::Watchdog watchdog(shard, [&] {
    expired = true;
    connected.interrupt();
  });
  watchdog.set(target.deadline);
  runtime::CancelSource::Subscription subscription;
  if (target.cancel) {
    subscription = target.cancel->subscribe([&](const std::string&) {
      cancelled = true;
      connected.interrupt();
    });
  }
  if (!cancelled) {
    co_await connected.writable();  // SO_ERROR and the flags tell
  }
  if (cancelled)
    co_return Error("net.closed", fmt::format("connecting to {}: cancelled", target.name));
  if (expired) {
    co_return Error("net.timeout", fmt::format("connecting to {}: no answer in time", target.name),
                    "check that the host is reachable");
  }
  co_return Result<void>();
}

Task<Result<std::unique_ptr<ByteStream>>> dial(runtime::Shard& shard, const Address& address,
                                               const Target& target) {
  Descriptor descriptor(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!descriptor) co_return dial_error(target, address, errno);
  if (::connect(descriptor.get(), address.get(), address.size) != 0) {
    // A Unix socket whose backlog is full says EAGAIN and has not begun to connect.
    if (errno != EINPROGRESS) co_return dial_error(target, address, errno);
    Result<void> finished = co_await finish_connect(shard, address, descriptor, target);
    if (!finished) co_return finished.error();
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(descriptor.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) co_return dial_error(target, address, error);
  }
  co_return make_stream(shard, std::move(descriptor), address.text());
}

}  // namespace

Task<Result<std::unique_ptr<ByteStream>>> dial_tcp(runtime::Shard& shard, std::string host,
                                                   std::uint16_t port, TimePoint deadline,
                                                   runtime::CancelSource* cancel) {
  Target target(host_and_port(host, port));
  target.cancel = cancel;
  Result<std::vector<Address>> addresses =
      co_await resolve(shard, std::move(host), port, deadline, cancel);
  if (!addresses) co_return addresses.error();
  Error last("net.resolve", "no address of " + target.name);
  std::size_t left = addresses->size();
  for (const Address& address : *addresses) {
    // A share of what is left for each, so that one black hole does not eat the time of all.
    target.deadline = deadline;
    if (deadline != kNever) {
      const TimePoint now = Clock::now();
      target.deadline = now + (deadline - now) / static_cast<Duration::rep>(left);
    }
    --left;
    Result<std::unique_ptr<ByteStream>> stream = co_await dial(shard, address, target);
    if (stream) co_return stream;
    last = stream.error();
    if (last.code == "net.closed") break;
  }
  co_return last;
}

Task<Result<std::unique_ptr<ByteStream>>> dial_unix(runtime::Shard& shard, std::string path,
                                                    TimePoint deadline) {
  const std::optional<Address> address = unix_address(path);
  if (!address) {
    co_return Error("net.error", fmt::format("{:?} is no path of a Unix socket", path),
                    "a socket's path has 1 to 107 bytes");
  }
  Target target("unix:" + path);
  target.deadline = deadline;
  co_return co_await dial(shard, *address, target);
}

}  // namespace mcpx::net
