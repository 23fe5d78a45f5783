// Streams: pipes and sockets, deadlines, close, big writes; dialling.
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "net/address.hpp"
#include "net/endpoint.hpp"
#include "net/resolve.hpp"
#include "net/stream.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::net {
namespace {

struct Ends {
  std::unique_ptr<ByteStream> near, far;
};

Ends socket_ends(runtime::Shard& shard) {
  int both[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
  Ends ends;
  ends.near = adopt_descriptor(shard, both[0], "near");
  ends.far = adopt_descriptor(shard, both[1], "far");
  return ends;
}

Ends pipe_ends(runtime::Shard& shard) {  // far is the read end
  int both[2];
  REQUIRE(::pipe(both) == 0);
  Ends ends;
  ends.far = adopt_descriptor(shard, both[0], "reader");
  ends.near = adopt_descriptor(shard, both[1], "writer");
  return ends;
}

Task<std::string> read_all(ByteStream& stream) {
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    Result<std::size_t> bytes = co_await stream.read_some(buffer);
    REQUIRE(bytes.has_value());
    if (*bytes == 0) co_return text;
    text.append(buffer.data(), *bytes);
  }
}

Task<void> read_into(ByteStream& stream, std::string& text) {
  text = co_await read_all(stream);
}

Task<void> expect_read_error(ByteStream& stream, std::string code) {
  std::array<char, 8> buffer;
  Result<std::size_t> bytes = co_await stream.read_some(buffer);
  REQUIRE(bytes.has_error());
  REQUIRE(bytes.error().code == code);
}

// Lets the event loop ask the kernel once.
Task<void> look(runtime::Shard& shard) {
  runtime::Timer timer(shard);
  const bool slept = co_await timer.sleep_for(Milliseconds(0));
  REQUIRE(slept);
}

Task<void> quiet_body(runtime::Shard& shard, Duration idle) {
  for (const bool pipe : {false, true}) {
    Ends ends = pipe ? pipe_ends(shard) : socket_ends(shard);
    co_await look(shard);
    REQUIRE(ends.far->quiet(idle));
    Result<void> written = co_await write_all(*ends.near, "unasked");
    REQUIRE(written.has_value());
    if (idle == Duration(0)) co_await look(shard);
    REQUIRE_FALSE(ends.far->quiet(idle));
    std::array<char, 64> buffer;
    Result<std::size_t> bytes = co_await ends.far->read_some(buffer);
    REQUIRE(bytes.has_value());
    REQUIRE(ends.far->quiet(idle));
    ends.near->close();
    if (idle == Duration(0)) co_await look(shard);
    REQUIRE_FALSE(ends.far->quiet(idle));
    ends.far->close();
    REQUIRE_FALSE(ends.far->quiet(idle));
  }
}
TEST_CASE("an idle stream is quiet until its peer says something or ends it") {
  SECTION("after a while the kernel is asked") {
    test::on_shard([](runtime::Shard& shard) { return quiet_body(shard, std::chrono::hours(1)); });
  }
  SECTION("at once, what the loop has heard counts") {
    test::on_shard([](runtime::Shard& shard) { return quiet_body(shard, Duration(0)); });
  }
}

Task<void> gathered_body(runtime::Shard& shard) {
  Ends ends = socket_ends(shard);
  const std::string_view parts[] = {"", "one ", "", "two", ""};
  Result<void> written = co_await ends.near->write(parts);
  REQUIRE(written.has_value());
  ends.near->shutdown_send();
  const std::string text = co_await read_all(*ends.far);
  REQUIRE(text == "one two");
}
TEST_CASE("parts are written in order, empty ones included, and EOF follows shutdown_send") {
  test::on_shard(gathered_body);
}

Task<void> big_body(runtime::Shard& shard, bool pipes) {
  Ends ends = pipes ? pipe_ends(shard) : socket_ends(shard);
  std::string sent;
  for (int i = 0; i < 300'000; ++i)
    sent += std::to_string(i);
  std::vector<std::string_view> parts;  // more than one writev takes
  const std::string_view all = sent;
  for (std::size_t at = 0; at < all.size(); at += 10'007)
    parts.push_back(all.substr(at, 10'007));
  std::string got;
  runtime::TaskGroup group(shard);
  group.spawn("reader", read_into(*ends.far, got));
  Result<void> written = co_await ends.near->write(parts);
  REQUIRE(written.has_value());
  ends.near->shutdown_send();
  co_await group.join();
  REQUIRE((got == sent));
}
Task<void> big_pipe_body(runtime::Shard& shard) {
  co_await big_body(shard, true);
}
Task<void> big_socket_body(runtime::Shard& shard) {
  co_await big_body(shard, false);
}
TEST_CASE("a write larger than every buffer arrives whole") {
  SECTION("socket") {
    test::on_shard(big_socket_body);
  }
  SECTION("pipe") {
    test::on_shard(big_pipe_body);
  }
}

Task<void> read_deadline_body(runtime::Shard& shard) {
  Ends ends = socket_ends(shard);
  ends.near->read_deadline(Clock::now() + Milliseconds(2));
  co_await expect_read_error(*ends.near, "net.timeout");
  co_await expect_read_error(*ends.near, "net.timeout");  // until a new deadline is set
  ends.near->read_deadline(Clock::now() - Milliseconds(1));
  co_await expect_read_error(*ends.near, "net.timeout");
  ends.near->read_deadline(kNever);
  Result<void> written = co_await write_all(*ends.far, "x");
  REQUIRE(written.has_value());
  std::array<char, 8> buffer;
  Result<std::size_t> bytes = co_await ends.near->read_some(buffer);
  REQUIRE(bytes.has_value());
  REQUIRE(*bytes == 1);
}
TEST_CASE("a read ends at its deadline and the stream stays usable") {
  test::on_shard(read_deadline_body);
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

Task<void> write_deadline_body(runtime::Shard& shard) {
  Ends ends = socket_ends(shard);
  std::string got;
  runtime::TaskGroup group(shard);
  group.spawn("reader", read_into(*ends.near, got));  // pending all the while
  ends.near->write_deadline(Clock::now() + Milliseconds(5));
  co_await write_until_error(*ends.near, "net.timeout");
  Result<void> answer = co_await write_all(*ends.far, "still here");
  REQUIRE(answer.has_value());
  ends.far->shutdown_send();
  co_await group.join();
  REQUIRE(got == "still here");
}
TEST_CASE("a write nobody reads ends at its deadline without disturbing the reader") {
  test::on_shard(write_deadline_body);
}

Task<void> close_later(runtime::Shard& shard, ByteStream& stream) {
  runtime::Timer timer(shard);
  co_await timer.sleep_for(Milliseconds(1));
  stream.close();
}

Task<void> close_body(runtime::Shard& shard) {
  Ends ends = socket_ends(shard);
  runtime::TaskGroup group(shard);
  group.spawn("close", close_later(shard, *ends.near));
  group.spawn("write", write_until_error(*ends.near, "net.closed"));
  co_await expect_read_error(*ends.near, "net.closed");
  co_await group.join();
  co_await expect_read_error(*ends.near, "net.closed");
}
TEST_CASE("close() ends pending and later operations with net.closed") {
  test::on_shard(close_body);
}

Task<void> dead_pipe_body(runtime::Shard& shard) {
  Ends ends = pipe_ends(shard);
  ends.far->close();
  Result<void> written = co_await write_all(*ends.near, "x");
  REQUIRE(written.has_error());
  REQUIRE(written.error().code == "net.reset");
  REQUIRE(written.error().message == "writing to writer: broken pipe");
}
TEST_CASE("a write to a pipe without reader is net.reset, not the end of the process") {
  ignore_sigpipe();
  test::on_shard(dead_pipe_body);
}

struct Dialled {
  std::string host;
  std::string code;
};

Task<void> dial_error_body(runtime::Shard& shard, const Dialled& expected, std::uint16_t port) {
  const TimePoint deadline = Clock::now() + Milliseconds(20'000);
  auto stream = co_await dial_tcp(shard, expected.host, port, deadline);
  REQUIRE(stream.has_error());
  REQUIRE(stream.error().code == expected.code);
  REQUIRE(stream.error().message.find(expected.host) != std::string::npos);
}

Task<void> refused_body(runtime::Shard& shard) {
  auto listener = listen_tcp(shard, "127.0.0.1", 0);
  REQUIRE(listener.has_value());
  const std::uint16_t port = (*listener)->port();
  (*listener)->stop();  // nobody listens there now
  for (const char* host : {"127.0.0.1", "localhost", "::1"}) {
    Dialled expected;
    expected.host = host;
    expected.code = "net.refused";
    co_await dial_error_body(shard, expected, port);
  }
  auto local = co_await dial_unix(shard, "/nonexistent/socket", kNever);
  REQUIRE(local.has_error());
  REQUIRE(local.error().code == "net.refused");
}
TEST_CASE("a dial that is refused names the address") {
  test::on_shard(refused_body);
}

Task<void> unresolvable_body(runtime::Shard& shard) {
  Dialled expected;
  expected.host = "does-not-exist.invalid";
  expected.code = "net.resolve";
  co_await dial_error_body(shard, expected, 80);
}
TEST_CASE("an unknown host is net.resolve") {
  test::on_shard(unresolvable_body);
}

Task<void> abandoned_body(runtime::Shard& shard) {
  runtime::CancelSource cancel;
  cancel.cancel("the caller left");
  auto stream = co_await dial_tcp(shard, "does-not-exist.invalid", 80, kNever, &cancel);
  REQUIRE(stream.has_error());
  REQUIRE(stream.error().code == "net.closed");
}
TEST_CASE("a lookup can be abandoned, and its thread never touches the shard again") {
  test::on_shard(abandoned_body);
}

TEST_CASE("IP literals are recognised with and without brackets") {
  REQUIRE(parse_ip("127.0.0.1", 80)->text() == "127.0.0.1:80");
  REQUIRE(parse_ip("[::1]", 8080)->text() == "[::1]:8080");
  REQUIRE(parse_ip("::1", 8080)->text() == "[::1]:8080");
  for (const char* name : {"localhost", "", "[]", "[127.0.0.1]", "1.2.3", "127.0.0.1x", "::g"}) {
    CAPTURE(name);
    REQUIRE_FALSE(parse_ip(name, 1));
  }
  REQUIRE_FALSE(unix_address(""));
  REQUIRE_FALSE(unix_address(std::string(108, 'x')));
  REQUIRE(unix_address(std::string(107, 'x')));
}

}  // namespace
}  // namespace mcpx::net
