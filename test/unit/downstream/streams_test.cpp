// Change notifications: the GET stream of a session and subscriptions/listen.
#include <string>
#include <vector>

#include "downstream/event_stream.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "unit/downstream/house.hpp"

namespace mcpx::test {
namespace {

const std::string kToolsChanged =
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";

FieldList stream_fields_of(const std::string& session) {
  FieldList fields = {{"Accept", "text/event-stream"}};
  fields.emplace_back("Mcp-Session-Id", session);
  return fields;
}

std::string listen_body(const std::string& id, const std::string& filter) {
  return modern_body(id, "subscriptions/listen", R"("notifications":)" + filter);
}

Task<void> get_stream(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string session = co_await house.open_session("2025-11-25");
  FakeExchange stream(shard, "GET", "/mcp", stream_fields_of(session));
  house.tasks.spawn("stream", house.serve(stream));
  co_await house.pause();
  CHECK(stream.streaming());

  house.offer("beta", {"echo", "fresh"}, {}, {});
  const auto first = co_await stream.arrived.pop();
  CHECK(first == kToolsChanged);
  co_await house.pause();
  CHECK(stream.events.size() == 1);  // once per change

  const FieldList named(1, {"Mcp-Session-Id", session});
  const auto deleted = co_await house.send("DELETE", "/mcp", named, "");
  CHECK(deleted->status == 200);
  co_await house.tasks.join();
  CHECK(stream.ended);
  co_await house.close();
}

TEST_CASE("a session's GET stream tells it once that a list changed, and ends with the session",
          "[req:subscriptions-list-changed-should-notify][req:streamable-http-get-no-responses]") {
  on_shard(get_stream);
}

Task<void> two_streams(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string session = co_await house.open_session("2025-11-25");
  FakeExchange older(shard, "GET", "/mcp", stream_fields_of(session));
  FakeExchange newer(shard, "GET", "/mcp", stream_fields_of(session));
  house.tasks.spawn("older", house.serve(older));
  co_await house.pause();
  house.tasks.spawn("newer", house.serve(newer));
  co_await house.pause();
  house.offer("beta", {"other"}, {}, {});
  const auto told = co_await newer.arrived.pop();
  CHECK(told == kToolsChanged);
  co_await house.pause();
  CHECK(older.events.empty());
  CHECK(older.ended);
  co_await house.close();
  CHECK(newer.ended);
}

TEST_CASE("a message goes to one stream of a session only, the newest",
          "[req:streamable-http-no-broadcast]") {
  on_shard(two_streams);
}

Task<void> listening(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const FieldList fields = modern_fields("subscriptions/listen");
  FakeExchange tools(
      shard, "POST", "/mcp", fields,
      listen_body("\"L1\"", R"({"toolsListChanged":true,"resourceSubscriptions":["x://y"]})"));
  FakeExchange prompts(shard, "POST", "/mcp", fields,
                       listen_body("2", R"({"promptsListChanged":true})"));
  house.tasks.spawn("tools", house.serve(tools));
  house.tasks.spawn("prompts", house.serve(prompts));
  const auto first = co_await tools.arrived.pop();
  CHECK(first == R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",)"
                 R"("params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L1"},)"
                 R"("notifications":{"toolsListChanged":true}}})");
  const auto second = co_await prompts.arrived.pop();
  CHECK(json::find(*second, "params", "notifications") == R"({"promptsListChanged":true})");

  house.offer("beta", {"another"}, {}, {});
  const auto changed = co_await tools.arrived.pop();
  CHECK(changed == R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed",)"
                   R"("params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L1"}}})");
  co_await house.pause();
  CHECK(prompts.events.size() == 1);

  house.service().begin_shutdown();
  co_await house.tasks.join();
  REQUIRE(tools.events.size() == 4);
  CHECK(json::find_string(tools.events[2], "method") == "notifications/cancelled");
  CHECK(json::find(tools.events[2], "params", "requestId") == R"("L1")");
  const std::string& last = tools.events[3];
  CHECK(json::find(last, "id") == R"("L1")");
  CHECK(json::find(last, "result", "resultType") == R"("complete")");
  const auto meta = json::find(last, "result", "_meta");
  REQUIRE(meta);
  CHECK(json::find(*meta, "io.modelcontextprotocol/subscriptionId") == R"("L1")");
  CHECK(tools.ended);
  CHECK(prompts.ended);
  co_await house.close();
}

TEST_CASE("subscriptions/listen acknowledges, tags, filters and ends gracefully",
          "[req:subscriptions-ack-first-with-id][req:subscriptions-ack-reports-agreed-subset]"
          "[req:subscriptions-tag-every-notification][req:subscriptions-only-requested-types]"
          "[req:subscriptions-server-teardown-respond][req:subscriptions-listen-result-meta]"
          "[req:cancellation-server-must-send-cancelled-on-listen-teardown]"
          "[req:meta-subscription-id-on-listen-notifications]") {
  on_shard(listening);
}

Task<void> unchanged(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const FieldList fields = modern_fields("subscriptions/listen");
  const std::string body = listen_body("1", R"({"toolsListChanged":true})");
  FakeExchange all(shard, "POST", "/mcp", fields, body);
  FakeExchange own(shard, "POST", "/mcp/alpha", fields, body);
  house.tasks.spawn("all", house.serve(all));
  house.tasks.spawn("own", house.serve(own));
  const auto one = co_await own.arrived.pop();
  house.announce("alpha", mcp::ListKind::tools, false);  // a change that is none
  const auto two = co_await own.arrived.pop();
  REQUIRE(one);
  REQUIRE(two);
  CHECK(json::find_string(*two, "method") == "notifications/tools/list_changed");
  co_await house.pause();
  CHECK(all.events.size() == 1);
  own.leave();
  all.leave();
  co_await house.tasks.join();
  CHECK_FALSE(own.ended);  // nothing more is written to a client that left
  co_await house.close();
}

TEST_CASE("C41: an empty list_changed reaches /mcp/{server} alone") {
  on_shard(unchanged);
}

Task<void> slow_reader(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const FieldList fields = modern_fields("subscriptions/listen");
  FakeExchange stream(shard, "POST", "/mcp/alpha", fields,
                      listen_body("1", R"({"toolsListChanged":true})"));
  house.tasks.spawn("stream", house.serve(stream));
  const auto acknowledged = co_await stream.arrived.pop();
  REQUIRE(acknowledged);
  stream.hold = true;
  // The first change is being written; all that come meanwhile make one more.
  for (int i = 0; i < 5; ++i) {
    house.announce("alpha", mcp::ListKind::tools, true);
    co_await house.until_published();
  }
  stream.hold = false;
  stream.released.open();
  const auto first = co_await stream.arrived.pop();
  const auto second = co_await stream.arrived.pop();
  REQUIRE(first);
  REQUIRE(second);
  co_await house.pause();
  CHECK(stream.events.size() == 3);
  co_await house.close();
}

TEST_CASE("C40: changes coalesce for a reader that is slow") {
  on_shard(slow_reader);
}

Task<void> refused(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const FieldList fields = modern_fields("subscriptions/listen");
  const auto no_filter =
      co_await house.send("POST", "/mcp", fields, modern_body("1", "subscriptions/listen"));
  CHECK(no_filter->status == 400);
  CHECK(json::find(no_filter->body, "error", "code") == "-32602");
  FieldList json_only = fields;
  json_only[1].second = "application/json";
  const auto deaf = co_await house.send("POST", "/mcp", json_only, listen_body("1", "{}"));
  CHECK(deaf->status == 406);
  co_await house.close();
}

TEST_CASE("a listen without a filter, or from a client that reads no events, is refused") {
  on_shard(refused);
}

// A proxy in between may take a silent stream for a dead one.
Task<void> quiet_stream(runtime::Shard& shard) {
  const auto stream = std::make_shared<downstream::EventStream>(shard);
  FakeExchange exchange(shard, "GET", "/mcp", {});
  runtime::TaskGroup tasks(shard);
  downstream::EventStream::ReaderPtr reader = stream->attach(0);
  tasks.spawn("writer", downstream::write_events(exchange, stream, reader, Milliseconds(5)));
  runtime::Timer turn(shard);
  while (exchange.keep_alives < 2) {
    co_await turn.sleep_for(Milliseconds(1));
  }
  CHECK(exchange.events.empty());
  stream->close();
  co_await tasks.join();
  CHECK(exchange.ended);
}

TEST_CASE("a stream on which nothing is said has keep-alive comments") {
  on_shard(quiet_stream);
}

}  // namespace
}  // namespace mcpx::test
