#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "log/log.hpp"
#include "net/address.hpp"
#include "net/descriptor.hpp"
#include "net/descriptor_stream.hpp"
#include "net/endpoint.hpp"
#include "runtime/readiness.hpp"
#include "runtime/start.hpp"
#include "runtime/timer.hpp"

namespace mcpx::net {
namespace {

constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn
constexpr int kBatch = 64;      // accepts per wake-up, so that a flood does not starve the shard
// Connections another shard was given and has not taken yet: each holds a descriptor that no limit
// of connections counts, so a shard that is busy makes the rest wait in the kernel.
constexpr int kAhead = 32;
constexpr Milliseconds kAheadPause{1};
constexpr Milliseconds kFirstBackOff{50};
constexpr Milliseconds kLastBackOff{200};

Descriptor open_spare() {
  return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

// The accept loop, kept alive by its coroutine, so that the Listener may go while that waits.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(runtime::Shard& shard, Descriptor descriptor, std::string address)
      : shard_(shard),
        socket_(std::move(descriptor)),
        readiness_(shard),
        pause_(shard),
        spare_(open_spare()),
        address_(std::move(address)) {
    const int failure = readiness_.watch(socket_.get());
    MCPX_CHECK(failure == 0);
    readiness_.input_exhausted();  // the kernel tells, once it is asked
  }

  void start(std::vector<runtime::Shard*> shards, Listener::OnConnection accepted) {
    MCPX_CHECK(!shards.empty());
    shards_ = std::move(shards);
    accepted_ = std::make_shared<const Listener::OnConnection>(std::move(accepted));
    runtime::start(shard_, accept_all(shared_from_this()));
  }

  void stop() {
    if (stopped_) return;
    stopped_ = true;
    readiness_.release();
    socket_.reset();
    readiness_.interrupt();
    pause_.cancel();
    accepted_.reset();
  }

 private:
  enum class Batch { more, drained, ahead, no_resources };

  static Task<void> accept_all(std::shared_ptr<Acceptor> self);

  // Between batches the others get their turn. Asking again at once when there are no descriptors
  // left would spin (style.md P9).
  Milliseconds pause_after(Batch batch) {
    if (batch == Batch::more) return Milliseconds(0);
    if (batch == Batch::ahead) return kAheadPause;
    return std::exchange(delay_, std::min(delay_ * 2, kLastBackOff));
  }

  Batch accept_batch() {
    for (int i = 0; i < kBatch && !stopped_; ++i) {
      if (*ahead_ >= kAhead) return Batch::ahead;
      Address from;
      from.size = sizeof(from.storage);
      Descriptor connection(
          ::accept4(socket_.get(), from.get(), &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (connection) {
        delay_ = kFirstBackOff;
        complaining_ = false;
        hand_over(std::move(connection), from.text());
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) return Batch::drained;
      // The peer gave up while it was queued, or the network hiccuped: that connection only.
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) continue;
      out_of_resources(errno);
      return Batch::no_resources;
    }
    return Batch::more;
  }

  // With the spare descriptor one waiting client is let in and shown the door, which is better for
  // it than hanging.
  void out_of_resources(int error) {
    if (!std::exchange(complaining_, true)) {
      log::warning("cannot accept on {}: {}; raise the limit of open files", address_,
                   errno_text(error));
    }
    spare_.reset();
    Descriptor refused(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    refused.reset();
    spare_ = open_spare();
  }

  void hand_over(Descriptor connection, std::string peer) {
    runtime::Shard& target = *shards_[next_++ % shards_.size()];
    if (target.is_current()) {
      const auto accepted = accepted_;  // stop() may be called inside
      return (*accepted)(target, make_stream(target, std::move(connection), std::move(peer)));
    }
    auto moved = std::make_shared<Descriptor>(std::move(connection));
    ++*ahead_;
    target.post([&target, moved, peer = std::move(peer), accepted = accepted_, ahead = ahead_] {
      --*ahead;
      (*accepted)(target, make_stream(target, std::move(*moved), peer));
    });
  }

  runtime::Shard& shard_;
  Descriptor socket_;
  runtime::Readiness readiness_;
  runtime::Timer pause_;
  Descriptor spare_;
  std::string address_;
  std::vector<runtime::Shard*> shards_;
  std::shared_ptr<const Listener::OnConnection> accepted_;
  const std::shared_ptr<std::atomic<int>> ahead_ = std::make_shared<std::atomic<int>>(0);
  std::size_t next_ = 0;
  Milliseconds delay_ = kFirstBackOff;
  bool complaining_ = false;
  bool stopped_ = false;
};

Task<void> Acceptor::accept_all(std::shared_ptr<Acceptor> self) {
  while (!self->stopped_) {
    const Batch batch = self->accept_batch();
    if (batch == Batch::drained) {
      self->readiness_.input_exhausted();
      co_await self->readiness_.readable();
    } else {
      const bool slept = co_await self->pause_.sleep_for(self->pause_after(batch));
      static_cast<void>(slept);  // the condition of the loop tells
    }
  }
}

// The socket file on disk, removed at the end unless somebody else's is there by then.
class SocketFile {
 public:
  explicit SocketFile(std::string path) : path_(std::move(path)) {
    struct stat found {};
    if (!path_.empty() && ::lstat(path_.c_str(), &found) == 0) {
      device_ = found.st_dev;
      inode_ = found.st_ino;
    }
  }
  void remove() {
    struct stat found {};
    if (path_.empty() || ::lstat(path_.c_str(), &found) != 0) return;
    if (found.st_dev == device_ && found.st_ino == inode_) ::unlink(path_.c_str());
    path_.clear();
  }

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

class SocketListener final : public Listener {
 public:
  SocketListener(runtime::Shard& shard, Descriptor descriptor, std::string address,
                 std::uint16_t port, std::string path)
      : acceptor_(std::make_shared<Acceptor>(shard, std::move(descriptor), address)),
        address_(std::move(address)),
        port_(port),
        file_(std::move(path)) {}
  ~SocketListener() override { stop(); }

  std::string address() const override { return address_; }
  std::uint16_t port() const override { return port_; }
  void start(std::span<runtime::Shard* const> shards, OnConnection accepted) override {
    acceptor_->start(std::vector<runtime::Shard*>(shards.begin(), shards.end()),
                     std::move(accepted));
  }
  void stop() override {
    file_.remove();  // first, so that nobody finds a file without a listener
    acceptor_->stop();
  }

 private:
  std::shared_ptr<Acceptor> acceptor_;
  std::string address_;
  std::uint16_t port_;
  SocketFile file_;
};

Error bind_error(const std::string& where, int error) {
  std::string remedy = "change listen.http (or listen.unix) in the configuration";
  if (error == EADDRINUSE) {
    remedy = "stop the program that listens there, or set listen.http to another port";
  } else if (error == EACCES) {
    remedy = "ports below 1024 need a privilege: set listen.http to a higher port";
  } else if (error == EADDRNOTAVAIL) {
    remedy = "set listen.http to an address of this machine, such as 127.0.0.1:7332";
  }
  return Error("net.bind", fmt::format("cannot listen on {}: {}", where, errno_text(error)),
               std::move(remedy));
}

Error unix_bind_error(const std::string& path, std::string_view why, std::string remedy) {
  return Error("net.bind", fmt::format("cannot listen on unix:{}: {}", path, why),
               std::move(remedy));
}

// Makes way for a new socket at `path`: a leftover of a daemon that died is removed.
Result<void> clear_stale(const std::string& path, const Address& address) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return {};
  if (!S_ISSOCK(found.st_mode)) {
    return unix_bind_error(path, "a file that is no socket is there",
                           "remove it or change listen.unix");
  }
  Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool refused =
      ::connect(probe.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED;
  if (!refused) {
    return unix_bind_error(path, "another program listens there",
                           "stop it or set listen.unix to another path");
  }
  ::unlink(path.c_str());
  return {};
}

}  // namespace

Result<std::unique_ptr<Listener>> listen_tcp(runtime::Shard& shard, const std::string& host,
                                             std::uint16_t port) {
  const std::string where = host_and_port(host, port);
  std::optional<Address> address = parse_ip(host == "localhost" ? "127.0.0.1" : host, port);
  if (!address) {
    return Error(
        "net.bind", fmt::format("cannot listen on {}: the host is no IP address", where),
        "set listen.http to an IP address or localhost and a port, such as 127.0.0.1:7332");
  }
  Descriptor descriptor(::socket(address->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!descriptor) return bind_error(where, errno);
  const int on = 1;
  ::setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(descriptor.get(), address->get(), address->size) != 0 ||
      ::listen(descriptor.get(), kBacklog) != 0) {
    return bind_error(where, errno);
  }
  Address bound;
  bound.size = sizeof(bound.storage);
  ::getsockname(descriptor.get(), bound.get(), &bound.size);
  return std::make_unique<SocketListener>(shard, std::move(descriptor), bound.text(), bound.port(),
                                          std::string());
}

Result<std::unique_ptr<Listener>> listen_unix(runtime::Shard& shard, const std::string& path) {
  const std::optional<Address> address = unix_address(path);
  if (!address) {
    return unix_bind_error(path, "not a path of a Unix socket",
                           "set listen.unix to a path of 1 to 107 bytes");
  }
  const Result<void> cleared = clear_stale(path, *address);
  if (!cleared) return cleared.error();
  Descriptor descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!descriptor) return bind_error("unix:" + path, errno);
  // Linux gives the file the mode of the socket, so nobody else can ever connect; chmod() repeats
  // it for kernels that do not. Nothing is accepted before listen().
  ::fchmod(descriptor.get(), S_IRUSR | S_IWUSR);
  if (::bind(descriptor.get(), address->get(), address->size) != 0) {
    return unix_bind_error(path, errno_text(errno),
                           "check that its directory exists and can be written, or change "
                           "listen.unix");
  }
  if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(descriptor.get(), kBacklog) != 0) {
    const int error = errno;
    ::unlink(path.c_str());
    return bind_error("unix:" + path, error);
  }
  return std::make_unique<SocketListener>(shard, std::move(descriptor), "unix:" + path,
                                          std::uint16_t(0), path);
}

}  // namespace mcpx::net
