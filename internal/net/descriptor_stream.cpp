// Sockets and pipes alike are an Asio stream descriptor: reads go through its reactor, writes go to
// the kernel directly (they nearly always fit into the socket buffer, so no trip through the event
// loop) and wait in the reactor only when the peer is slow.
#include "net/descriptor_stream.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/check.hpp"
#include "net/address.hpp"
#include "net/endpoint.hpp"
#include "runtime/operation.hpp"
#include "runtime/timer.hpp"

namespace mcpx::net {
namespace {

namespace asio = boost::asio;
using AsioDescriptor = asio::posix::basic_stream_descriptor<Executor>;

// What is still to be written of a list of parts, as the kernel wants it.
class Outgoing {
 public:
  explicit Outgoing(std::span<const std::string_view> parts) : parts_(parts) { skip_empty(); }

  bool done() const { return parts_.empty(); }

  std::size_t fill(std::span<iovec> into) const {
    std::size_t count = 0;
    std::size_t skip = offset_;
    for (const std::string_view part : parts_) {
      if (count == into.size()) break;
      if (part.size() == skip) continue;  // an empty part: nothing to skip in it either
      into[count].iov_base = const_cast<char*>(part.data() + skip);
      into[count].iov_len = part.size() - skip;
      ++count;
      skip = 0;
    }
    return count;
  }

  void advance(std::size_t bytes) {
    offset_ += bytes;
    skip_empty();
  }

 private:
  void skip_empty() {
    while (!parts_.empty() && offset_ >= parts_.front().size()) {
      offset_ -= parts_.front().size();
      parts_ = parts_.subspan(1);
    }
  }

