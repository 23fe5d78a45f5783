// The client over TLS.
#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "http/client.hpp"
#include "unit/http/secure_server.hpp"

namespace mcpx::http {
namespace {

Task<std::string> post_hello(Client& client, std::string body) {
  const std::string_view parts[] = {body};
  Request request;
  request.target = "/mcp";
  request.body = parts;
  request.deadline = Clock::now() + kPatience;
  Result<std::unique_ptr<Response>> response = co_await client.send(request);
  if (!response) co_return "<" + response.error().code + "> " + response.error().message;
  Result<PaddedBuffer> got = co_await (*response)->body();
  if (!got) co_return "<" + got.error().code + ">";
  co_return std::to_string((*response)->head().status) + " " + std::string(got->view());
}

Task<void> round_trip_body(runtime::Shard& shard, const test::Authority& authority) {
  SecureServer server(shard, authority);
  Client::Options options;
  options.tls = trusting(authority);
  {
    Client client(shard, server.origin("localhost"), options);
    for (int i = 0; i < 3; ++i) {
      const std::string answer = co_await post_hello(client, "hello");
      REQUIRE(answer == "200 hello");
    }
    REQUIRE(server.server.connections() == 1);  // kept and used again
    const std::string large(300'000, 'x');
    const std::string answer = co_await post_hello(client, large);
    REQUIRE((answer == "200 " + large));
  }
  co_await server.stop();
}
TEST_CASE("https requests share a kept connection") {
  const test::Authority authority("mcpx test authority");
  test::on_shard([&](runtime::Shard& shard) { return round_trip_body(shard, authority); });
}

Task<void> untrusted_body(runtime::Shard& shard, const test::Authority& authority) {
  SecureServer server(shard, authority);
  {
    Client client(shard, server.origin("localhost"), Client::Options());  // the system's roots
    const std::string answer = co_await post_hello(client, "hello");
    REQUIRE(answer.find("<http.tls> TLS with localhost: ") == 0);
    REQUIRE(answer.find("no authority known to this system") != std::string::npos);
  }
  co_await server.stop();
}
TEST_CASE("a server that is not trusted is http.tls") {
  const test::Authority authority("mcpx test authority");
  test::on_shard([&](runtime::Shard& shard) { return untrusted_body(shard, authority); });
}

Task<void> plain_body(runtime::Shard& shard) {
  Echo echo;
  Loopback loopback(shard, ServerOptions(), echo);
  Origin origin;
  origin.host = "127.0.0.1";
  origin.port = loopback.port();
  origin.tls = true;
  {
    Client client(shard, origin, Client::Options());
    const std::string answer = co_await post_hello(client, "hello");
    REQUIRE(answer.find("<http.tls> TLS with 127.0.0.1: the answer is not TLS") == 0);
  }
  co_await loopback.stop(kPatience);
}
TEST_CASE("a server that speaks plain HTTP where https was asked is http.tls") {
  test::on_shard(plain_body);
}

// ---- ends of connections

// Answers the one request of each connection from a list, then ends as told.
class EndingServer {
 public:
  enum class End { polite, abrupt };
  struct Answer {
    std::string text;
    End end;
  };

  EndingServer(runtime::Shard& shard, const test::Authority& authority, std::vector<Answer> answers)
      : group_(shard),
        context_(test::server_context(authority.issue(test::Wanted()))),
        answers_(std::move(answers)) {
    auto bound = net::listen_tcp(shard, "127.0.0.1", 0);
    REQUIRE(bound.has_value());
    listener = std::move(*bound);
    runtime::Shard* const shards[] = {&shard};
    listener->start(shards, [this](runtime::Shard&, std::unique_ptr<net::ByteStream> stream) {
      group_.spawn("serve", serve(std::move(stream), answers_.at(accepted++)));
    });
  }
  Task<void> stop() {
    listener->stop();
    co_await group_.join();
  }
  std::unique_ptr<net::Listener> listener;
  std::size_t accepted = 0;

 private:
  Task<void> serve(std::unique_ptr<net::ByteStream> stream, Answer answer) {
    test::TlsPeer peer(std::move(stream), context_.get());
    const bool shaken = co_await peer.accept();
    REQUIRE(shaken);
    std::string seen;
    const bool asked = co_await read_until(peer, seen, "hello");
    REQUIRE(asked);
    co_await say(peer, answer.text);
    if (answer.end == End::polite) peer.shutdown_send();
  }
  runtime::TaskGroup group_;
  test::ServerContext context_;
  std::vector<Answer> answers_;
};

struct EndCase {
  const char* name;
  std::vector<EndingServer::Answer> answers;  // one per connection
  std::vector<std::string> expected;
};

Task<void> ends_body(runtime::Shard& shard, const test::Authority& authority, const EndCase& c) {
  EndingServer server(shard, authority, c.answers);
  {
    Origin origin;
    origin.host = "localhost";
    origin.port = server.listener->port();
    origin.tls = true;
    Client::Options options;
    options.tls = trusting(authority);
    Client client(shard, origin, options);
    for (const std::string& expected : c.expected) {
      const std::string answer = co_await post_hello(client, "hello");
      CHECK(answer.substr(0, expected.size()) == expected);
    }
  }
  CHECK(server.accepted == c.answers.size());
  co_await server.stop();
}

TEST_CASE("an end without the end of TLS harms nothing but what had no length of its own") {
  const std::string whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const std::string endless = "HTTP/1.1 200 OK\r\n\r\nuntil the end";
  const std::string partial = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok";
  const auto polite = EndingServer::End::polite;
  const auto abrupt = EndingServer::End::abrupt;
  const EndCase cases[] = {
      {"whole answers, polite", {{whole, polite}, {whole, polite}}, {"200 ok", "200 ok"}},
      {"whole answers, abrupt", {{whole, abrupt}, {whole, abrupt}}, {"200 ok", "200 ok"}},
      {"until the end, polite", {{endless, polite}}, {"200 until the end"}},
      {"until the end, abrupt", {{endless, abrupt}}, {"<http.closed>"}},
      {"cut short, polite", {{partial, polite}}, {"<http.closed>"}},
      {"cut short, abrupt", {{partial, abrupt}}, {"<http.closed>"}},
      {"no answer", {{"", polite}}, {"<http.closed>"}},
  };
  const test::Authority authority("mcpx test authority");
  for (const EndCase& c : cases) {
    DYNAMIC_SECTION(c.name) {
      test::on_shard([&](runtime::Shard& shard) { return ends_body(shard, authority, c); });
    }
  }
}

// ---- handshakes that do not end by themselves

// Takes connections and never says a word.
struct SilentServer {
  explicit SilentServer(runtime::Shard& shard) : group(shard) {
    auto bound = net::listen_tcp(shard, "127.0.0.1", 0);
    REQUIRE(bound.has_value());
    listener = std::move(*bound);
    runtime::Shard* const shards[] = {&shard};
    listener->start(shards, [this](runtime::Shard&, std::unique_ptr<net::ByteStream> stream) {
      group.spawn("hold", hold(std::move(stream)));
    });
  }
  Task<void> hold(std::unique_ptr<net::ByteStream> stream);
  Task<void> stop() {
    listener->stop();
    co_await group.join();
  }
  runtime::TaskGroup group;
  runtime::OneShot<int> greeted;
  std::unique_ptr<net::Listener> listener;
};

Task<void> SilentServer::hold(std::unique_ptr<net::ByteStream> stream) {
  std::array<char, 16> buffer;
  Result<std::size_t> bytes = co_await stream->read_some(buffer);
  if (bytes) greeted.set(1);
  const std::string rest = co_await read_to_end(*stream);
  static_cast<void>(rest);
}

Origin silent_origin(const SilentServer& server) {
  Origin origin;
  origin.host = "127.0.0.1";
  origin.port = server.listener->port();
  origin.tls = true;
  return origin;
}

Task<void> slow_body(runtime::Shard& shard) {
  SilentServer server(shard);
  {
    Client::Options options;
    options.connect_timeout = Milliseconds(5);
    Client client(shard, silent_origin(server), options);
    const std::string answer = co_await post_hello(client, "hello");
    REQUIRE(answer.find("<http.dial> TLS with 127.0.0.1: the handshake was not done in time") == 0);
  }
  co_await server.stop();
}
TEST_CASE("a handshake that drags on ends with the connect timeout") {
  test::on_shard(slow_body);
}

Task<void> close_when(runtime::OneShot<int>& greeted, Client& client) {
  const int value = co_await greeted.wait();
  static_cast<void>(value);
  client.close();
}

Task<void> close_body(runtime::Shard& shard) {
  SilentServer server(shard);
  {
    Client client(shard, silent_origin(server), Client::Options());
    runtime::TaskGroup group(shard);
    group.spawn("close", close_when(server.greeted, client));
    const std::string answer = co_await post_hello(client, "hello");
    REQUIRE(answer.find("<http.dial>") == 0);
    co_await group.join();
  }
  co_await server.stop();
}
TEST_CASE("closing the client ends a handshake") {
  test::on_shard(close_body);
}

}  // namespace
}  // namespace mcpx::http
