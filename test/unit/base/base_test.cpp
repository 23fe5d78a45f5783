#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "base/padded_buffer.hpp"
#include "base/rate.hpp"
#include "base/redact.hpp"
#include "base/result.hpp"

namespace mcpx {
namespace {

bool padded(const PaddedBuffer& buffer) {
  const char* end = buffer.data() + buffer.size();
  return std::all_of(end, end + PaddedBuffer::kPadding, [](char c) { return c == '\0'; });
}

TEST_CASE("a padded buffer keeps zeroes behind its content, however it grew") {
  PaddedBuffer buffer;
  CHECK(buffer.empty());
  CHECK(buffer.view().empty());
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 7), static_cast<char>('a' + i % 26));
    buffer.append(piece);
    expected += piece;
    REQUIRE(buffer.view() == expected);
    REQUIRE(padded(buffer));
  }
  buffer.clear();
  CHECK(buffer.empty());
  CHECK(padded(buffer));
  buffer.append("x");
  CHECK(buffer.view() == "x");
  CHECK(padded(buffer));
}

TEST_CASE("the bytes of a padded buffer stay where they are when it moves") {
  PaddedBuffer first("content");
  const char* where = first.data();
  PaddedBuffer second(std::move(first));
  CHECK(second.data() == where);
  CHECK(second.view() == "content");
  PaddedBuffer third;
  third = std::move(second);
  CHECK(third.data() == where);
  CHECK(padded(third));
}

TEST_CASE("reserving makes room without changing the content") {
  PaddedBuffer buffer("abc");
  buffer.reserve(10'000);
  CHECK(buffer.view() == "abc");
  CHECK(buffer.capacity() >= 10'000);
  const char* where = buffer.data();
  buffer.append(std::string(9'000, 'x'));
  CHECK(buffer.data() == where);
  CHECK(padded(buffer));
}

TEST_CASE("C71: every secret of a text is masked, the longest first") {
  const Redactor redact({"token", "token-long", "abc", "", "x1y2", "token"});
  CHECK(redact("a token, a token-long and x1y2x1y2") ==
        "a [redacted], a [redacted] and [redacted][redacted]");
  CHECK(redact("abc stays: it is too short to be told from a word") ==
        "abc stays: it is too short to be told from a word");
  CHECK(redact("") == "");
  const Redactor odd({"a\"b\\c/d", "x\ny\x01z"});
  CHECK(odd(R"(a"b\c/d {"k":"a\"b\\c/d"} {"k":"a\"b\\c\/d"} x\ny\u0001z)") ==
        R"([redacted] {"k":"[redacted]"} {"k":"[redacted]"} [redacted])");
  CHECK(Redactor()("token") == "token");
  CHECK(Redactor({"abc"}).empty());
}

TEST_CASE("a secret that looks like the mask does not loop") {
  const Redactor redact({"redacted", "[redacted]"});
  CHECK(redact("[redacted] redacted").size() < 100);
}

TEST_CASE("an error shows its cause and what to do") {
  CHECK(Error("a.b", "it broke", "mend it").text() == "it broke; mend it");
  CHECK(Error("a.b", "it broke").text() == "it broke");
  const Result<int> failed = Error("a.b", "it broke");
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().code == "a.b");
}

TEST_CASE("SHA-256 and Base64 of known texts") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // RFC 4648 section 10.
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xff\xfe\xfd") == "//79");
}

TEST_CASE("a rate lets as many pass in a minute, and again when that is over") {
  Rate rate;
  TimePoint now(std::chrono::hours(1));
  for (int i = 0; i < 1000; ++i)
    CHECK(rate.take(0, now));
  for (int i = 0; i < 3; ++i)
    CHECK(rate.take(3, now));
  CHECK_FALSE(rate.take(3, now));
  CHECK_FALSE(rate.take(3, now + std::chrono::seconds(19)));
  CHECK(rate.take(3, now + std::chrono::seconds(20)));
  CHECK_FALSE(rate.take(3, now + std::chrono::seconds(21)));
  now += std::chrono::minutes(5);
  for (int i = 0; i < 3; ++i)
    CHECK(rate.take(3, now));
  CHECK_FALSE(rate.take(3, now));
}

}  // namespace
}  // namespace mcpx
