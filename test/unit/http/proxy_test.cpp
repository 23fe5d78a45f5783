// The client behind a forward proxy.
#include "http/proxy.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "fake/fake_stream.hpp"
#include "unit/http/scripted_server.hpp"
#include "unit/http/secure_server.hpp"

namespace mcpx::http {
namespace {

struct AddressCase {
  const char* text;
  const char* name;  // null: refused
  const char* authorization;
};

TEST_CASE("the address of a proxy is taken apart, and a wrong one is not repeated") {
  const AddressCase cases[] = {
      {"http://proxy.example:3128", "proxy.example:3128", ""},
      {"http://proxy.example", "proxy.example:80", ""},
      {"http://[::1]:8080/", "[::1]:8080", ""},
      {"http://user:pa%20ss@proxy.example:1", "proxy.example:1", "Basic dXNlcjpwYSBzcw=="},
      {"http://user@proxy.example:1", "proxy.example:1", "Basic dXNlcjo="},
      {"https://user:secret@proxy.example", nullptr, ""},
      {"socks5://user:secret@proxy.example", nullptr, ""},
      {"http://user:secret@proxy.example:0", nullptr, ""},
      {"http://user:secret@:1", nullptr, ""},
      {"proxy.example:3128", nullptr, ""},
      {"secret", nullptr, ""},
      {"", nullptr, ""},
  };
  for (const AddressCase& c : cases) {
    DYNAMIC_SECTION(c.text) {
      const Result<Proxy> proxy = parse_proxy(c.text);
      REQUIRE(proxy.has_value() == (c.name != nullptr));
      if (c.name) {
        REQUIRE(proxy->name() == c.name);
        REQUIRE(proxy->authorization == c.authorization);
      } else {
        REQUIRE(proxy.error().code == "http.url");
        REQUIRE(proxy.error().text().find("secret") == std::string::npos);
        REQUIRE_FALSE(proxy.error().remedy.empty());
      }
    }
  }
}

Proxy proxy_at(std::uint16_t port) {
  Proxy proxy;
  proxy.host = "127.0.0.1";
  proxy.port = port;
  proxy.authorization = "Basic c2VjcmV0";
  return proxy;
}

Task<void> forwarded_body(runtime::Shard& shard) {
  std::vector<ScriptedServer::Answers> answers = one_answer(ok("a"));
  answers[0].push_back(ok("b"));
  ScriptedServer proxy(shard, answers);
  {
    Origin origin;
    origin.host = "server.invalid";  // nobody but the proxy looks it up
    origin.port = 8080;
    Client::Options options;
    options.proxy = proxy_at(proxy.listener->port());
    Client client(shard, origin, options);
    const Ask what;
    std::string got = co_await ask(client, what);
    REQUIRE(got == "200 a");
    got = co_await ask(client, what);
    REQUIRE(got == "200 b");
  }
  REQUIRE(proxy.accepted == 1);
  REQUIRE(proxy.requests[0] ==
          "POST http://server.invalid:8080/mcp HTTP/1.1\r\nHost: server.invalid:8080\r\n"
          "Content-Type: application/json\r\nProxy-Authorization: Basic c2VjcmV0\r\n"
          "Content-Length: 6\r\n\r\nhello!");
  co_await proxy.stop();
}
TEST_CASE("a proxy is asked for the whole URL of a plain server") {
  test::on_shard(forwarded_body);
}

Task<std::string> error_behind(runtime::Shard& shard, const Origin& origin, const Proxy& proxy,
                               Duration patience) {
  Client::Options options;
  options.proxy = proxy;
  Client client(shard, origin, options);
  Ask what;
  what.request.deadline = Clock::now() + patience;
  Result<std::unique_ptr<Response>> response = co_await client.send(what.request);
  if (!response) {
    REQUIRE(response.error().text().find("c2VjcmV0") == std::string::npos);
    co_return response.error().code + ": " + response.error().message;
  }
  co_return std::to_string((*response)->head().status);
}

Task<void> unauthorized_body(runtime::Shard& shard) {
  ScriptedServer proxy(shard, one_answer("HTTP/1.1 407 Proxy Authentication Required\r\n"
                                         "Content-Length: 0\r\n\r\n"));
  Origin origin;
  origin.host = "server.invalid";
  const std::string error =
      co_await error_behind(shard, origin, proxy_at(proxy.listener->port()), kPatience);
  REQUIRE(error ==
          "http.proxy: proxy 127.0.0.1:" + std::to_string(proxy.listener->port()) +
              " to server.invalid: it answered HTTP 407, so it does not accept the password");
  co_await proxy.stop();
}
TEST_CASE("a proxy that wants a password for a plain server is http.proxy") {
  test::on_shard(unauthorized_body);
}

Task<void> no_proxy_body(runtime::Shard& shard) {
  auto listener = net::listen_tcp(shard, "127.0.0.1", 0);
  const std::uint16_t port = (*listener)->port();
  (*listener)->stop();
  Origin origin;
  origin.host = "server.invalid";
  for (const bool tls : {false, true}) {
    origin.tls = tls;
    const std::string error = co_await error_behind(shard, origin, proxy_at(port), kPatience);
    REQUIRE(error.find("http.dial: proxy 127.0.0.1:" + std::to_string(port) + ": ") == 0);
    REQUIRE(error.find("net.refused") != std::string::npos);
  }
}
TEST_CASE("a proxy that is not there is http.dial and named") {
  test::on_shard(no_proxy_body);
}

// ---- CONNECT

// Answers the first request on each connection, then passes bytes to and from `target`.
class Tunnel {
 public:
  Tunnel(runtime::Shard& shard, std::string answer, std::uint16_t target)
      : shard_(shard), group_(shard), answer_(std::move(answer)), target_(target) {
    auto bound = net::listen_tcp(shard, "127.0.0.1", 0);
    REQUIRE(bound.has_value());
    listener = std::move(*bound);
    runtime::Shard* const shards[] = {&shard};
    listener->start(shards, [this](runtime::Shard&, std::unique_ptr<net::ByteStream> stream) {
      group_.spawn("tunnel", serve(std::move(stream)));
    });
  }
  Task<void> stop() {
    listener->stop();
    co_await group_.join();
  }
  std::unique_ptr<net::Listener> listener;
  std::string asked;