  std::span<const std::string_view> parts_;
  std::size_t offset_ = 0;  // into the first part
};

// Fails, harmlessly, for a Unix socket. Keep-alive finds a peer that is gone without a word, on
// streams that may be silent for hours: after two minutes.
void set_tcp_options(int descriptor) {
  const int on = 1, idle_seconds = 60, interval_seconds = 15, probes = 4;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof(idle_seconds));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof(interval_seconds));
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

class DescriptorStream final : public ByteStream {
 public:
  DescriptorStream(runtime::Shard& shard, Descriptor descriptor, std::string peer)
      : descriptor_(shard.executor()),
        watchdog_(shard, [this] { deadline_passed(); }),
        peer_(std::move(peer)) {
    int type = 0;
    socklen_t size = sizeof(type);
    socket_ = ::getsockopt(descriptor.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0;
    if (socket_) set_tcp_options(descriptor.get());
    boost::system::error_code failure;
    descriptor_.assign(descriptor.get(), failure);
    if (failure) {
      closed_ = true;
      return;
    }
    descriptor.release();
    descriptor_.non_blocking(true, failure);
  }

  Task<Result<std::size_t>> read_some(std::span<char> into) override;
  Task<Result<void>> write(std::span<const std::string_view> parts) override;

  void read_deadline(TimePoint when) override { move(read_, when); }
  void write_deadline(TimePoint when) override { move(write_, when); }

  std::size_t try_write(std::string_view bytes) override {
    if (closed_) return 0;
    const std::string_view parts[] = {bytes};
    const ssize_t written = write_now(Outgoing(parts));
    return written > 0 ? static_cast<std::size_t>(written) : 0;
  }

  bool quiet() const override {
    pollfd waiting{const_cast<AsioDescriptor&>(descriptor_).native_handle(), POLLIN, 0};
    return !closed_ && ::poll(&waiting, 1, 0) == 0;
  }

  void shutdown_send() override {
    if (closed_) return;
    if (socket_) {
      ::shutdown(descriptor_.native_handle(), SHUT_WR);
    } else {
      close();
    }
  }

  void close() override {
    if (closed_) return;
    closed_ = true;
    watchdog_.clear();
    boost::system::error_code ignored;
    descriptor_.close(ignored);  // aborts what is pending
  }

  std::string peer() const override { return peer_; }

 private:
  struct Direction {
    TimePoint deadline = kNever;
    bool expired = false;
  };

  ssize_t write_now(const Outgoing& rest) {
    std::array<iovec, 64> chunks;
    const std::size_t count = rest.fill(chunks);
    if (!socket_)
      return ::writev(descriptor_.native_handle(), chunks.data(), static_cast<int>(count));
    msghdr message{};
    message.msg_iov = chunks.data();
    message.msg_iovlen = count;
    return ::sendmsg(descriptor_.native_handle(), &message, MSG_NOSIGNAL);
  }

  void move(Direction& direction, TimePoint when) {
    direction.deadline = when;
    direction.expired = false;
    watch();
  }

  void watch() {
    if (closed_) return;
    const TimePoint next = std::min(read_.deadline, write_.deadline);
    if (next == kNever) {
      watchdog_.clear();
    } else {
      watchdog_.set(next);
    }
  }

  void deadline_passed() {
    const TimePoint now = Clock::now();
    for (Direction* direction : {&read_, &write_}) {
      if (direction->deadline > now) continue;
      direction->deadline = kNever;
      direction->expired = true;
    }
    boost::system::error_code ignored;
    descriptor_.cancel(ignored);  // both directions; the one in time goes on
    watch();
  }

  Error failed(int error, std::string_view doing) const {
    const bool reset = error == ECONNRESET || error == EPIPE;
    return Error(reset ? "net.reset" : "net.error",
                 fmt::format("{} {}: {}", doing, peer_, errno_text(error)));
  }
  Error is_closed() const { return Error("net.closed", fmt::format("{}: closed here", peer_)); }
  Error timed_out(std::string_view what) const {
    return Error("net.timeout", fmt::format("{} {} in time", what, peer_));
  }

  AsioDescriptor descriptor_;
  runtime::Watchdog watchdog_;
  Direction read_, write_;
  std::string peer_;
  bool socket_ = false;
  bool closed_ = false;
};

Task<Result<std::size_t>> DescriptorStream::read_some(std::span<char> into) {
  MCPX_CHECK(!into.empty());
  while (!closed_ && !read_.expired) {
    auto reading = runtime::operation(
        descriptor_.async_read_some(asio::buffer(into.data(), into.size()), asio::deferred));
    auto [failure, bytes] = co_await std::move(reading);
    if (!failure) co_return bytes;
    if (failure == asio::error::eof) co_return std::size_t(0);
    // Aborted: by close(), by our deadline, or by the writer's, in which case we go on.
    if (failure != asio::error::operation_aborted) {
      co_return failed(failure.value(), "reading from");
    }
  }
  if (closed_) co_return is_closed();
  co_return timed_out("nothing arrived from");
}

Task<Result<void>> DescriptorStream::write(std::span<const std::string_view> parts) {
  Outgoing rest(parts);
  while (!closed_ && !write_.expired) {
    if (rest.done()) co_return Result<void>();
    const ssize_t bytes = write_now(rest);
    if (bytes >= 0) {
      rest.advance(static_cast<std::size_t>(bytes));
      continue;
    }
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EAGAIN && error != EWOULDBLOCK) co_return failed(error, "writing to");
    auto waiting =
        runtime::operation(descriptor_.async_wait(AsioDescriptor::wait_write, asio::deferred));
    auto [failure] = co_await std::move(waiting);
    static_cast<void>(failure);  // the loop's condition or the next write tells
  }
  if (closed_) co_return is_closed();
  co_return timed_out("nothing is read by");
}

}  // namespace

std::unique_ptr<ByteStream> make_stream(runtime::Shard& shard, Descriptor descriptor,
                                        std::string peer) {
  return std::make_unique<DescriptorStream>(shard, std::move(descriptor), std::move(peer));
}

std::unique_ptr<ByteStream> adopt_descriptor(runtime::Shard& shard, int descriptor,
                                             std::string peer) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0) ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
  return make_stream(shard, Descriptor(descriptor), std::move(peer));
}

Task<Result<void>> write_all(ByteStream& stream, std::string_view bytes) {
  const std::string_view parts[] = {bytes};
  co_return co_await stream.write(parts);
}

void ignore_sigpipe() {
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace mcpx::net
