// Subscriptions to resources: by resources/subscribe of a session, and by subscriptions/listen.
#include <algorithm>
#include <string>
#include <vector>

#include "unit/downstream/house.hpp"

namespace mcpx::test {
namespace {

using upstream::ResourceUpdate;

FieldList session_fields(const std::string& session) {
  return with(kPlain, FieldList(1, {"Mcp-Session-Id", session}));
}

std::string request(const std::string& method, const std::string& uri) {
  return R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{"uri":")" + uri +
         R"("}})";
}

std::string updated(const std::string& uri) {
  return R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":")" + uri +
         R"("}})";
}

void news(const std::string& server, const std::string& watched, const std::string& uri) {
  std::vector<ResourceUpdate> updates;
  updates.emplace_back(std::string(), watched, uri);
  script(server).on_updated(std::move(updates));
}

// "alpha" offers subscriptions.
Task<void> open(House& house) {
  co_await house.open();
  auto catalogue =
      std::make_shared<upstream::Catalogue>(*catalogue_of({"echo"}, {}, {"test://a/1"}));
  catalogue->facts.capabilities =
      R"({"tools":{},"resources":{"subscribe":true,"listChanged":true}})";
  script("alpha").catalogue = catalogue;
  house.announce("alpha", mcp::ListKind::resources, true);
  co_await house.until_published();
}

struct Client {
  Client(runtime::Shard& shard, const std::string& session_in)
      : session(session_in),
        stream(shard, "GET", "/mcp",
               {{"Accept", "text/event-stream"}, {"Mcp-Session-Id", session_in}}) {}
  std::string session;
  FakeExchange stream;
};

Task<void> in_session(runtime::Shard& shard) {
  House house(shard);
  co_await open(house);
  const std::string id = co_await house.open_session("2025-11-25");
  Client client(shard, id);
  house.tasks.spawn("stream", house.serve(client.stream));
  co_await house.pause();
  const std::string shown = "mcpx://alpha/test://a/1";
  const FieldList fields = session_fields(id);
  for (int i = 0; i < 2; ++i) {
    const auto done =
        co_await house.send("POST", "/mcp", fields, request("resources/subscribe", shown));
    CHECK(json::find(done->body, "result") == "{}");
  }
  CHECK(script("alpha").watched == std::map<std::string, int>{{"test://a/1", 1}});

  news("alpha", "test://a/1", "test://a/1");
  const auto first = co_await client.stream.arrived.pop();
  CHECK(first == updated(shown));
  news("alpha", "test://a/1", "test://a/1/part");
  const auto below = co_await client.stream.arrived.pop();
  CHECK(below == updated(shown + "/part"));
  news("alpha", "test://a/2", "test://a/2");
  news("beta", "test://a/1", "test://a/1");
  co_await house.pause();
  CHECK(client.stream.events.size() == 2);

  const auto off =
      co_await house.send("POST", "/mcp", fields, request("resources/unsubscribe", shown));
  CHECK(json::find(off->body, "result") == "{}");
  CHECK(script("alpha").watched.empty());
  const auto again =
      co_await house.send("POST", "/mcp", fields, request("resources/unsubscribe", shown));
  CHECK(json::find(again->body, "result") == "{}");
  news("alpha", "test://a/1", "test://a/1");
  co_await house.pause();
  CHECK(client.stream.events.size() == 2);

  const auto on =
      co_await house.send("POST", "/mcp", fields, request("resources/subscribe", shown));
  CHECK(json::find(on->body, "result") == "{}");
  const FieldList named(1, {"Mcp-Session-Id", id});
  const auto deleted = co_await house.send("DELETE", "/mcp", named, "");
  CHECK(deleted->status == 200);
  CHECK(script("alpha").watched.empty());
  co_await house.close();
}

TEST_CASE(
    "a session is told of the resources it subscribed to until it unsubscribes or ends",
    "[req:subscriptions-resources-updated-only-if-subscribed]"
    "[req:resources-updated-may-be-subresource][req:resources-subscribe-cap-meaning-legacy]") {
  on_shard(in_session);
}

