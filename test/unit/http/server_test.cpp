// The server over real sockets: keep-alive, slow and vanishing clients, many connections, the end.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unit/http/loopback.hpp"

namespace mcpx::http {
namespace {

Task<void> keep_alive_body(runtime::Shard& shard) {
  Echo echo;
  Loopback loopback(shard, ServerOptions(), echo);
  auto client = co_await raw_client(shard, loopback.port());
  for (int i = 0; i < 3; ++i) {
    co_await say(*client, post("/", "ping" + std::to_string(i)));
    std::string seen;
    const bool answered = co_await read_until(*client, seen, "ping" + std::to_string(i));
    REQUIRE(answered);
  }
  REQUIRE(loopback.server.connections() == 1);
  client.reset();
  co_await loopback.stop(kPatience);
}
TEST_CASE("a connection serves request after request") {
  test::on_shard(keep_alive_body);
}

Task<void> big_body(runtime::Shard& shard) {
  Echo echo;
  Loopback loopback(shard, ServerOptions(), echo);
  auto client = co_await raw_client(shard, loopback.port());
  const std::string body(3'000'000, 'b');
  runtime::TaskGroup group(shard);
  group.spawn("send", say(*client, post("/", body + "END", "Connection: close\r\n")));
  const std::string answer = co_await read_to_end(*client);
  co_await group.join();
  REQUIRE(answer.size() > body.size());
  REQUIRE(answer.substr(answer.size() - 4) == "bEND");
  co_await loopback.stop(kPatience);
}
TEST_CASE("a body of several megabytes goes through both ways") {
  test::on_shard(big_body);
}

Task<void> loris_body(runtime::Shard& shard) {
  Echo echo;
  ServerOptions options;
  options.head_timeout = Milliseconds(5);
  options.body_timeout = Milliseconds(5);
  Loopback loopback(shard, options, echo);
  for (const char* part :
       {"POST / HT", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"}) {
    auto client = co_await raw_client(shard, loopback.port());
    co_await say(*client, part);
    const std::string answer = co_await read_to_end(*client);
    REQUIRE(answer.substr(0, 13) == "HTTP/1.1 408 ");
  }
  co_await loopback.stop(kPatience);
}
TEST_CASE("a client that sends too slowly is answered 408") {
  test::on_shard(loris_body);
}

Task<void> idle_body(runtime::Shard& shard) {
  Echo echo;
  ServerOptions options;
  options.idle_timeout = Milliseconds(5);
  Loopback loopback(shard, options, echo);
  auto client = co_await raw_client(shard, loopback.port());
  const std::string answer = co_await read_to_end(*client);
  REQUIRE(answer.empty());
  co_await loopback.stop(kPatience);
}
TEST_CASE("a client that says nothing is let go") {
  test::on_shard(idle_body);
}

Task<void> oversize_body(runtime::Shard& shard) {
  Echo echo;
  ServerOptions options;
  options.limits.body_bytes = 1000;
  Loopback loopback(shard, options, echo);
  auto client = co_await raw_client(shard, loopback.port());
  // Sent whole before the answer is read: closing at once would reset and lose it.
  co_await say(*client, post("/", std::string(200'000, 'x')));
  client->shutdown_send();
  const std::string answer = co_await read_to_end(*client);
  REQUIRE(answer.substr(0, 13) == "HTTP/1.1 413 ");
  REQUIRE(answer.back() == '}');
  co_await loopback.stop(kPatience);
}
TEST_CASE("a refusal reaches a client that is still sending") {
  test::on_shard(oversize_body);
}

Task<void> half_close_body(runtime::Shard& shard) {
  Patient patient;
  Loopback loopback(shard, ServerOptions(), patient);
  auto client = co_await raw_client(shard, loopback.port());
  co_await say(*client, post("/", "x"));
  co_await patient.entered.wait();
  client->shutdown_send();
  const std::string answer = co_await read_to_end(*client);
  REQUIRE(patient.reason == "the client closed the connection");
  REQUIRE(answer.substr(0, 13) == "HTTP/1.1 200 ");
  co_await loopback.stop(kPatience);
}
TEST_CASE("a client that ends its side fires gone(), and an answer still reaches it") {
  test::on_shard(half_close_body);
}

Task<void> reset_body(runtime::Shard& shard) {
  Patient patient;
  Loopback loopback(shard, ServerOptions(), patient);
  auto client = co_await raw_client(shard, loopback.port());
  co_await say(*client, post("/", "x"));
  co_await patient.entered.wait();
  client.reset();
  co_await patient.left.wait();
  REQUIRE_FALSE(patient.reason.empty());
  co_await loopback.stop(kPatience);
}
TEST_CASE("a client that closes while its request is served fires gone()") {
  test::on_shard(reset_body);
}

// Streams until a send fails.
class Endless final : public Handler {
 public:
  Task<void> handle(Exchange& exchange) override;
  int fired = 0;
  std::string code;
  runtime::OneShot<int> ended;
};

Task<void> Endless::handle(Exchange& exchange) {
  auto gone = exchange.gone().subscribe([this](const std::string&) { ++fired; });
  Result<void> sent = co_await exchange.begin_stream(kNoFields);
  const std::string event = "{\"x\":\"" + std::string(20'000, 'e') + "\"}";
  while (sent) {
    sent = co_await exchange.send_event(event);
  }
  code = sent.error().code;
  ended.set(1);
}

Task<void> vanish_body(runtime::Shard& shard) {
  Endless endless;
  Loopback loopback(shard, ServerOptions(), endless);
  auto doomed = co_await raw_client(shard, loopback.port());
  co_await say(*doomed, post("/", "x"));
  std::string seen;
  const bool streaming = co_await read_until(*doomed, seen, "event: message");
  REQUIRE(streaming);
  doomed.reset();  // unread bytes: the kernel resets
  co_await endless.ended.wait();
  REQUIRE(endless.code == "net.reset");
  REQUIRE(endless.fired == 1);

  auto other = co_await raw_client(shard, loopback.port());
  co_await say(*other, post("/", "x"));
  std::string text;
  const bool served = co_await read_until(*other, text, "event: message");
  REQUIRE(served);
  other.reset();
  co_await loopback.stop(kPatience);
}
TEST_CASE("C07: a client that vanishes mid-response ends its own exchange only") {
  test::on_shard(vanish_body);
}

Task<void> stuck_body(runtime::Shard& shard) {
  Endless endless;
  ServerOptions options;
  options.write_timeout = Milliseconds(10);
  Loopback loopback(shard, options, endless);
  auto client = co_await raw_client(shard, loopback.port());
  co_await say(*client, post("/", "x"));
  co_await endless.ended.wait();  // nobody reads
  REQUIRE(endless.code == "net.timeout");
  co_await loopback.stop(kPatience);
}
TEST_CASE("a client that does not read ends at the write deadline") {
  test::on_shard(stuck_body);
}

Task<void> limit_body(runtime::Shard& shard) {
  Gathering gathering(2);
  ServerOptions options;
  options.connections = 2;
  Loopback loopback(shard, options, gathering);
  auto first = co_await raw_client(shard, loopback.port());
  auto second = co_await raw_client(shard, loopback.port());
  co_await say(*first, post("/", "x"));
  co_await say(*second, post("/", "x"));
  co_await gathering.all.wait();
  auto third = co_await raw_client(shard, loopback.port());
  const std::string answer = co_await read_to_end(*third);
  REQUIRE(answer.substr(0, 13) == "HTTP/1.1 503 ");
  REQUIRE(answer.find("Retry-After: 1\r\n") != std::string::npos);
  REQUIRE(answer.find("limits.connections") != std::string::npos);
  gathering.open.open();
  std::string seen;
  const bool served = co_await read_until(*second, seen, "done");
  REQUIRE(served);
  third.reset();
  co_await loopback.stop(kPatience);
}
TEST_CASE("one connection too many is told so while all others are busy") {
  test::on_shard(limit_body);
}

Task<void> room_body(runtime::Shard& shard) {
  Echo echo;
  ServerOptions options;
  options.connections = 3;
  Loopback loopback(shard, options, echo);
  auto used = co_await raw_client(shard, loopback.port());
  co_await say(*used, post("/", "used"));
  std::string seen;
  const bool served = co_await read_until(*used, seen, "used");
  REQUIRE(served);
  auto silent = co_await raw_client(shard, loopback.port());
  auto slow = co_await raw_client(shard, loopback.port());
  co_await say(*slow, "POST / HT");
  std::vector<std::unique_ptr<net::ByteStream>> newcomers;
  // Each of these needs room: what never asked anything goes first, the oldest of it.
  for (net::ByteStream* expected : {silent.get(), slow.get(), used.get()}) {
    auto next = co_await raw_client(shard, loopback.port());
    co_await say(*next, post("/", "newcomer"));
    std::string answer;
    const bool answered = co_await read_until(*next, answer, "newcomer");
    REQUIRE(answered);
    const std::string rest = co_await read_to_end(*expected);
    REQUIRE(rest.empty());
    REQUIRE(loopback.server.connections() == 3);
    newcomers.push_back(std::move(next));
  }
  co_await loopback.stop(kPatience);
}
TEST_CASE("connections that wait make room for new ones, the oldest first") {
  test::on_shard(room_body);
}

Task<void> many_body(runtime::Shard& shard, std::size_t wanted) {
  Echo echo;
  Loopback loopback(shard, ServerOptions(), echo);
  std::vector<std::unique_ptr<net::ByteStream>> clients;
  for (std::size_t i = 0; i < wanted; ++i) {
    auto client = co_await raw_client(shard, loopback.port());
    clients.push_back(std::move(client));
  }
  for (auto& client : clients) {
    co_await say(*client, post("/", "hello"));
  }
  for (auto& client : clients) {
    std::string seen;
    const bool served = co_await read_until(*client, seen, "hello");
    REQUIRE(served);
  }
  REQUIRE(loopback.server.connections() == wanted);
  co_await loopback.stop(kPatience);  // all idle: at once
}
TEST_CASE("a thousand connections are served and stopped") {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t wanted = limit.rlim_cur < 2'200 ? limit.rlim_cur / 3 : 1'000;
  test::on_shard([wanted](runtime::Shard& shard) { return many_body(shard, wanted); });
}

Task<void> stop_busy_body(runtime::Shard& shard) {
  Patient patient;
  Loopback loopback(shard, ServerOptions(), patient);
  auto busy = co_await raw_client(shard, loopback.port());
  auto idle = co_await raw_client(shard, loopback.port());
  co_await say(*busy, post("/", "x"));
  co_await patient.entered.wait();
  runtime::TaskGroup group(shard);
  group.spawn("stop", loopback.stop(kPatience));
  const std::string nothing = co_await read_to_end(*idle);
  REQUIRE(nothing.empty());
  patient.release.set(1);
  const std::string answer = co_await read_to_end(*busy);
  REQUIRE(answer.substr(0, 13) == "HTTP/1.1 200 ");
  REQUIRE(answer.find("Connection: close\r\n") != std::string::npos);
  busy.reset();
  co_await group.join();
  REQUIRE(patient.reason.empty());
}
TEST_CASE("stop() lets a request in progress finish and closes idle connections at once") {
  test::on_shard(stop_busy_body);
}

Task<void> stop_late_body(runtime::Shard& shard) {
  Patient patient;
  Loopback loopback(shard, ServerOptions(), patient);
  auto busy = co_await raw_client(shard, loopback.port());
  auto halfway = co_await raw_client(shard, loopback.port());
  co_await say(*halfway, "POST / HTTP/1.1\r\n");
  co_await say(*busy, post("/", "x"));
  co_await patient.entered.wait();
  co_await loopback.stop(Milliseconds(5));
  REQUIRE(patient.reason == "mcpx is stopping");
}
TEST_CASE("stop() ends what is not done by its deadline") {
  test::on_shard(stop_late_body);
}

}  // namespace
}  // namespace mcpx::http
