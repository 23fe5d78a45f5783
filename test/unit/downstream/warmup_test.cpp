// The first moments: servers that are still coming, and clients that are there already.
#include <string>

#include "unit/downstream/house.hpp"

namespace mcpx::test {
namespace {

Task<void> early_list(runtime::Shard& shard) {
  House house(shard);
  house.config().ready_wait = Milliseconds(60'000);
  house.registry().start();
  co_await house.service().start();
  co_await house.pause();
  FakeExchange all(shard, "POST", "/mcp", modern_fields("tools/list"),
                   modern_body("1", "tools/list"));
  FakeExchange own(shard, "POST", "/mcp/beta", modern_fields("tools/list"),
                   modern_body("1", "tools/list"));
  FakeExchange call(shard, "POST", "/mcp", modern_fields("tools/call", "beta__echo"),
                    modern_body("1", "tools/call", R"("name":"beta__echo")"));
  house.tasks.spawn("all", house.serve(all));
  house.tasks.spawn("own", house.serve(own));
  house.tasks.spawn("call", house.serve(call));
  co_await house.pause();
  CHECK(all.answers == 0);
  house.offer("alpha", {"add"}, {}, {});
  house.offer("beta", {"echo"}, {}, {});
  co_await house.tasks.join();
  CHECK(all.body.find("alpha__add") != std::string::npos);
  CHECK(all.body.find("beta__echo") != std::string::npos);
  CHECK(own.body.find(R"("name":"echo")") != std::string::npos);
  CHECK(json::find(call.body, "result"));
  co_await house.close();
}

TEST_CASE("C13: lists and calls during warm-up wait for the servers, not answer empty") {
  on_shard(early_list);
}

Task<void> nobody_comes(runtime::Shard& shard) {
  House house(shard);
  house.config().ready_wait = Milliseconds(20);
  house.registry().start();
  co_await house.service().start();
  co_await house.pause();
  const FieldList fields = modern_fields("tools/list");
  const std::string body = modern_body("1", "tools/list");
  const auto all = co_await house.send("POST", "/mcp", fields, body);
  CHECK(json::find(all->body, "result", "tools") == "[]");
  const auto starting = co_await house.send("POST", "/mcp/alpha", fields, body);
  CHECK(json::find(starting->body, "error", "data", "code") == R"("registry.starting")");
  script("alpha").status.error = Error("upstream.exited", "exit code 3", "see its stderr");
  const auto failed = co_await house.send("POST", "/mcp/alpha", fields, body);
  CHECK(json::find(failed->body, "error", "data", "code") == R"("upstream.exited")");
  const std::string session = co_await house.open_session("2025-11-25", "/mcp/alpha");
  CHECK(session.size() == 32);
  co_await house.close();
}

TEST_CASE("C04, C13: the wait is bounded, and one server's endpoint says why it has nothing") {
  on_shard(nobody_comes);
}

Task<void> slow_neighbour(runtime::Shard& shard) {
  House house(shard);
  house.config().ready_wait = Milliseconds(60'000);
  house.registry().start();
  co_await house.service().start();
  co_await house.pause();
  // No server has answered yet: what /mcp offers does not depend on them.
  const std::string session = co_await house.open_session("2025-11-25");
  CHECK(session.size() == 32);
  house.offer("alpha", {"add"}, {}, {});
  co_await house.until_published();
  const TimePoint before = Clock::now();
  const auto list = co_await house.send("POST", "/mcp", modern_fields("tools/list"),
                                        modern_body("1", "tools/list"));
  CHECK(list->body.find("alpha__add") != std::string::npos);
  CHECK(Clock::now() - before < std::chrono::seconds(30));  // not until the slow one comes
  co_await house.close();
}

TEST_CASE("C11: one slow server holds up neither initialize nor the lists of the others") {
  on_shard(slow_neighbour);
}

}  // namespace
}  // namespace mcpx::test