Task<void> refusals(runtime::Shard& shard) {
  House house(shard);
  co_await open(house);
  script("alpha").unwatchable["test://a/1"] =
      R"({"code":-32002,"message":"Resource not found","data":{"uri":"test://a/1"}})";
  const std::string id = co_await house.open_session("2025-11-25");
  const FieldList fields = session_fields(id);
  const auto refused = co_await house.send(
      "POST", "/mcp", fields, request("resources/subscribe", "mcpx://alpha/test://a/1"));
  CHECK(json::find(refused->body, "error", "code") == "-32002");
  CHECK(json::find(refused->body, "error", "data", "uri") == R"("mcpx://alpha/test://a/1")");
  const auto unknown =
      co_await house.send("POST", "/mcp", fields, request("resources/subscribe", "test://nowhere"));
  CHECK(json::find(unknown->body, "error", "code") == "-32002");
  const std::string own = co_await house.open_session("2025-11-25", "/mcp/beta");
  const auto none = co_await house.send("POST", "/mcp/beta", session_fields(own),
                                        request("resources/subscribe", "test://b"));
  CHECK(json::find(none->body, "error", "code") == "-32601");
  const FieldList modern = modern_fields("resources/subscribe");
  const auto removed = co_await house.send(
      "POST", "/mcp", modern, modern_body("1", "resources/subscribe", R"("uri":"test://a/1")"));
  CHECK(removed->status == 404);
  CHECK(script("alpha").watched.empty());
  co_await house.close();
}

TEST_CASE("a subscription that cannot be made is an error, in the words of whoever refused it") {
  on_shard(refusals);
}

std::string listen_body(const std::string& id, const std::string& filter) {
  return modern_body(id, "subscriptions/listen", R"("notifications":)" + filter);
}

Task<void> listening(runtime::Shard& shard) {
  House house(shard);
  co_await open(house);
  script("alpha").unwatchable["test://no"] = R"({"code":-32602,"message":"no"})";
  const FieldList fields = modern_fields("subscriptions/listen");
  FakeExchange stream(
      shard, "POST", "/mcp/alpha", fields,
      listen_body("5", R"({"promptsListChanged":true,"resourcesListChanged":true,)"
                       R"("resourceSubscriptions":["test://a/1","test://no","test://a/1"]})"));
  FakeExchange other(shard, "POST", "/mcp", fields,
                     listen_body("6", R"({"resourceSubscriptions":["mcpx://alpha/test://a/1"]})"));
  house.tasks.spawn("stream", house.serve(stream));
  house.tasks.spawn("other", house.serve(other));
  const auto acknowledged = co_await stream.arrived.pop();
  REQUIRE(acknowledged);
  CHECK(json::find(*acknowledged, "params", "notifications") ==
        R"({"resourcesListChanged":true,"resourceSubscriptions":["test://a/1"]})");
  const auto second = co_await other.arrived.pop();
  REQUIRE(second);
  CHECK(script("alpha").watched == std::map<std::string, int>{{"test://a/1", 2}});

  news("alpha", "test://a/1", "test://a/1");
  const auto told = co_await stream.arrived.pop();
  CHECK(told == R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":)"
                R"({"io.modelcontextprotocol/subscriptionId":5},"uri":"test://a/1"}})");
  const auto also = co_await other.arrived.pop();
  CHECK(also ==
        R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":)"
        R"({"io.modelcontextprotocol/subscriptionId":6},"uri":"mcpx://alpha/test://a/1"}})");

  other.leave();
  while (script("alpha").watched["test://a/1"] != 1) {
    co_await house.pause();
  }
  house.service().begin_shutdown();
  co_await house.tasks.join();
  CHECK(script("alpha").watched.empty());
  CHECK(json::find(stream.events.back(), "result", "resultType") == R"("complete")");
  co_await house.close();
}

TEST_CASE("subscriptions/listen names resources: what is agreed to is acknowledged, told and left",
          "[req:subscriptions-ack-reports-agreed-subset][req:subscriptions-tag-every-notification]"
          "[req:resources-subscribe-via-listen][req:subscriptions-only-requested-types]"
          "[req:subscriptions-multiple-concurrent]"
          "[req:resources-subscribe-cap-meaning-2026]") {
  on_shard(listening);
}

Task<void> bad_filters(runtime::Shard& shard) {
  House house(shard);
  co_await open(house);
  const FieldList fields = modern_fields("subscriptions/listen");
  for (const char* filter :
       {R"({"resourceSubscriptions":"test://a/1"})", R"({"resourceSubscriptions":[1]})"}) {
    const auto refused = co_await house.send("POST", "/mcp", fields, listen_body("1", filter));
    CHECK(refused->status == 400);
    CHECK(json::find(refused->body, "error", "code") == "-32602");
  }
  co_await house.close();
}

TEST_CASE("resourceSubscriptions that is no array of strings is refused") {
  on_shard(bad_filters);
}

Task<void> slow_reader(runtime::Shard& shard) {
  House house(shard);
  co_await open(house);
  FakeExchange stream(shard, "POST", "/mcp/alpha", modern_fields("subscriptions/listen"),
                      listen_body("1", R"({"resourceSubscriptions":["test://a/1"]})"));
  house.tasks.spawn("stream", house.serve(stream));
  const auto acknowledged = co_await stream.arrived.pop();
  REQUIRE(acknowledged);
  stream.hold = true;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2'000; ++i)
      news("alpha", "test://a/1", "test://a/1/" + std::to_string(i));
    co_await house.pause();
  }
  news("alpha", "test://a/1", "test://a/1");
  co_await house.pause();
  stream.hold = false;
  stream.released.open();
  while (std::none_of(stream.events.begin(), stream.events.end(), [](const std::string& event) {
    return event.find(R"("test://a/1")") != std::string::npos &&
           event.find("updated") != std::string::npos;
  })) {
    co_await house.pause();
  }
  co_await house.pause();
  // What the first writing took with it, and once more what waited meanwhile.
  CHECK(stream.events.size() <= 1 + 2 * 1'025);
  co_await house.close();
}

TEST_CASE("updates coalesce for a reader that is slow, and stay bounded") {
  on_shard(slow_reader);
}

}  // namespace
}  // namespace mcpx::test
