// Sockets and pipes alike: writes go to the kernel directly (they nearly always fit into the socket
// buffer) and wait only when the peer is slow; reads wait until there is something, so that a call
// costs no read that finds nothing.
#include "net/descriptor_stream.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/check.hpp"
#include "net/address.hpp"
#include "net/endpoint.hpp"
#include "runtime/loop.hpp"
#include "runtime/readiness.hpp"
#include "runtime/timer.hpp"

namespace mcpx::net {
namespace {

// A peer that sends faster than it is read must not keep the others waiting.
constexpr int kReadsInTurn = 4;
// Servers give kept connections seconds before they close them.
constexpr Milliseconds kFresh{100};

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

void set_non_blocking(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) == 0) ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

class DescriptorStream final : public ByteStream {
 public:
  DescriptorStream(runtime::Shard& shard, Descriptor descriptor, std::string peer)
      : loop_(shard.loop()),
        descriptor_(std::move(descriptor)),
        readiness_(shard),
        watchdog_(shard, [this] { deadline_passed(); }),
        peer_(std::move(peer)) {
    int type = 0;
    socklen_t size = sizeof(type);
    socket_ = ::getsockopt(descriptor_.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0;
    if (socket_) set_tcp_options(descriptor_.get());
    set_non_blocking(descriptor_.get());
    if (readiness_.watch(descriptor_.get()) != 0) closed_ = true;
  }

  Task<Result<std::size_t>> read_some(std::span<char> into) override;
  Task<Result<void>> write(std::span<const std::string_view> parts) override;

  void read_deadline(TimePoint when) override { move(read_, when); }
  void write_deadline(TimePoint when) override { move(write_, when); }

  std::size_t try_write(std::span<const std::string_view> parts) override {
    if (closed_) return 0;
    const ssize_t written = write_now(Outgoing(parts));
    return written > 0 ? static_cast<std::size_t>(written) : 0;
  }

  bool quiet(Duration idle) const override {
    if (closed_) return false;
    if (idle < kFresh && !readiness_.may_read()) return true;
    pollfd waiting{descriptor_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) == 0;
  }

  void shutdown_send() override {
    if (closed_) return;
    if (socket_) {
      ::shutdown(descriptor_.get(), SHUT_WR);
    } else {
      close();
    }
  }

  void close() override {
    if (closed_) return;
    closed_ = true;
    watchdog_.clear();
    readiness_.release();
    descriptor_.reset();
    readiness_.interrupt();
  }

  std::string peer() const override { return peer_; }

 private:
  struct Direction {
    TimePoint deadline = kNever;
    bool expired = false;
  };

  ssize_t read_now(std::span<char> into) {
    if (!socket_) return ::read(descriptor_.get(), into.data(), into.size());
    return ::recv(descriptor_.get(), into.data(), into.size(), 0);
  }

  ssize_t write_now(const Outgoing& rest) {
    std::array<iovec, 64> chunks;
    const std::size_t count = rest.fill(chunks);
    if (!socket_) return ::writev(descriptor_.get(), chunks.data(), static_cast<int>(count));
    msghdr message{};
    message.msg_iov = chunks.data();
    message.msg_iovlen = count;
    return ::sendmsg(descriptor_.get(), &message, MSG_NOSIGNAL);
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
    readiness_.interrupt();  // both directions; the one in time goes on
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

  runtime::Loop& loop_;
  Descriptor descriptor_;
  runtime::Readiness readiness_;
  runtime::Watchdog watchdog_;
  Direction read_, write_;
  std::string peer_;
  int reads_ = 0;  // since the last wait
  bool socket_ = false;
  bool closed_ = false;
};

Task<Result<std::size_t>> DescriptorStream::read_some(std::span<char> into) {
  MCPX_CHECK(!into.empty());
  while (!closed_ && !read_.expired) {
    if (!readiness_.may_read()) {
      reads_ = 0;
      co_await readiness_.readable();
      continue;  // ready, or closed, or out of time
    }
    if (++reads_ > kReadsInTurn) {
      reads_ = 0;
      co_await loop_.turn();
      continue;
    }
    const ssize_t bytes = read_now(into);
    const int error = errno;
    if (bytes >= 0) {
      const auto got = static_cast<std::size_t>(bytes);
      if (got < into.size()) readiness_.input_exhausted();
      co_return got;
    }
    if (error == EINTR) continue;
    if (error != EAGAIN && error != EWOULDBLOCK) co_return failed(error, "reading from");
    readiness_.input_exhausted();
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
    readiness_.output_exhausted();
    co_await readiness_.writable();
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
  return make_stream(shard, Descriptor(descriptor), std::move(peer));
}

std::span<const std::string_view> without_first(std::span<std::string_view> parts,
                                                std::size_t bytes) {
  while (!parts.empty() && parts.front().size() <= bytes) {
    bytes -= parts.front().size();
    parts = parts.subspan(1);
  }
  if (!parts.empty()) parts.front().remove_prefix(bytes);
  return parts;
}

Task<Result<void>> write_all(ByteStream& stream, std::string_view bytes) {
  const std::string_view parts[] = {bytes};
  co_return co_await stream.write(parts);
}

void ignore_sigpipe() {
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace mcpx::net
