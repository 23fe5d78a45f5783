#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unit/runtime/on_shard.hpp"
#include "upstream/pending.hpp"

namespace mcpx::upstream {
namespace {

rpc::Message reply_of(const char* text) {
  auto parsed = rpc::parse(PaddedBuffer(text), json::Limits());
  REQUIRE(parsed.has_value());
  return std::move(*parsed);
}

Task<void> out_of_order(runtime::Shard& shard) {
  Pending pending(shard, "s", [](rpc::Number) { FAIL("no deadline here"); });
  const auto first = pending.add(kNever, nullptr);
  const auto second = pending.add(kNever, nullptr);
  REQUIRE(first != second);
  REQUIRE(pending.answer(second, reply_of(R"({"jsonrpc":"2.0","id":2,"result":{"n":2}})")));
  REQUIRE(pending.answer(first, reply_of(R"({"jsonrpc":"2.0","id":1,"result":{"n":1}})")));
  REQUIRE_FALSE(pending.answer(first, Error("x", "a second answer is ignored")));
  REQUIRE_FALSE(pending.answer(99, Error("x", "nobody waits")));
  Reply one = co_await pending.wait(first);
  Reply two = co_await pending.wait(second);
  REQUIRE(one->result == R"({"n":1})");
  REQUIRE(two->result == R"({"n":2})");
  REQUIRE(pending.size() == 0);
}

TEST_CASE("replies are matched by id, whatever their order",
          "[req:messages-result-response-same-id]") {
  test::on_shard(out_of_order);
}

Task<void> deadline_body(runtime::Shard& shard) {
  std::vector<rpc::Number> told;
  Pending pending(shard, "slow", [&](rpc::Number id) { told.push_back(id); });
  const auto patient = pending.add(kNever, nullptr);
  const auto hasty = pending.add(Clock::now() + Milliseconds(1), nullptr);
  Reply late = co_await pending.wait(hasty);
  REQUIRE_FALSE(late.has_value());
  REQUIRE(late.error().code == "upstream.timeout");
  REQUIRE(late.error().message.find("slow") != std::string::npos);
  REQUIRE(told == std::vector<rpc::Number>{hasty});
  REQUIRE_FALSE(pending.answer(hasty, Error("x", "a late answer")));
  pending.answer_all(Error("upstream.exited", "gone"));
  Reply gone = co_await pending.wait(patient);
  REQUIRE(gone.error().code == "upstream.exited");
}

TEST_CASE("a passed deadline answers one request and is told to the server",
          "[req:cancellation-timeout-then-cancel][req:cancellation-sender-ignore-late-response]") {
  test::on_shard(deadline_body);
}

Task<void> only_call_body(runtime::Shard& shard) {
  Pending pending(shard, "s", [](rpc::Number) {});
  call::Call call;
  const Forward forward{call, kNever, Milliseconds(1), kNever, nullptr, nullptr};
  Relay a(forward), b(forward);
  const auto own = pending.add(kNever, nullptr);
  REQUIRE(pending.only_relay() == nullptr);
  const auto first = pending.add(kNever, &a);
  REQUIRE(pending.only_relay() == &a);
  const auto second = pending.add(kNever, &b);
  REQUIRE(pending.only_relay() == nullptr);  // never a guess
  pending.answer(second, Error("x", "done"));
  Reply done = co_await pending.wait(second);
  REQUIRE(pending.only_relay() == &a);
  pending.answer_all(Error("x", "end"));
  done = co_await pending.wait(first);
  done = co_await pending.wait(own);
}

TEST_CASE("a message without an address goes to the only call in flight, or to none") {
  test::on_shard(only_call_body);
}

Task<void> task_body(runtime::Shard& shard) {
  Pending pending(shard, "s", [](rpc::Number) {});
  call::Call plain, waiting;
  plain.method = mcp::Method::tools_call;
  plain.params = R"({"taskId":"a"})";
  waiting.method = mcp::Method::tasks_result;
  waiting.params = R"({"taskId":"b"})";
  const Forward one{plain, kNever, Milliseconds(1), kNever, nullptr, nullptr};
  const Forward other{waiting, kNever, Milliseconds(1), kNever, nullptr, nullptr};
  Relay a(one), b(other);
  const auto first = pending.add(kNever, &a);
  const auto second = pending.add(kNever, &b);
  const auto named = [&](const std::string& id) {
    return pending.call_of_task(R"({"_meta":{"io.modelcontextprotocol/related-task":{"taskId":)" +
                                id + "}}}");
  };
  CHECK(named(R"("b")") == second);
  CHECK(named(R"("\u0062")") == second);
  CHECK(named(R"("a")") == 0);  // a call that is no wait for a task's result
  CHECK(named("7") == 0);
  CHECK(pending.call_of_task("{}") == 0);
  pending.answer_all(Error("x", "end"));
  Reply done = co_await pending.wait(first);
  done = co_await pending.wait(second);
}

TEST_CASE("a question that names its task is for whoever waits for that",
          "[req:elicitation-task-related-id-shared]") {
  test::on_shard(task_body);
}

Task<void> extended_body(runtime::Shard& shard) {
  Pending pending(shard, "s", [](rpc::Number) {});
  const auto slow = pending.add(Clock::now() + Milliseconds(1), nullptr);
  pending.extend(slow, kNever);
  pending.extend(slow, Clock::now());  // never shortens
  pending.extend(99, kNever);
  // Its watchdog fires for both; only the one that was not extended is answered.
  const auto hasty = pending.add(Clock::now() + Milliseconds(2), nullptr);
  Reply late = co_await pending.wait(hasty);
  REQUIRE(late.error().code == "upstream.timeout");
  REQUIRE(pending.answer(slow, reply_of(R"({"jsonrpc":"2.0","id":1,"result":{"n":1}})")));
  Reply done = co_await pending.wait(slow);
  REQUIRE(done->result == R"({"n":1})");
}

TEST_CASE("a request whose deadline was moved on is not answered at the old one",
          "[req:lifecycle-timeouts-may-reset-on-progress]") {
  test::on_shard(extended_body);
}

}  // namespace
}  // namespace mcpx::upstream
