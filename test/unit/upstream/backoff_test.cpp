#include <catch2/catch.hpp>
#include <cstdint>

#include "upstream/backoff.hpp"

namespace mcpx::upstream {

TEST_CASE("back-off doubles to a minute, and jitter only shortens it by up to a fifth") {
  REQUIRE(backoff_after(1, 0) == Milliseconds(500));
  REQUIRE(backoff_after(2, 0) == Milliseconds(1000));
  REQUIRE(backoff_after(7, 0) == Milliseconds(32'000));
  REQUIRE(backoff_after(8, 0) == Milliseconds(60'000));
  REQUIRE(backoff_after(1'000'000, 0) == Milliseconds(60'000));
  for (std::uint64_t random = 0; random < 5000; ++random) {
    const Milliseconds wait = backoff_after(3, random);
    REQUIRE(wait <= Milliseconds(2000));
    REQUIRE(wait >= Milliseconds(1600));
  }
}

}  // namespace mcpx::upstream
