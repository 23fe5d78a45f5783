#include "upstream/renewal.hpp"

#include <catch2/catch.hpp>

#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::upstream {
namespace {

using mcp::ListKind;

Task<void> note(Renewal& renewal, ListKind kind, TimePoint deadline, int& read, int& not_read) {
  const bool done = co_await renewal.wait(kind, deadline);
  ++(done ? read : not_read);
}

Task<void> renewal_body(runtime::Shard& shard) {
  Renewal renewal(shard);
  const TimePoint now = Clock::now();
  REQUIRE_FALSE(renewal.stale(ListKind::tools, now));  // nothing was read yet
  renewal.set(ListKind::tools, now);
  REQUIRE(renewal.stale(ListKind::tools, now));
  REQUIRE_FALSE(renewal.stale(ListKind::prompts, now));

  // Whoever waits for the same list shares one reading.
  int read = 0, not_read = 0;
  runtime::TaskGroup tasks(shard);
  for (int i = 0; i < 3; ++i)
    tasks.spawn("wait", note(renewal, ListKind::tools, now + Milliseconds(60'000), read, not_read));
  tasks.spawn("wait", note(renewal, ListKind::prompts, Clock::now(), read, not_read));
  runtime::Timer timer(shard);
  while (not_read == 0) {
    const bool reached = co_await timer.sleep_for(Milliseconds(1));
    static_cast<void>(reached);
  }
  REQUIRE(read == 0);
  // The one that gave up leaves the old list to be served until the reading has ended.
  REQUIRE_FALSE(renewal.stale(ListKind::prompts, now + Milliseconds(3'600'000)));
  renewal.settle(ListKind::prompts, now, false);
  REQUIRE(renewal.stale(ListKind::prompts, Clock::now() + kBetweenRenewals));

  const TimePoint settled = Clock::now();
  renewal.settle(ListKind::tools, settled, true);  // ttlMs 0
  co_await tasks.join();
  REQUIRE(read == 3);
  REQUIRE_FALSE(renewal.stale(ListKind::tools, settled + kBetweenRenewals - Milliseconds(1)));
  REQUIRE(renewal.stale(ListKind::tools, Clock::now() + kBetweenRenewals));
  renewal.settle(ListKind::tools, kNever, true);
  REQUIRE_FALSE(renewal.stale(ListKind::tools, settled + Milliseconds(3'600'000)));
}

TEST_CASE("a stale list is waited for once by all, and not again for a while",
          "[req:caching-stale-refetch][req:caching-ttl-not-poll]"
          "[req:caching-may-refetch-early-serve-stale]") {
  test::on_shard(renewal_body);
}

}  // namespace
}  // namespace mcpx::upstream
