// The server's side of TLS against our own client: what is agreed on, and what is refused.
#include <catch2/catch.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/tls_context.hpp"
#include "unit/net/tls_world.hpp"

namespace mcpx::net {
namespace {

std::shared_ptr<const TlsContext> serving(Files& files, const Certificate& certificate,
                                          bool only_tls13 = false) {
  TlsServerOptions options;
  options.certificate_file = files.write("own.pem", certificate.certificate);
  options.key_file = files.write("own.key", certificate.key);
  options.only_tls13 = only_tls13;
  auto made = TlsContext::make_server(options);
  REQUIRE(made.has_value());
  return *made;
}

struct Both {
  std::string client, server;  // the code of the error, or "fine"
  std::unique_ptr<ByteStream> near, far;
};

Task<void> accept_one(std::unique_ptr<ByteStream> stream, std::shared_ptr<const TlsContext> context,
                      Both& both) {
  Result<AcceptedTls> accepted =
      co_await accept_tls(std::move(stream), std::move(context), Clock::now() + kPatience);
  both.server = accepted ? (accepted->secure ? "fine" : "plain") : accepted.error().code;
  if (accepted) both.far = std::move(accepted->stream);
}

Task<void> shake(runtime::Shard& shard, std::shared_ptr<const TlsContext> server,
                 std::shared_ptr<const TlsContext> client, Both& both) {
  Ends ends = socket_ends(shard);
  runtime::TaskGroup group(shard);
  group.spawn("server", accept_one(std::move(ends.far), std::move(server), both));
  auto shaken = co_await start_tls(std::move(ends.near), std::move(client), "localhost",
                                   Clock::now() + kPatience);
  both.client = shaken ? "fine" : shaken.error().code;
  if (shaken) both.near = std::move(*shaken);
  co_await group.join();
}

Task<void> send(ByteStream& stream, std::span<const std::string_view> parts) {
  Result<void> written = co_await stream.write(parts);
  REQUIRE(written.has_value());
}

Task<void> talk(runtime::Shard& shard, World& world) {
  for (const bool only_tls13 : {false, true}) {
    Both both;
    auto server = serving(world.files, world.authority.issue(Wanted()), only_tls13);
    co_await shake(shard, std::move(server), world.client, both);
    REQUIRE(both.client == "fine");
    REQUIRE(both.server == "fine");
    const std::string question(100'000, 'q');
    runtime::TaskGroup group(shard);
    const std::string_view parts[] = {question, "END"};
    group.spawn("client", send(*both.near, parts));
    const std::string arrived = co_await read_size(*both.far, question.size() + 3);
    co_await group.join();
    REQUIRE((arrived == question + "END"));
    Result<void> answered = co_await write_all(*both.far, "answer");
    REQUIRE(answered.has_value());
    const std::string answer = co_await read_size(*both.near, 6);
    REQUIRE(answer == "answer");
    // The end is TLS's own on both sides.
    both.far->shutdown_send();
    const std::string end = co_await read_code(*both.near);
    REQUIRE(end == "end");
    both.near->close();
    const std::string also = co_await read_code(*both.far);
    REQUIRE(also == "end");
  }
}
TEST_CASE("a TLS server and a TLS client of ours understand each other") {
  World world;
  test::on_shard([&](runtime::Shard& shard) { return talk(shard, world); });
}

Task<void> refused(runtime::Shard& shard, World& world) {
  Authority stranger("somebody else");
  Both both;
  auto server = serving(world.files, stranger.issue(Wanted()));
  co_await shake(shard, std::move(server), world.client, both);
  CHECK(both.client == "net.tls");
  CHECK((both.server == "net.tls" || both.server == "fine"));  // 1.3: the alert comes afterwards
}
TEST_CASE("a client that does not trust the certificate leaves") {
  World world;
  test::on_shard([&](runtime::Shard& shard) { return refused(shard, world); });
}

Task<void> not_tls(runtime::Shard& shard, World& world) {
  auto context = serving(world.files, world.authority.issue(Wanted()));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GET / HTTP/1.1\r\n", "plain"},
      {std::string("\x16\x03\x01\x00\x05nonsense", 13), "net.tls"},
      {"", "net.closed"}};
  for (const auto& [text, outcome] : cases) {
    INFO(outcome);
    Ends ends = socket_ends(shard);
    if (!text.empty()) {
      Result<void> sent = co_await write_all(*ends.near, text);
      REQUIRE(sent.has_value());
    }
    ends.near->shutdown_send();
    Both both;
    co_await accept_one(std::move(ends.far), context, both);
    CHECK(both.server == outcome);
  }
}
TEST_CASE("what does not speak TLS is told from what speaks it badly") {
  World world;
  test::on_shard([&](runtime::Shard& shard) { return not_tls(shard, world); });
}

struct FreeClient {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

// What a client gets that offers `protocols`, or at most TLS `newest`: memory to memory.
std::string negotiated(const TlsContext& server, std::string_view protocols, int newest) {
  const std::unique_ptr<SSL_CTX, FreeClient> context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
  SSL_CTX_set_security_level(context.get(), 0);
  SSL_CTX_set_max_proto_version(context.get(), newest);
  SSL* near = SSL_new(context.get());
  SSL_set_connect_state(near);
  if (!protocols.empty()) {
    SSL_set_alpn_protos(near, reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
  }
  TlsEngine client(near);
  SSL* far = SSL_new(server.impl().context.get());
  SSL_set_accept_state(far);
  TlsEngine accepting(far);
  std::string bytes;
  for (int round = 0; round < 10; ++round) {
    const TlsEngine::Step asked = client.handshake();
    client.take_output(bytes);
    accepting.feed(bytes);
    const TlsEngine::Step answered = accepting.handshake();
    if (answered == TlsEngine::Step::failed) return "refused";
    accepting.take_output(bytes);
    client.feed(bytes);
    if (asked == TlsEngine::Step::done && answered == TlsEngine::Step::done) break;
  }
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(client.ssl(), &chosen, &size);
  return std::string(SSL_get_version(client.ssl())) + " " +
         (size == 0 ? std::string("-") : std::string(reinterpret_cast<const char*>(chosen), size));
}

TEST_CASE("HTTP/1.1 and TLS 1.2 or newer are agreed on, or nothing") {
  World world;
  const auto both = serving(world.files, world.authority.issue(Wanted()));
  const auto newest = serving(world.files, world.authority.issue(Wanted()), true);
  const std::string http11 = "\x08http/1.1", http2 = "\x02h2";
  CHECK(negotiated(*both, "", TLS1_3_VERSION) == "TLSv1.3 -");
  CHECK(negotiated(*both, http2 + http11, TLS1_3_VERSION) == "TLSv1.3 http/1.1");
  CHECK(negotiated(*both, http2, TLS1_3_VERSION) == "refused");
  CHECK(negotiated(*both, http11, TLS1_2_VERSION) == "TLSv1.2 http/1.1");
  CHECK(negotiated(*both, "", TLS1_1_VERSION) == "refused");
  CHECK(negotiated(*newest, "", TLS1_2_VERSION) == "refused");
}

TEST_CASE("a certificate that cannot be shown is refused by the name of its file") {
  World world;
  const Certificate own = world.authority.issue(Wanted());
  const Certificate other = world.authority.issue(Wanted());
  TlsServerOptions options;
  options.certificate_file = world.files.write("own.pem", own.certificate);
  options.key_file = world.files.write("other.key", other.key);
  const auto mismatched = TlsContext::make_server(options);
  REQUIRE(mismatched.has_error());
  CHECK(mismatched.error().code == "net.tls");
  CHECK(mismatched.error().message.find("tls.key") == 0);
  options.certificate_file = world.files.write("nonsense.pem", "nonsense");
  const auto nonsense = TlsContext::make_server(options);
  REQUIRE(nonsense.has_error());
  CHECK(nonsense.error().message.find("tls.cert") == 0);
}

}  // namespace
}  // namespace mcpx::net