 private:
  static Task<void> copy(net::ByteStream& from, net::ByteStream& to) {
    std::array<char, 4096> buffer;
    while (true) {
      Result<std::size_t> bytes = co_await from.read_some(buffer);
      if (!bytes || *bytes == 0) break;
      Result<void> written = co_await net::write_all(to, std::string_view(buffer.data(), *bytes));
      if (!written) break;
    }
    to.shutdown_send();
  }
  Task<void> serve(std::unique_ptr<net::ByteStream> client) {
    asked.clear();
    const bool whole = co_await read_until(*client, asked, "\r\n\r\n");
    if (!whole) co_return;
    Result<void> answered = co_await net::write_all(*client, answer_);
    if (!answered) co_return;
    if (target_ == 0) {
      std::string rest = co_await read_to_end(*client);
      co_return;
    }
    auto server = co_await net::dial_tcp(shard_, "127.0.0.1", target_, Clock::now() + kPatience);
    REQUIRE(server.has_value());
    runtime::TaskGroup both(shard_);
    both.spawn("up", copy(*client, **server));
    both.spawn("down", copy(**server, *client));
    co_await both.join();
  }

  runtime::Shard& shard_;
  runtime::TaskGroup group_;
  std::string answer_;
  std::uint16_t target_;
};

Task<void> tunnel_body(runtime::Shard& shard, const test::Authority& authority) {
  SecureServer server(shard, authority);
  Tunnel tunnel(shard, "HTTP/1.1 200 Connection established\r\nContent-Length: 5\r\n\r\n",
                server.listener->port());
  {
    Client::Options options;
    options.tls = trusting(authority);
    options.proxy = proxy_at(tunnel.listener->port());
    Client client(shard, server.origin("localhost"), options);
    for (int i = 0; i < 2; ++i) {
      const Ask what;
      const std::string answer = co_await ask(client, what);
      REQUIRE(answer == "200 hello!");
    }
  }
  const std::string authority_form = "localhost:" + std::to_string(server.listener->port());
  REQUIRE(tunnel.asked == "CONNECT " + authority_form + " HTTP/1.1\r\nHost: " + authority_form +
                              "\r\nProxy-Authorization: Basic c2VjcmV0\r\n\r\n");
  REQUIRE(server.echo.bodies.size() == 2);
  co_await tunnel.stop();
  co_await server.stop();
}
TEST_CASE("https goes through a tunnel, and the server's certificate counts") {
  const test::Authority authority("mcpx test authority");
  test::on_shard([&](runtime::Shard& shard) { return tunnel_body(shard, authority); });
}

struct RefusedTunnel {
  const char* name;
  const char* answer;
  const char* message;
};

Task<void> refused_tunnel_body(runtime::Shard& shard, const RefusedTunnel& c) {
  Tunnel tunnel(shard, c.answer, 0);
  const std::uint16_t port = tunnel.listener->port();
  Origin origin;
  origin.host = "::1";
  origin.port = 443;
  origin.tls = true;
  const Duration patience = *c.answer ? Duration(kPatience) : Duration(Milliseconds(5));
  const std::string error = co_await error_behind(shard, origin, proxy_at(port), patience);
  CAPTURE(error);
  REQUIRE(error.find("http.proxy: proxy 127.0.0.1:" + std::to_string(port) + " to [::1]:443: ") ==
          0);
  REQUIRE(error.find(c.message) != std::string::npos);
  co_await tunnel.stop();
}
TEST_CASE("a tunnel that does not open is http.proxy and says why") {
  const RefusedTunnel cases[] = {
      {"wants a password",
       "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 100000000\r\n\r\n<html>",
       "it answered HTTP 407"},
      {"forbids", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "it answered HTTP 403"},
      {"cannot reach", "HTTP/1.0 502 Bad Gateway\r\n\r\n", "it answered HTTP 502"},
      {"is no proxy", "hello\r\n\r\n", "response"},
      {"speaks first", "HTTP/1.1 200 OK\r\n\r\nhello", "something spoke before"},
      {"says nothing", "", "in time"},
  };
  for (const RefusedTunnel& c : cases) {
    DYNAMIC_SECTION(c.name) {
      test::on_shard([&c](runtime::Shard& shard) { return refused_tunnel_body(shard, c); });
    }
  }
}

Task<void> split_answer_body(runtime::Shard& shard) {
  static_cast<void>(shard);
  auto script = std::make_shared<test::FakeStream::Script>();
  script->byte_by_byte("HTTP/1.1 200 OK\r\n\r\n");
  test::FakeStream stream(script);
  runtime::CancelSource cancel;
  const Proxy proxy = proxy_at(1);
  Result<void> open = co_await open_tunnel(stream, proxy, "h:443", kNever, cancel);
  REQUIRE(open.has_value());
  script->end();
  open = co_await open_tunnel(stream, proxy, "h:443", kNever, cancel);
  REQUIRE(open.error().message ==
          "proxy 127.0.0.1:1 to h:443: it closed the connection without an "
          "answer");
}
TEST_CASE("a proxy's answer may come byte by byte, or not at all") {
  test::on_shard(split_answer_body);
}

}  // namespace
}  // namespace mcpx::http
