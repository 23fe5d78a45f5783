// The front door over real sockets: tokens, bounds on requests and bodies, TLS, reconfiguration.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "base/digest.hpp"
#include "http/client.hpp"
#include "net/tls.hpp"
#include "unit/http/loopback.hpp"
#include "unit/net/certificates.hpp"

namespace mcpx::http {
namespace {

std::shared_ptr<const Access> one_token(const std::string& secret, std::size_t requests = 100) {
  AccessOptions options;
  Token token;
  token.name = "laptop";
  token.sha256 = sha256_hex(secret);
  token.paths = {"/mcp/*"};
  options.tokens.push_back(std::move(token));
  options.requests = requests;
  return std::make_shared<const Access>(std::move(options));
}

bool says(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

// Keeps whom it served.
class Registry final : public Handler {
 public:
  Task<void> handle(Exchange& exchange) override;
  std::string seen;
};

Task<void> Registry::handle(Exchange& exchange) {
  seen += std::string(exchange.principal()) + ";";
  const std::string_view parts[] = {"fine"};
  Result<void> sent = co_await exchange.respond(200, "text/plain", parts, kNoFields);
  static_cast<void>(sent);
}

Task<void> token_body(runtime::Shard& shard) {
  Registry registry;
  ServerOptions options;
  options.access = one_token("secret");
  Loopback loopback(shard, options, registry);
  auto client = co_await raw_client(shard, loopback.port());
  co_await say(*client, post("/mcp", "x"));
  std::string seen;
  const bool refused = co_await read_until(*client, seen, "}}");
  REQUIRE(refused);
  REQUIRE(says(seen, "HTTP/1.1 401 "));
  REQUIRE(says(seen, "WWW-Authenticate: Bearer realm=\"mcpx\"\r\n"));
  REQUIRE(says(seen, "\"code\":\"http.unauthorized\""));
  // The request was read whole, so the same connection may try again.
  co_await say(*client, post("/mcp", "x", "Authorization: Bearer secret\r\n"));
  std::string again;
  const bool served = co_await read_until(*client, again, "fine");
  REQUIRE(served);
  REQUIRE(registry.seen == "laptop;");
  co_await loopback.stop(kPatience);
}
TEST_CASE("a request without its token is answered 401 and not served") {
  test::on_shard(token_body);
}

Task<void> stranger_body(runtime::Shard& shard) {
  Echo echo;
  ServerOptions options;
  options.access = one_token("secret");
  Loopback loopback(shard, options, echo);
  auto client = co_await raw_client(shard, loopback.port());
  // Nothing of the body is sent: the answer must not wait for it, nor a 100 ask for it.
  co_await say(*client,
               "POST /mcp HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
               "Content-Length: 1000000\r\n\r\n");
  const std::string answer = co_await read_to_end(*client);
  REQUIRE(answer.substr(0, 13) == "HTTP/1.1 401 ");
  REQUIRE(says(answer, "Connection: close\r\n"));
  REQUIRE(echo.bodies.empty());
  co_await loopback.stop(kPatience);
}
TEST_CASE("the body of a stranger is not read") {
  test::on_shard(stranger_body);
}

Task<void> progress_body(runtime::Shard& shard) {
  Gathering gathering(1);
  ServerOptions options;
  options.access = one_token("secret", 1);
  Loopback loopback(shard, options, gathering);
  const std::string request = post("/mcp", "x", "Authorization: Bearer secret\r\n");
  auto first = co_await raw_client(shard, loopback.port());
  co_await say(*first, request);
  co_await gathering.all.wait();
  auto second = co_await raw_client(shard, loopback.port());
  co_await say(*second, request);
  std::string refused;
  const bool told = co_await read_until(*second, refused, "}}");
  REQUIRE(told);
  REQUIRE(refused.substr(0, 13) == "HTTP/1.1 503 ");
  REQUIRE(says(refused, "Retry-After: 1\r\n"));
  REQUIRE(says(refused, "limits.requests"));
  gathering.open.open();
  std::string seen;
  const bool served = co_await read_until(*first, seen, "done");
  REQUIRE(served);
  // What was answered counts no more.
  co_await say(*second, request);
  std::string after;
  const bool later = co_await read_until(*second, after, "done");
  REQUIRE(later);
  co_await loopback.stop(kPatience);
}
TEST_CASE("one request too many of a client is refused until another is answered") {
  test::on_shard(progress_body);
}

Task<void> bodies_body(runtime::Shard& shard) {
  Gathering gathering(1);
  ServerOptions options;
  options.bodies_bytes = 100'000;
  Loopback loopback(shard, options, gathering);
  auto first = co_await raw_client(shard, loopback.port());
  co_await say(*first, post("/", std::string(90'000, 'a')));
  co_await gathering.all.wait();
  auto second = co_await raw_client(shard, loopback.port());
  co_await say(*second, post("/", std::string(90'000, 'b')));
  const std::string refused = co_await read_to_end(*second);
  REQUIRE(refused.substr(0, 13) == "HTTP/1.1 503 ");
  REQUIRE(says(refused, "Retry-After: 1\r\n"));
  REQUIRE(says(refused, "limits.bodies"));
  gathering.open.open();
  std::string seen;
  const bool served = co_await read_until(*first, seen, "done");
  REQUIRE(served);
  // What was answered is held no more.
  co_await say(*first, post("/", std::string(90'000, 'c')));
  seen.clear();
  const bool later = co_await read_until(*first, seen, "done");
  REQUIRE(later);
  co_await loopback.stop(kPatience);
}
TEST_CASE("bodies that together are too large are refused until some are answered") {
  test::on_shard(bodies_body);
}

Task<void> reconfigured_body(runtime::Shard& shard) {
  Registry registry;
  ServerOptions options;
  options.access = one_token("old");
  Loopback loopback(shard, options, registry);
  auto client = co_await raw_client(shard, loopback.port());
  co_await say(*client, post("/mcp", "x", "Authorization: Bearer old\r\n"));
  std::string seen;
  const bool served = co_await read_until(*client, seen, "fine");
  REQUIRE(served);
  options.access = one_token("new");
  loopback.server.reconfigure(options);
  runtime::Timer turn(shard);
  co_await turn.sleep_for(Milliseconds(0));  // what was posted runs
  co_await say(*client, post("/mcp", "x", "Authorization: Bearer old\r\n"));
  seen.clear();
  const bool refused = co_await read_until(*client, seen, "HTTP/1.1 401 ");
  REQUIRE(refused);
  co_await say(*client, post("/mcp", "x", "Authorization: Bearer new\r\n"));
  seen.clear();
  const bool again = co_await read_until(*client, seen, "fine");
  REQUIRE(again);
  co_await loopback.stop(kPatience);
}
TEST_CASE("a token that is taken away is not taken from an open connection either") {
  test::on_shard(reconfigured_body);
}

Task<void> page_body(runtime::Shard& shard) {
  Registry registry;
  ServerOptions options;
  options.access = one_token("secret");
  options.allowed_origins = {"https://app.example"};
  Loopback loopback(shard, options, registry);
  auto client = co_await raw_client(shard, loopback.port());
  const auto ask = [](std::string_view origin) {
    return "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: " + std::string(origin) +
           "\r\nAccess-Control-Request-Method: POST\r\n"
           "Access-Control-Request-Headers: authorization,mcp-method\r\n\r\n";
  };
  co_await say(*client, ask("https://app.example"));
  std::string seen;
  const bool allowed = co_await read_until(*client, seen, "\r\n\r\n");
  REQUIRE(allowed);
  REQUIRE(says(seen, "HTTP/1.1 204 "));
  REQUIRE(says(seen, "Access-Control-Allow-Origin: https://app.example\r\n"));
  REQUIRE(says(seen, "Access-Control-Allow-Headers: authorization,mcp-method\r\n"));
  REQUIRE(registry.seen.empty());
  // Its request is answered so that the page can read it, with and without the token.
  for (const char* token : {"Authorization: Bearer secret\r\n", ""}) {
    seen.clear();
    co_await say(*client,
                 post("/mcp", "x", std::string("Origin: https://app.example\r\n") + token));
    const std::string last = *token == 0 ? "}}" : "fine";
    const bool answered = co_await read_until(*client, seen, last);
    REQUIRE(answered);
    REQUIRE(says(seen, "Access-Control-Allow-Origin: https://app.example\r\n"));
    REQUIRE(says(seen, "Access-Control-Expose-Headers: Mcp-Session-Id"));
    REQUIRE(says(seen, "Vary: Origin\r\n"));
  }
  // A loopback page may ask, but was not chosen; others may not even ask.
  for (const auto& [origin, status] : {std::pair("http://localhost:5173", "HTTP/1.1 401 "),
                                       std::pair("https://evil.example", "HTTP/1.1 403 ")}) {
    seen.clear();
    co_await say(*client, ask(origin));
    const bool refused = co_await read_until(*client, seen, "}}");
    REQUIRE(refused);
    REQUIRE(says(seen, status));
    REQUIRE_FALSE(says(seen, "Access-Control"));
  }
  co_await loopback.stop(kPatience);
}
TEST_CASE("the page of a listed origin may read the answers, no other page may") {
  test::on_shard(page_body);
}

struct Certified {
  Certified() {
    const test::Certificate own = authority.issue(test::Wanted());
    net::TlsServerOptions options;
    options.certificate_file = files.write("server.pem", own.certificate);
    options.key_file = files.write("server.key", own.key);
    auto made = net::TlsContext::make_server(options);
    REQUIRE(made.has_value());
    server = *made;
    net::TlsOptions trust;
    trust.ca_file = files.write("ca.pem", authority.own().certificate);
    auto trusting = net::TlsContext::make(trust);
    REQUIRE(trusting.has_value());
    client = *trusting;
  }
  test::Authority authority{"mcpx test authority"};
  test::Files files;
  std::shared_ptr<const net::TlsContext> server, client;
};

Task<void> https_body(runtime::Shard& shard, Certified& certified) {
  Echo echo;
  ServerOptions options;
  options.tls = certified.server;
  Loopback loopback(shard, options, echo);
  {
    Origin origin;
    origin.host = "localhost";
    origin.port = loopback.port();
    origin.tls = true;
    Client::Options client_options;
    client_options.tls = certified.client;
    Client client(shard, origin, client_options);
    const std::string big(300'000, 'x');
    for (const std::string& text : {std::string("small"), big}) {
      const std::string_view parts[] = {text};
      Request request;
      request.target = "/";
      request.body = parts;
      request.deadline = Clock::now() + kPatience;
      auto response = co_await client.send(request);
      REQUIRE(response.has_value());
      auto body = co_await (*response)->body();
      REQUIRE(body.has_value());
      REQUIRE(body->view() == text);
    }
  }
  co_await loopback.stop(kPatience);
}
TEST_CASE("requests are served over TLS") {
  Certified certified;
  test::on_shard([&](runtime::Shard& shard) { return https_body(shard, certified); });
}

Task<void> plain_body(runtime::Shard& shard, Certified& certified) {
  Echo echo;
  ServerOptions options;
  options.tls = certified.server;
  Loopback loopback(shard, options, echo);
  auto client = co_await raw_client(shard, loopback.port());
  co_await say(*client, post("/", "x"));
  const std::string answer = co_await read_to_end(*client);
  REQUIRE(answer.substr(0, 13) == "HTTP/1.1 400 ");
  REQUIRE(says(answer, "https://"));
  REQUIRE(echo.bodies.empty());
  // What only looks like TLS is closed with TLS's own alert.
  auto broken = co_await raw_client(shard, loopback.port());
  co_await say(*broken, std::string("\x16\x03\x01\x00\x05nonsense", 13));
  const std::string alert = co_await read_to_end(*broken);
  REQUIRE_FALSE(alert.empty());
  REQUIRE(alert.front() == '\x15');
  co_await loopback.stop(kPatience);
}
TEST_CASE("plain HTTP to a TLS address is told so and closed") {
  Certified certified;
  test::on_shard([&](runtime::Shard& shard) { return plain_body(shard, certified); });
}

Task<void> silent_body(runtime::Shard& shard, Certified& certified) {
  Echo echo;
  ServerOptions options;
  options.tls = certified.server;
  options.connections = 1;
  Loopback loopback(shard, options, echo);
  auto first = co_await raw_client(shard, loopback.port());
  auto second = co_await raw_client(shard, loopback.port());
  // The first, silent in its handshake, makes room for the second.
  const std::string made_room = co_await read_to_end(*first);
  REQUIRE(made_room.empty());
  // And what is silent at the end does not hold it up.
  co_await loopback.stop(kPatience);
  const std::string ended = co_await read_to_end(*second);
  REQUIRE(ended.empty());
}
TEST_CASE("a handshake that does not come makes room, and ends with the server") {
  Certified certified;
  test::on_shard([&](runtime::Shard& shard) { return silent_body(shard, certified); });
}

Task<void> late_body(runtime::Shard& shard, Certified& certified) {
  Echo echo;
  ServerOptions options;
  options.tls = certified.server;
  options.handshake_timeout = Milliseconds(5);
  Loopback loopback(shard, options, echo);
  auto client = co_await raw_client(shard, loopback.port());
  const std::string ended = co_await read_to_end(*client);
  REQUIRE(ended.empty());
  co_await loopback.stop(kPatience);
}
TEST_CASE("a handshake has a deadline") {
  Certified certified;
  test::on_shard([&](runtime::Shard& shard) { return late_body(shard, certified); });
}

}  // namespace
}  // namespace mcpx::http
