#include "upstream/breaker.hpp"

#include <catch2/catch.hpp>

namespace mcpx::upstream {
namespace {

using Verdict = Breaker::Verdict;
const TimePoint kStart = TimePoint(Milliseconds(1'000'000));

TEST_CASE("a breaker opens after failures in a row, and only then") {
  Breaker breaker(3, Milliseconds(100));
  CHECK_FALSE(breaker.failed(breaker.ask(kStart), kStart));
  CHECK_FALSE(breaker.failed(breaker.ask(kStart), kStart));
  CHECK_FALSE(breaker.succeeded(breaker.ask(kStart)));  // the row is broken
  CHECK_FALSE(breaker.failed(breaker.ask(kStart), kStart));
  CHECK_FALSE(breaker.failed(breaker.ask(kStart), kStart));
  CHECK(breaker.failed(breaker.ask(kStart), kStart));
  CHECK(breaker.open());
  CHECK(breaker.ask(kStart + Milliseconds(99)) == Verdict::refuse);
  CHECK(breaker.retry_at() == kStart + Milliseconds(100));
}

TEST_CASE("after the cooldown one call is a trial, and it alone") {
  Breaker breaker(1, Milliseconds(100));
  REQUIRE(breaker.failed(breaker.ask(kStart), kStart));
  const TimePoint later = kStart + Milliseconds(100);
  REQUIRE(breaker.ask(later) == Verdict::trial);
  CHECK(breaker.ask(later) == Verdict::refuse);

  SECTION("success closes it") {
    CHECK(breaker.succeeded(Verdict::trial));
    CHECK(breaker.ask(later) == Verdict::pass);
  }
  SECTION("failure opens it for another cooldown") {
    CHECK(breaker.failed(Verdict::trial, later));
    CHECK(breaker.ask(later + Milliseconds(99)) == Verdict::refuse);
    CHECK(breaker.ask(later + Milliseconds(100)) == Verdict::trial);
  }
  SECTION("a trial that was cancelled lets another one through") {
    breaker.inconclusive(Verdict::trial);
    CHECK(breaker.ask(later) == Verdict::trial);
  }
}

TEST_CASE("calls from before it opened do not open it again, but an answer to one closes it") {
  Breaker breaker(2, Milliseconds(100));
  const Verdict early = breaker.ask(kStart);
  const Verdict other = breaker.ask(kStart);
  CHECK_FALSE(breaker.failed(breaker.ask(kStart), kStart));
  CHECK(breaker.failed(breaker.ask(kStart), kStart));
  CHECK_FALSE(breaker.failed(early, kStart + Milliseconds(50)));
  CHECK(breaker.retry_at() == kStart + Milliseconds(100));
  CHECK(breaker.succeeded(other));
  CHECK(breaker.ask(kStart) == Verdict::pass);
}

TEST_CASE("a server known to be well closes it; without a threshold it never opens") {
  Breaker breaker(1, Milliseconds(100));
  CHECK_FALSE(breaker.reset());
  CHECK(breaker.failed(breaker.ask(kStart), kStart));
  CHECK(breaker.reset());
  CHECK(breaker.ask(kStart) == Verdict::pass);

  Breaker never(0, Milliseconds(100));
  for (int i = 0; i < 100; ++i)
    CHECK_FALSE(never.failed(never.ask(kStart), kStart));
}

}  // namespace
}  // namespace mcpx::upstream
