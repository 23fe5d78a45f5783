// The stream inside TLS: what stream.hpp promises, kept.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "runtime/timer.hpp"
#include "unit/net/tls_world.hpp"

namespace mcpx::net {
namespace {

std::string numbers(std::size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i)
    text += std::to_string(i);
  return text;
}

Task<void> write_text(ByteStream& stream, std::string text) {
  Result<void> written = co_await write_all(stream, text);
  REQUIRE(written.has_value());
}

Task<void> read_into(ByteStream& stream, std::size_t size, std::string& text) {
  text = co_await read_size(stream, size);
}

Task<void> both_ways_body(runtime::Shard& shard, Pair& pair) {
  const std::string up = numbers(1 << 20);
  std::string down = up;
  std::reverse(down.begin(), down.end());
  std::string at_server;
  std::string at_client;
  runtime::TaskGroup group(shard);
  group.spawn("up", write_text(*pair.client, up));
  group.spawn("down", write_text(*pair.server, down));
  group.spawn("server reads", read_into(*pair.server, up.size(), at_server));
  group.spawn("client reads", read_into(*pair.client, down.size(), at_client));
  co_await group.join();
  REQUIRE((at_server == up));
  REQUIRE((at_client == down));
}
TEST_CASE("a megabyte goes both ways at once through TLS") {
  with_pair(both_ways_body);
}

Task<void> gathered_body(runtime::Shard&, Pair& pair) {
  const std::string large(40'000, 'l');
  const std::string_view parts[] = {"", "one ", "", "two ", large, "", " three", ""};
  Result<void> written = co_await pair.client->write(parts);
  REQUIRE(written.has_value());
  const std::string got = co_await read_size(*pair.server, 8 + large.size() + 6);
  REQUIRE((got == "one two " + large + " three"));
  const std::string_view nothing[] = {"", ""};
  written = co_await pair.client->write(nothing);
  REQUIRE(written.has_value());
}
TEST_CASE("parts are sent in order through TLS, empty ones included") {
  with_pair(gathered_body);
}

Task<void> half_closed_body(runtime::Shard&, Pair& pair) {
  pair.client->shutdown_send();
  std::string code = co_await read_code(*pair.server);
  REQUIRE(code == "end");  // as TLS wants it, not just the end of the connection
  Result<void> written = co_await write_all(*pair.client, "more");
  REQUIRE(written.error().code == "net.closed");
  co_await write_text(*pair.server, "an answer");
  std::string answer = co_await read_size(*pair.client, 9);
  REQUIRE(answer == "an answer");
  pair.server->shutdown_send();
  code = co_await read_code(*pair.client);
  REQUIRE(code == "end");
  code = co_await read_code(*pair.client);
  REQUIRE(code == "end");
}
TEST_CASE("after our end of TLS the peer may go on, and its end is an end") {
  with_pair(half_closed_body);
}

Task<void> truncated_body(runtime::Shard&, Pair& pair) {
  co_await write_text(*pair.server, "whole");
  pair.server->close();
  std::string code = co_await read_code(*pair.client);
  REQUIRE(code == "whole");
  code = co_await read_code(*pair.client);
  REQUIRE(code == "net.reset");
}
TEST_CASE("a connection that ends without the end of TLS is net.reset") {
  with_pair(truncated_body);
}

Task<void> goodbye_body(runtime::Shard&, Pair& pair) {
  pair.client.reset();  // close() and destruction alike
  const std::string code = co_await read_code(*pair.server);
  REQUIRE(code == "end");
}
TEST_CASE("closing says goodbye in TLS") {
  with_pair(goodbye_body);
}

Task<void> corrupt_body(runtime::Shard&, Pair& pair) {
  const std::string record("\x17\x03\x03\x00\x20", 5);
  co_await write_text(pair.server->inner(), record + std::string(32, 'x'));
  std::array<char, 8> buffer;
  Result<std::size_t> bytes = co_await pair.client->read_some(buffer);
  REQUIRE(bytes.has_error());
  REQUIRE(bytes.error().code == "net.tls");
  REQUIRE(bytes.error().message.find("localhost") != std::string::npos);
  const std::string again = co_await read_code(*pair.client);
  REQUIRE(again == "net.tls");
  const std::string alert = co_await read_code(*pair.server);
  REQUIRE(alert == "net.tls");  // the peer was told
}
TEST_CASE("a record that was tampered with is net.tls, and the peer is told") {
  with_pair(corrupt_body);
}

Task<void> read_deadline_body(runtime::Shard&, Pair& pair) {
  pair.client->read_deadline(Clock::now() + Milliseconds(2));
  std::string code = co_await read_code(*pair.client);
  REQUIRE(code == "net.timeout");
  code = co_await read_code(*pair.client);
  REQUIRE(code == "net.timeout");  // until a new deadline is set
  pair.client->read_deadline(Clock::now() - Milliseconds(1));
  code = co_await read_code(*pair.client);
  REQUIRE(code == "net.timeout");
  pair.client->read_deadline(kNever);
  co_await write_text(*pair.server, "x");
  code = co_await read_code(*pair.client);
  REQUIRE(code == "x");
}
TEST_CASE("a read through TLS ends at its deadline and the stream stays usable") {
  with_pair(read_deadline_body);
}

Task<void> read_an_x(ByteStream& stream) {
  const std::string code = co_await read_code(stream);
  REQUIRE(code == "x");
}

Task<void> write_until_error(ByteStream& stream, std::string code) {
  const std::string block(1 << 20, 'x');
  while (true) {
    Result<void> written = co_await write_all(stream, block);
    if (written) continue;
    REQUIRE(written.error().code == code);
    co_return;
  }
}

Task<void> write_deadline_body(runtime::Shard& shard, Pair& pair) {
  runtime::TaskGroup group(shard);
  group.spawn("reader", read_an_x(*pair.client));  // pending all the while
  pair.client->write_deadline(Clock::now() + Milliseconds(5));
  co_await write_until_error(*pair.client, "net.timeout");
  pair.client->write_deadline(kNever);
  Result<void> written = co_await write_all(*pair.client, "more");
  REQUIRE(written.error().code == "net.closed");  // half a record may be under way
  co_await write_text(*pair.server, "x");
  co_await group.join();
}
TEST_CASE("a write nobody reads ends at its deadline without disturbing the reader of TLS") {
  with_pair(write_deadline_body);
}

Task<void> expect_code(ByteStream& stream, std::string expected) {
  const std::string code = co_await read_code(stream);
  REQUIRE(code == expected);
}

Task<void> close_later(runtime::Shard& shard, ByteStream& stream) {
  runtime::Timer timer(shard);
  co_await timer.sleep_for(Milliseconds(1));
  stream.close();
}

Task<void> close_body(runtime::Shard& shard, Pair& pair) {
  runtime::TaskGroup group(shard);
  group.spawn("read", expect_code(*pair.client, "net.closed"));
  group.spawn("write", write_until_error(*pair.client, "net.closed"));
  group.spawn("close", close_later(shard, *pair.client));
  co_await group.join();
  co_await expect_code(*pair.client, "net.closed");
  Result<void> written = co_await write_all(*pair.client, "x");
  REQUIRE(written.error().code == "net.closed");
}
TEST_CASE("close() ends pending and later operations on TLS with net.closed") {
  with_pair(close_body);
}

// ---- messages about the session, between the data

Task<void> key_update_body(runtime::Shard&, Pair& pair) {
  for (int i = 0; i < 3; ++i) {
    REQUIRE(SSL_key_update(pair.server->engine().ssl(), SSL_KEY_UPDATE_REQUESTED) == 1);
    co_await write_text(*pair.server, "x");
    co_await expect_code(*pair.client, "x");
    co_await write_text(*pair.client, "y");  // under new keys
    co_await expect_code(*pair.server, "y");
  }
}
TEST_CASE("keys are renewed when the server asks") {
  with_pair(key_update_body);
}

Task<void> flood_body(runtime::Shard& shard, Pair& pair) {
  runtime::TaskGroup group(shard);
  group.spawn("reader", expect_code(*pair.client, "net.tls"));
  while (group.size() > 0) {
    REQUIRE(SSL_key_update(pair.server->engine().ssl(), SSL_KEY_UPDATE_REQUESTED) == 1);
    REQUIRE(SSL_do_handshake(pair.server->engine().ssl()) == 1);
    Result<void> sent = co_await pair.server->flush();
    if (!sent) break;
  }
  co_await group.join();
}
TEST_CASE("a server that does nothing but renew keys is given up") {
  with_pair(flood_body);
}

// A server whose session ticket comes in several records (it holds the client's certificate), so
// that the client can be in the middle of a message that is not data.
struct Ticket {
  explicit Ticket(World& world) {
    const test::Certificate own = world.authority.issue(test::Wanted());
    server = test::server_context(world.authority.issue(test::Wanted()), &world.authority);
    SSL_CTX_set_max_send_fragment(server.get(), 512);
    SSL_CTX_set_num_tickets(server.get(), 1);
    TlsOptions options;
    options.ca_file = world.files.write("ca.pem", world.authority.own().certificate);
    options.certificate_file = world.files.write("own.pem", own.certificate);
    options.key_file = world.files.write("own.key", own.key);
    auto made = TlsContext::make(options);
    REQUIRE(made.has_value());
    client = *made;
  }
  test::ServerContext server;
  std::shared_ptr<const TlsContext> client;
};

// Shakes hands, keeps what the server says after that (its ticket) back, and gives it to the
// client up to the middle.
struct Middle {
  std::unique_ptr<ByteStream> client;
  std::unique_ptr<TlsPeer> server;
  std::string rest;
};

Task<void> accept_holding_ticket(TlsPeer& peer, std::string& ticket) {
  std::array<char, 4096> buffer;
  while (true) {
    const TlsEngine::Step step = peer.engine().handshake();
    if (step == TlsEngine::Step::done) break;
    REQUIRE(step == TlsEngine::Step::starved);
    Result<void> sent = co_await peer.flush();
    REQUIRE(sent.has_value());
    Result<std::size_t> bytes = co_await peer.inner().read_some(buffer);
    REQUIRE(bytes.has_value());
    peer.engine().feed(std::string_view(buffer.data(), *bytes));
  }
  peer.engine().take_output(ticket);
}

Task<void> reach_middle(runtime::Shard& shard, Middle& middle, Ticket& ticket) {
  Ends ends = socket_ends(shard);
  middle.server = std::make_unique<TlsPeer>(std::move(ends.far), ticket.server.get());
  std::string records;
  runtime::TaskGroup group(shard);
  group.spawn("server", accept_holding_ticket(*middle.server, records));
  auto client = co_await start_tls(std::move(ends.near), ticket.client, "localhost",
                                   Clock::now() + kPatience);
  co_await group.join();
  REQUIRE(client.has_value());
  middle.client = std::move(*client);
  const std::size_t first =
      5U + 256U * static_cast<unsigned char>(records[3]) + static_cast<unsigned char>(records[4]);
  REQUIRE(first < records.size());  // more than one record
  middle.rest = records.substr(first);
  co_await write_text(middle.server->inner(), records.substr(0, first));
  // The reader takes the first half in and waits for more.
  middle.client->read_deadline(Clock::now() + Milliseconds(5));
  co_await expect_code(*middle.client, "net.timeout");
  middle.client->read_deadline(kNever);
}

using MiddleBody = Task<void> (*)(runtime::Shard&, Middle&);

Task<void> in_the_middle_body(runtime::Shard& shard, Ticket& ticket, MiddleBody body) {
  Middle middle;
  co_await reach_middle(shard, middle, ticket);
  co_await body(shard, middle);
}
void in_the_middle(MiddleBody body) {
  World world;
  Ticket ticket(world);
  test::on_shard([&](runtime::Shard& shard) { return in_the_middle_body(shard, ticket, body); });
}

Task<void> finish_later(runtime::Shard& shard, Middle& middle) {
  runtime::Timer timer(shard);
  co_await timer.sleep_for(Milliseconds(1));
  co_await write_text(middle.server->inner(), middle.rest);
}

Task<void> lone_writer_body(runtime::Shard& shard, Middle& middle) {
  runtime::TaskGroup group(shard);
  group.spawn("rest", finish_later(shard, middle));
  co_await write_text(*middle.client, "x");
  co_await expect_code(*middle.server, "x");
  co_await group.join();
}
Task<void> writer_beside_reader_body(runtime::Shard& shard, Middle& middle) {
  runtime::TaskGroup group(shard);
  group.spawn("reader", expect_code(*middle.client, "y"));
  group.spawn("rest", finish_later(shard, middle));
  co_await write_text(*middle.client, "x");
  co_await expect_code(*middle.server, "x");
  co_await write_text(*middle.server, "y");
  co_await group.join();
}
Task<void> reader_beside_writer_body(runtime::Shard& shard, Middle& middle) {
  runtime::TaskGroup group(shard);
  group.spawn("writer", write_text(*middle.client, "x"));
  group.spawn("reader", expect_code(*middle.client, "y"));
  group.spawn("rest", finish_later(shard, middle));
  co_await expect_code(*middle.server, "x");
  co_await write_text(*middle.server, "y");
  co_await group.join();
}
Task<void> starved_alone_body(runtime::Shard&, Middle& middle) {
  middle.client->write_deadline(Clock::now() + Milliseconds(5));
  Result<void> written = co_await write_all(*middle.client, "x");
  REQUIRE(written.error().code == "net.timeout");
  co_await write_text(middle.server->inner(), middle.rest);
  co_await write_text(*middle.server, "y");
  co_await expect_code(*middle.client, "y");  // reading goes on
}
Task<void> starved_beside_reader_body(runtime::Shard& shard, Middle& middle) {
  runtime::TaskGroup group(shard);
  group.spawn("reader", expect_code(*middle.client, "y"));
  middle.client->write_deadline(Clock::now() + Milliseconds(5));
  Result<void> written = co_await write_all(*middle.client, "x");
  REQUIRE(written.error().code == "net.timeout");
  co_await write_text(middle.server->inner(), middle.rest);
  co_await write_text(*middle.server, "y");
  co_await group.join();
}
Task<void> starved_reader_body(runtime::Shard& shard, Middle& middle) {
  runtime::TaskGroup group(shard);
  group.spawn("writer", write_text(*middle.client, "x"));  // reads, and has no deadline
  middle.client->read_deadline(Clock::now() + Milliseconds(5));
  co_await expect_code(*middle.client, "net.timeout");
  co_await write_text(middle.server->inner(), middle.rest);
  co_await expect_code(*middle.server, "x");
  co_await group.join();
}
Task<void> closed_in_the_middle_body(runtime::Shard& shard, Middle& middle) {
  runtime::TaskGroup group(shard);
  group.spawn("reader", expect_code(*middle.client, "net.closed"));
  group.spawn("close", close_later(shard, *middle.client));
  Result<void> written = co_await write_all(*middle.client, "x");
  REQUIRE(written.error().code == "net.closed");
  co_await group.join();
}
Task<void> ended_in_the_middle_body(runtime::Shard& shard, Middle& middle) {
  runtime::TaskGroup group(shard);
  group.spawn("reader", expect_code(*middle.client, "net.reset"));
  group.spawn("close", close_later(shard, *middle.server));
  Result<void> written = co_await write_all(*middle.client, "x");
  REQUIRE(written.error().code == "net.reset");
  co_await group.join();
}
TEST_CASE("a write waits for the rest of a message about the session") {
  SECTION("alone") {
    in_the_middle(lone_writer_body);
  }
  SECTION("with a reader before it") {
    in_the_middle(writer_beside_reader_body);
  }
  SECTION("with a reader after it") {
    in_the_middle(reader_beside_writer_body);
  }
  SECTION("until its deadline") {
    in_the_middle(starved_alone_body);
  }
  SECTION("until its deadline, with a reader that has none") {
    in_the_middle(starved_beside_reader_body);
  }
  SECTION("without a deadline, with a reader that has one") {
    in_the_middle(starved_reader_body);
  }
  SECTION("until close()") {
    in_the_middle(closed_in_the_middle_body);
  }
  SECTION("until the peer ends") {
    in_the_middle(ended_in_the_middle_body);
  }
}

}  // namespace
}  // namespace mcpx::net
