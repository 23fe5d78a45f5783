// TLS towards servers: whom we trust, what we say when we do not, and the stream afterwards.
#include "net/tls.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "unit/net/tls_world.hpp"

namespace mcpx::net {
namespace {

// ---- handshakes

struct Handshake {
  const char* name;
  const char* host;
  Wanted wanted;
  bool from_stranger;                // signed by an authority that the client does not trust
  std::vector<const char*> message;  // parts of it; none: accepted
};

Task<void> handshake_body(runtime::Shard& shard, const Handshake& c, SSL_CTX* server,
                          std::shared_ptr<const TlsContext> context, std::string code) {
  Ends ends = socket_ends(shard);
  TlsPeer peer(std::move(ends.far), server);
  bool accepted = false;
  runtime::TaskGroup group(shard);
  group.spawn("server", accept_into(peer, accepted));
  auto client = co_await start_tls(std::move(ends.near), std::move(context), c.host,
                                   Clock::now() + kPatience);
  co_await group.join();
  if (c.message.empty()) {
    REQUIRE(client.has_value());
    REQUIRE(accepted);
    // RFC 6066 section 3: no SNI for addresses.
    const char* asked = SSL_get_servername(peer.engine().ssl(), TLSEXT_NAMETYPE_host_name);
    const bool name = std::string(c.host).find_first_of(":1") == std::string::npos;
    REQUIRE((asked != nullptr) == name);
    if (name) REQUIRE(std::string(asked) == "localhost");
    co_return;
  }
  REQUIRE(client.has_error());
  REQUIRE(client.error().code == code);
  REQUIRE_FALSE(client.error().remedy.empty());
  for (const char* part : c.message) {
    CAPTURE(client.error().message, part);
    REQUIRE(client.error().message.find(part) != std::string::npos);
  }
}

TEST_CASE("a server is who its certificate says, or the error says what is wrong with it") {
  Wanted good;
  Wanted expired;
  expired.ends_in_days = -1;
  expired.starts_in_days = -9;
  Wanted early;
  early.starts_in_days = 3;
  Wanted other;
  other.names = "DNS:a.example,DNS:*.b.example,IP:10.0.0.1,IP:2001:db8::1";
  Wanted nameless;
  nameless.names.clear();
  nameless.common_name = "localhost";
  Wanted many;
  many.names = "DNS:n0.example";
  for (int i = 1; i < 20; ++i)
    many.names += ",DNS:n" + std::to_string(i) + ".example";
  const Handshake cases[] = {
      {"a name", "localhost", good, false, {}},
      {"a name with the dot of the root", "localhost.", good, false, {}},
      {"an address", "127.0.0.1", good, false, {}},
      {"an IPv6 address", "[::1]", good, false, {}},
      {"an IPv6 address without brackets", "::1", good, false, {}},
      {"expired", "localhost", expired, false, {"CN=mcpx test", "expired on", "localhost"}},
      {"not yet valid", "localhost", early, false, {"valid only from"}},
      {"another name",
       "localhost",
       other,
       false,
       {"not for localhost but for a.example, *.b.example, 10.0.0.1, [2001:db8::1]"}},
      {"another address", "127.0.0.1", other, false, {"not for 127.0.0.1 but for a.example"}},
      {"only a common name",
       "localhost",
       nameless,
       false,
       {"but for no host at all", "CN=localhost"}},
      {"many names", "localhost", many, false, {"n7.example, ..."}},
      {"an unknown authority",
       "localhost",
       good,
       true,
       {"no authority in tls.ca", "ca.pem", "CN=a stranger"}},
      {"no host", "", good, false, {"no host"}},
  };
  const Authority authority("mcpx test authority");
  const Authority stranger("a stranger");
  Files files;
  const auto context = trusting(files, authority);
  for (const Handshake& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const auto server =
          test::server_context((c.from_stranger ? stranger : authority).issue(c.wanted));
      test::on_shard([&](runtime::Shard& shard) {
        return handshake_body(shard, c, server.get(), context, "net.tls");
      });
    }
  }
}

TEST_CASE("a certificate that signed itself is trusted when it is the one named, and only then") {
  const Certificate own = test::self_signed(Wanted());
  const auto server = test::server_context(own);
  Files files;
  TlsOptions options;
  options.ca_file = files.write("own.pem", own.certificate);
  const auto named = TlsContext::make(options);
  const auto system = TlsContext::make(TlsOptions());
  REQUIRE(named.has_value());
  REQUIRE(system.has_value());
  Handshake c{"", "localhost", Wanted(), false, {}};
  test::on_shard(
      [&](runtime::Shard& shard) { return handshake_body(shard, c, server.get(), *named, ""); });
  c.message = {"no authority known to this system", "signed itself"};
  test::on_shard([&](runtime::Shard& shard) {
    return handshake_body(shard, c, server.get(), *system, "net.tls");
  });
}

TEST_CASE("versions before TLS 1.2 are refused with a word on versions") {
  const World world;
  SSL_CTX_set_security_level(world.server.get(), 0);
  SSL_CTX_set_min_proto_version(world.server.get(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(world.server.get(), TLS1_1_VERSION);
  const Handshake c{"", "localhost", Wanted(), false, {"neither TLS 1.2 nor 1.3"}};
  test::on_shard([&](runtime::Shard& shard) {
    return handshake_body(shard, c, world.server.get(), world.client, "net.tls");
  });
}

int choose_http11(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in,
                  unsigned in_size, void*) {
  static const unsigned char kOffer[] = "\x02h2\x08http/1.1";
  const int outcome = SSL_select_next_proto(const_cast<unsigned char**>(out), size, kOffer,
                                            sizeof(kOffer) - 1, in, in_size);
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}
int choose_nothing(SSL*, const unsigned char**, unsigned char*, const unsigned char*, unsigned,
                   void*) {
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

Task<void> alpn_body(runtime::Shard& shard, World& world) {
  Pair pair;
  co_await shake_hands(shard, pair, world.server.get(), world.client);
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(pair.server->engine().ssl(), &chosen, &size);
  REQUIRE(std::string(reinterpret_cast<const char*>(chosen), size) == "http/1.1");
  REQUIRE(SSL_version(pair.server->engine().ssl()) == TLS1_3_VERSION);
}
TEST_CASE("HTTP/1.1 is what is offered, so that no server answers in HTTP/2") {
  World world;
  SSL_CTX_set_alpn_select_cb(world.server.get(), choose_http11, nullptr);
  test::on_shard([&](runtime::Shard& shard) { return alpn_body(shard, world); });
  SSL_CTX_set_alpn_select_cb(world.server.get(), choose_nothing, nullptr);
  const Handshake c{"", "localhost", Wanted(), false, {"does not speak HTTP/1.1"}};
  test::on_shard([&](runtime::Shard& shard) {
    return handshake_body(shard, c, world.server.get(), world.client, "net.tls");
  });
}

// ---- client certificates

struct Demand {
  const char* name;
  bool have, right;
  int version;
  const char* message;  // null: accepted
};

Task<void> demand_body(runtime::Shard& shard, const Demand& c, SSL_CTX* server,
                       std::shared_ptr<const TlsContext> context) {
  Ends ends = socket_ends(shard);
  TlsPeer peer(std::move(ends.far), server);
  bool accepted = false;
  runtime::TaskGroup group(shard);
  group.spawn("server", accept_into(peer, accepted));
  auto client = co_await start_tls(std::move(ends.near), std::move(context), "localhost",
                                   Clock::now() + kPatience);
  co_await group.join();
  REQUIRE(accepted == (c.message == nullptr));
  if (!c.message) co_return;
  Error error = client.has_error() ? client.error() : Error();
  if (client) {  // TLS 1.3: the server's verdict comes after our side is done
    std::array<char, 8> buffer;
    Result<std::size_t> bytes = co_await (*client)->read_some(buffer);
    REQUIRE(bytes.has_error());
    error = bytes.error();
    Result<void> written = co_await write_all(**client, "x");
    REQUIRE(written.error().code == "net.tls");
  }
  CAPTURE(error.message);
  REQUIRE(error.code == "net.tls");
  REQUIRE(error.message.find(c.message) != std::string::npos);
  REQUIRE(error.remedy.find("tls.cert") != std::string::npos);
}

TEST_CASE("a server that demands a client certificate gets it, or the error asks for it") {
  const Demand cases[] = {
      {"TLS 1.3, the right one", true, true, TLS1_3_VERSION, nullptr},
      {"TLS 1.2, the right one", true, true, TLS1_2_VERSION, nullptr},
      {"TLS 1.3, another one", true, false, TLS1_3_VERSION, "does not accept our certificate"},
      {"TLS 1.2, another one", true, false, TLS1_2_VERSION, "does not accept our certificate"},
      {"TLS 1.3, none", false, false, TLS1_3_VERSION, "demands a client certificate"},
      {"TLS 1.2, none", false, false, TLS1_2_VERSION, "refused the handshake"},
  };
  const Authority authority("mcpx test authority");
  const Authority stranger("a stranger");
  const auto server = test::server_context(authority.issue(Wanted()), &authority);
  Files files;
  for (const Demand& c : cases) {
    DYNAMIC_SECTION(c.name) {
      SSL_CTX_set_max_proto_version(server.get(), c.version);
      TlsOptions options;
      options.ca_file = files.write("ca.pem", authority.own().certificate);
      if (c.have) {
        const Certificate own = (c.right ? authority : stranger).issue(Wanted());
        options.certificate_file = files.write("own.pem", own.certificate);
        options.key_file = files.write("own.key", own.key);
      }
      const auto context = TlsContext::make(options);
      REQUIRE(context.has_value());
      test::on_shard(
          [&](runtime::Shard& shard) { return demand_body(shard, c, server.get(), *context); });
    }
  }
}

// ---- files

TEST_CASE("a file that is wrong is an error when the context is made") {
  const Authority authority("mcpx test authority");
  Files files;
  const Certificate own = authority.issue(Wanted());
  const Certificate other = authority.issue(Wanted());
  const std::string certificate = files.write("own.pem", own.certificate);
  const std::string key = files.write("own.key", own.key);
  const std::string wrong_key = files.write("other.key", other.key);
  const std::string text = files.write("text", "hello\n");
  const std::string empty = files.write("empty", "");
  const std::string missing = files.directory() + "/missing";
  const std::string locked =
      files.write("locked.key",
                  "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
                  "DEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\nAAAA\n"
                  "-----END RSA PRIVATE KEY-----\n");
  struct Case {
    const char* name;
    TlsOptions options;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {"no such ca", {missing, "", ""}, {"tls.ca", missing, "no such file"}},
      {"a ca that is a directory", {files.directory(), "", ""}, {"tls.ca", files.directory()}},
      {"a ca without certificates", {text, "", ""}, {"tls.ca", text}},
      {"an empty ca", {empty, "", ""}, {"tls.ca", empty, "empty"}},
      {"no such certificate", {"", missing, key}, {"tls.cert", missing}},
      {"a certificate that is none", {"", text, key}, {"tls.cert", text}},
      {"a certificate without key", {"", certificate, ""}, {"tls.key"}},
      {"a key without certificate", {"", "", key}, {"tls.cert"}},
      {"no such key", {"", certificate, missing}, {"tls.key", missing}},
      {"a key that is none", {"", certificate, text}, {"tls.key", text}},
      {"a key of another", {"", certificate, wrong_key}, {"tls.key", wrong_key, "not the key of"}},
      {"a key with a passphrase", {"", certificate, locked}, {"tls.key", locked}},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const auto made = TlsContext::make(c.options);
      REQUIRE(made.has_error());
      REQUIRE(made.error().code == "net.tls");
      REQUIRE_FALSE(made.error().remedy.empty());
      for (const std::string& part : c.parts) {
        CAPTURE(made.error().message, part);
        REQUIRE(made.error().message.find(part) != std::string::npos);
      }
    }
  }
  REQUIRE(TlsContext::make({"", certificate, key}).has_value());
}

// ---- handshakes that do not get on

Task<void> silent_body(runtime::Shard& shard, std::shared_ptr<const TlsContext> context) {
  Ends ends = socket_ends(shard);
  auto client = co_await start_tls(std::move(ends.near), std::move(context), "localhost",
                                   Clock::now() + Milliseconds(5));
  REQUIRE(client.has_error());
  REQUIRE(client.error().code == "net.timeout");
  REQUIRE(client.error().message.find("localhost") != std::string::npos);
  REQUIRE_FALSE(client.error().remedy.empty());
  const std::string rest = co_await read_code(*ends.far);  // the hello
  REQUIRE(rest.size() == 64);
}
TEST_CASE("a server that does not answer the handshake ends at the deadline") {
  const World world;
  test::on_shard([&](runtime::Shard& shard) { return silent_body(shard, world.client); });
}

// Sends `answer`, a byte at a time, after the client's hello; then ends, or waits for the client
// to.
Task<void> answer_hello(ByteStream& stream, std::string answer, bool end) {
  std::array<char, 4096> buffer;
  Result<std::size_t> hello = co_await stream.read_some(buffer);
  REQUIRE(hello.has_value());
  for (const char c : answer) {
    const std::string byte(1, c);
    Result<void> written = co_await write_all(stream, byte);
    if (!written) co_return;
  }
  if (end) {
    stream.close();
  } else {
    const std::string last = co_await read_code(stream);
    static_cast<void>(last);
  }
}

struct NoTls {
  const char* name;
  const char* answer;
  bool end;
  const char* code;
  const char* message;
};

Task<void> no_tls_body(runtime::Shard& shard, const NoTls& c,
                       std::shared_ptr<const TlsContext> context) {
  Ends ends = socket_ends(shard);
  runtime::TaskGroup group(shard);
  group.spawn("server", answer_hello(*ends.far, c.answer, c.end));
  auto client = co_await start_tls(std::move(ends.near), std::move(context), "localhost",
                                   Clock::now() + kPatience);
  REQUIRE(client.has_error());
  CAPTURE(client.error().message);
  REQUIRE(client.error().code == c.code);
  REQUIRE(client.error().message.find(c.message) != std::string::npos);
  co_await group.join();
}
TEST_CASE("what is no TLS server is told apart") {
  const NoTls cases[] = {
      {"plain HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n", false, "net.tls", "the answer is not TLS"},
      {"ends at once", "", true, "net.tls", "broke off in the handshake"},
      {"ends in a record", "\x16\x03\x03", true, "net.tls", "broke off in the handshake"},
  };
  const World world;
  for (const NoTls& c : cases) {
    DYNAMIC_SECTION(c.name) {
      test::on_shard([&](runtime::Shard& shard) { return no_tls_body(shard, c, world.client); });
    }
  }
}

Task<void> cancel_after_hello(ByteStream& stream, runtime::CancelSource& cancel) {
  const std::string hello = co_await read_code(stream);
  static_cast<void>(hello);
  cancel.cancel("not wanted");
}

Task<void> cancel_body(runtime::Shard& shard, std::shared_ptr<const TlsContext> context) {
  Ends ends = socket_ends(shard);
  runtime::CancelSource cancel;
  runtime::TaskGroup group(shard);
  group.spawn("cancel", cancel_after_hello(*ends.far, cancel));
  auto client = co_await start_tls(std::move(ends.near), context, "localhost", kNever, &cancel);
  REQUIRE(client.has_error());
  REQUIRE(client.error().code == "net.closed");
  co_await group.join();
  Ends more = socket_ends(shard);
  client = co_await start_tls(std::move(more.near), context, "localhost", kNever, &cancel);
  REQUIRE(client.error().code == "net.closed");  // it had been cancelled before
}
TEST_CASE("a handshake can be cancelled") {
  const World world;
  test::on_shard([&](runtime::Shard& shard) { return cancel_body(shard, world.client); });
}

}  // namespace
}  // namespace mcpx::net
