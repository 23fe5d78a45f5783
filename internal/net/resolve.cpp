#include "net/resolve.hpp"

#include <fmt/core.h>
#include <netdb.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/one_shot.hpp"
#include "runtime/timer.hpp"

namespace mcpx::net {
namespace {

using Addresses = std::vector<Address>;

// Counts threads of this process that sit in getaddrinfo(), abandoned ones included: they are the
// resource that must not run away when a resolver hangs.
std::atomic<std::size_t> lookups_running{0};

Error cannot_resolve(const std::string& host, std::string_view why) {
  return Error("net.resolve", fmt::format("cannot resolve host {}: {}", host, why),
               "check the spelling of the host and the resolver, or use an IP address");
}

struct Lookup {
  Lookup(std::string host_in, std::string service_in, runtime::Shard& shard_in)
      : host(std::move(host_in)), service(std::move(service_in)), shard(&shard_in) {}

  const std::string host, service;
  std::mutex mutex;
  runtime::Shard* shard;                        // guarded; null once abandoned
  runtime::OneShot<Result<Addresses>> outcome;  // home shard only
};

Result<Addresses> blocking_lookup(const std::string& host, const std::string& service) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &list);
  if (failure != 0) return cannot_resolve(host, ::gai_strerror(failure));
  Addresses found;
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    found.push_back(from_sockaddr(entry->ai_addr, entry->ai_addrlen));
  }
  ::freeaddrinfo(list);
  if (found.empty()) return cannot_resolve(host, "it has no address");
  return found;
}

void run_lookup(const std::shared_ptr<Lookup>& lookup) {
  auto outcome =
      std::make_shared<Result<Addresses>>(blocking_lookup(lookup->host, lookup->service));
  --lookups_running;
  // Under the lock the waiting coroutine cannot give up, so its shard is alive.
  const std::lock_guard guard(lookup->mutex);
  if (!lookup->shard) return;
  lookup->shard->post([lookup, outcome] { lookup->outcome.set(std::move(*outcome)); });
}

Task<Result<Addresses>> look_up(runtime::Shard& shard, std::string host, std::string service,
                                TimePoint deadline, runtime::CancelSource* cancel) {
  if (++lookups_running > kMaxLookups) {
    --lookups_running;
    co_return cannot_resolve(host, "too many lookups hang already");
  }
  auto lookup = std::make_shared<Lookup>(host, std::move(service), shard);
  std::thread thread([lookup] { run_lookup(lookup); });

  bool answered = true;
  auto give_up = [&](Error reason) {
    if (lookup->outcome.set(std::move(reason))) answered = false;
  };
  runtime::Watchdog watchdog(shard, [&] {
    give_up(Error("net.timeout", fmt::format("resolving host {}: no answer in time", host),
                  "check the resolver, or use an IP address"));
  });
  watchdog.set(deadline);
  runtime::CancelSource::Subscription subscription;
  if (cancel) {
    subscription = cancel->subscribe([&](const std::string& reason) {
      give_up(Error("net.closed", fmt::format("resolving host {}: {}", host, reason)));
    });
  }
  Result<Addresses> outcome = co_await lookup->outcome.wait();
  if (answered) {
    thread.join();  // it has posted: nothing is left to wait for
  } else {
    const std::lock_guard guard(lookup->mutex);
    lookup->shard = nullptr;
    thread.detach();
  }
  co_return outcome;
}

}  // namespace

Task<Result<Addresses>> resolve(runtime::Shard& shard, std::string host, std::uint16_t port,
                                TimePoint deadline, runtime::CancelSource* cancel) {
  Addresses known;
  if (host == "localhost") {
    known.push_back(*parse_ip("127.0.0.1", port));
    known.push_back(*parse_ip("::1", port));
    co_return known;
  }
  if (const std::optional<Address> literal = parse_ip(host, port)) {
    known.push_back(*literal);
    co_return known;
  }
  co_return co_await look_up(shard, std::move(host), std::to_string(port), deadline, cancel);
}

}  // namespace mcpx::net
