// Listeners: round robin over shards, descriptors running out, socket files.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "net/address.hpp"
#include "net/descriptor.hpp"
#include "net/endpoint.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/task_group.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::net {
namespace {

using Streams = runtime::Mailbox<std::unique_ptr<ByteStream>>;

class TempDir {
 public:
  TempDir() {
    std::string name = "/tmp/mcpx-net-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

Task<void> greet(ByteStream& from, ByteStream& to) {
  Result<void> written = co_await write_all(from, "hello");
  REQUIRE(written.has_value());
  std::array<char, 16> buffer;
  Result<std::size_t> bytes = co_await to.read_some(buffer);
  REQUIRE(bytes.has_value());
  REQUIRE(std::string_view(buffer.data(), *bytes) == "hello");
}

void start_into(Listener& listener, runtime::Shard& shard, Streams& streams) {
  runtime::Shard* const shards[] = {&shard};
  listener.start(shards, [&streams](runtime::Shard&, std::unique_ptr<ByteStream> stream) {
    streams.push(std::move(stream));
  });
}

Task<void> tcp_on(runtime::Shard& shard, std::string bind_to, std::string dial_as) {
  auto listener = listen_tcp(shard, bind_to, 0);
  REQUIRE(listener.has_value());
  Streams accepted(8);
  start_into(**listener, shard, accepted);
  auto client = co_await dial_tcp(shard, dial_as, (*listener)->port(), kNever);
  REQUIRE(client.has_value());
  auto server = co_await accepted.pop();
  REQUIRE(server.has_value());
  co_await greet(**client, **server);
  co_await greet(**server, **client);
  REQUIRE((*client)->peer() == (*listener)->address());
}
Task<void> tcp_body(runtime::Shard& shard) {
  co_await tcp_on(shard, "127.0.0.1", "127.0.0.1");
  co_await tcp_on(shard, "localhost", "localhost");
}
TEST_CASE("a connection is accepted and carries bytes both ways") {
  test::on_shard(tcp_body);
}

Task<void> v6_body(runtime::Shard& shard) {
  co_await tcp_on(shard, "[::1]", "::1");
  co_await tcp_on(shard, "::1", "localhost");  // 127.0.0.1 refuses, ::1 is tried next
}
TEST_CASE("IPv6 loopback works, also as the second address of localhost") {
  runtime::Shard probe(0);
  if (!listen_tcp(probe, "::1", 0)) {
    WARN("no IPv6 on this machine");
    return;
  }
  test::on_shard(v6_body);
}

Task<void> bind_errors_body(runtime::Shard& shard) {
  auto first = listen_tcp(shard, "127.0.0.1", 0);
  REQUIRE(first.has_value());
  auto second = listen_tcp(shard, "127.0.0.1", (*first)->port());
  REQUIRE(second.has_error());
  REQUIRE(second.error().code == "net.bind");
  REQUIRE(second.error().message.find((*first)->address()) != std::string::npos);
  REQUIRE(second.error().remedy.find("listen.http") != std::string::npos);
  auto named = listen_tcp(shard, "no-ip.example", 1);
  REQUIRE(named.has_error());
  REQUIRE(named.error().remedy.find("listen.http") != std::string::npos);
  auto foreign = listen_tcp(shard, "192.0.2.1", 1);  // TEST-NET: not ours
  REQUIRE(foreign.has_error());
  co_return;
}
TEST_CASE("an address in use is an error that says what to change") {
  test::on_shard(bind_errors_body);
}

Task<void> unix_body(runtime::Shard& shard) {
  const TempDir dir;
  const std::string path = dir / "s";
  {
    auto listener = listen_unix(shard, path);
    REQUIRE(listener.has_value());
    REQUIRE((*listener)->address() == "unix:" + path);
    REQUIRE((*listener)->port() == 0);
    struct stat found {};
    REQUIRE(::stat(path.c_str(), &found) == 0);
    REQUIRE((found.st_mode & 0777) == 0600);
    auto twice = listen_unix(shard, path);  // live
    REQUIRE(twice.has_error());
    REQUIRE(twice.error().code == "net.bind");

    Streams accepted(8);
    start_into(**listener, shard, accepted);
    auto probe = co_await accepted.pop();  // the liveness probe of `twice`
    auto client = co_await dial_unix(shard, path, kNever);
    REQUIRE(client.has_value());
    auto server = co_await accepted.pop();
    co_await greet(**client, **server);
  }
  REQUIRE_FALSE(std::filesystem::exists(path));
}
TEST_CASE("a Unix socket is private, exclusive and removed at the end") {
  test::on_shard(unix_body);
}

Task<void> stale_body(runtime::Shard& shard) {
  const TempDir dir;
  const std::string path = dir / "s";
  {
    auto old = listen_unix(shard, path);
    REQUIRE(old.has_value());
    std::filesystem::rename(path, dir / "kept");
  }
  std::filesystem::rename(dir / "kept", path);  // what a daemon that was killed leaves behind
  auto listener = listen_unix(shard, path);
  REQUIRE(listener.has_value());
  (*listener)->stop();

  std::ofstream(path) << "precious";
  auto refused = listen_unix(shard, path);
  REQUIRE(refused.has_error());
  REQUIRE(std::filesystem::file_size(path) == 8);
  co_return;
}
TEST_CASE("a stale socket file is replaced, any other file is kept") {
  test::on_shard(stale_body);
}

// Holds every descriptor the process may open, but for none.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit small = before_;
    small.rlim_cur = 256;
    ::setrlimit(RLIMIT_NOFILE, &small);
    while (true) {
      const int descriptor = ::dup(0);
      if (descriptor < 0) break;
      held_.push_back(descriptor);
    }
  }
  void free(std::size_t count) {
    while (count-- > 0 && !held_.empty()) {
      ::close(held_.back());
      held_.pop_back();
    }
  }
  ~NoDescriptors() {
    free(held_.size());
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  std::vector<int> held_;
};

Task<void> emfile_body(runtime::Shard& shard) {
  auto listener = listen_tcp(shard, "127.0.0.1", 0);
  REQUIRE(listener.has_value());
  Streams accepted(8);
  start_into(**listener, shard, accepted);
  NoDescriptors none;
  none.free(1);  // for the client's end
  auto shown_out = co_await dial_tcp(shard, "127.0.0.1", (*listener)->port(), kNever);
  REQUIRE(shown_out.has_value());
  std::array<char, 8> buffer;
  (*shown_out)->read_deadline(Clock::now() + std::chrono::seconds(20));
  Result<std::size_t> end = co_await (*shown_out)->read_some(buffer);
  const bool dropped = end.has_error() ? end.error().code == "net.reset" : *end == 0;
  REQUIRE(dropped);

  none.free(8);
  auto client = co_await dial_tcp(shard, "127.0.0.1", (*listener)->port(), kNever);
  REQUIRE(client.has_value());
  auto server = co_await accepted.pop();
  REQUIRE(server.has_value());
  co_await greet(**client, **server);
}
TEST_CASE("out of descriptors the listener shows clients out, and goes on once there are some") {
  test::on_shard(emfile_body);
}

Task<void> knock(runtime::Shard& shard, std::uint16_t port) {
  auto client = co_await dial_tcp(shard, "127.0.0.1", port, kNever);
  REQUIRE(client.has_value());
}

TEST_CASE("connections are handed to the shards in turn, each on its own thread") {
  std::vector<std::unique_ptr<runtime::Shard>> shards;
  std::vector<runtime::Shard*> pointers;
  for (std::size_t i = 0; i < 3; ++i) {
    shards.push_back(std::make_unique<runtime::Shard>(i));
    pointers.push_back(shards.back().get());
  }
  std::mutex mutex;
  std::vector<int> seen(3);
  std::promise<void> all;
  std::unique_ptr<Listener> listener;
  auto bound = listen_tcp(*shards[0], "127.0.0.1", 0);
  REQUIRE(bound.has_value());
  listener = std::move(*bound);
  const std::uint16_t port = listener->port();
  listener->start(pointers, [&](runtime::Shard& shard, std::unique_ptr<ByteStream> stream) {
    const std::lock_guard guard(mutex);
    if (shard.is_current() && stream) ++seen[shard.index()];
    if (seen[0] + seen[1] + seen[2] == 9) all.set_value();
  });
  for (auto& shard : shards)
    shard->start();

  for (int i = 0; i < 9; ++i) {
    test::on_shard([port](runtime::Shard& shard) { return knock(shard, port); });
  }
  all.get_future().get();
  REQUIRE(seen == std::vector<int>{3, 3, 3});
  shards[0]->post([&] { listener.reset(); });
  for (auto& shard : shards)
    shard->finish();
  for (auto& shard : shards)
    shard->join();
}

TEST_CASE("a shard that takes no connections yet does not use up the descriptors") {
  constexpr std::size_t kClients = 100;
  runtime::Shard door(0);
  runtime::Shard busy(1);
  runtime::Shard* const target[] = {&busy};
  auto bound = listen_tcp(door, "127.0.0.1", 0);
  REQUIRE(bound.has_value());
  std::unique_ptr<Listener> listener = std::move(*bound);
  std::size_t taken = 0;
  std::promise<void> all;
  NoDescriptors none;
  none.free(kClients + kClients / 2);  // of the second half, what is accepted
  std::vector<Descriptor> clients;
  const std::optional<Address> address = parse_ip("127.0.0.1", listener->port());
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(clients.back().get(), address->get(), address->size) == 0);
  }
  listener->start(target, [&](runtime::Shard&, std::unique_ptr<ByteStream>) {
    if (++taken == kClients) all.set_value();
  });
  std::promise<void> accepted;
  door.post([&] { accepted.set_value(); });  // behind the first look at what waits
  door.start();
  accepted.get_future().get();
  busy.start();
  CHECK(all.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  door.post([&] { listener.reset(); });
  for (runtime::Shard* shard : {&door, &busy}) {
    shard->finish();
    shard->join();
  }
}

}  // namespace
}  // namespace mcpx::net
