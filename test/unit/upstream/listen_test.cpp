// Listener: what is asked for, what counts, and how a subscription that ended is opened again.
#include "upstream/listen.hpp"

#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mcp/error_codes.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::upstream {
namespace {

using mcp::ListKind;

rpc::Message message_of(const std::string& text) {
  auto parsed = rpc::parse(PaddedBuffer(text), json::Limits());
  REQUIRE(parsed.has_value());
  return std::move(*parsed);
}

rpc::Message notification(const std::string& method, const std::string& params) {
  std::string text;
  rpc::append_notification(text, method, params);
  return message_of(text);
}

std::string tagged(int id, const std::string& rest = "") {
  return R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" + std::to_string(id) + "}" +
         rest + "}";
}

mcp::ServerFacts facts_of(const char* capabilities) {
  mcp::ServerFacts facts;
  facts.revision = mcp::Revision::r2026_07_28;
  facts.capabilities = capabilities;
  return facts;
}

constexpr const char* kAll =
    R"({"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true}})";

// A link that keeps what was asked and ends a subscription when the test says so.
struct House {
  explicit House(runtime::Shard& shard)
      : tasks(shard),
        listener(shard, events, [this](std::string params) { return hold(std::move(params)); }) {
    events.list_changed = [this](ListKind kind) { changed.push_back(kind); };
    events.remark = [this](const std::string& text) { remarks.push_back(text); };
    events.covered = [this] { ++coverages; };
  }
  Task<Reply> hold(std::string params) {
    asked.push_back(std::move(params));
    listener.opened(static_cast<rpc::Number>(asked.size()));
    opened.wake();
    end = std::make_unique<runtime::OneShot<Reply>>();
    Reply reply = co_await end->wait();
    co_return reply;
  }
  void listen(const char* capabilities) {
    tasks.spawn("listen", listener.run(facts_of(capabilities), R"({"name":"mcpx"})"));
  }
  Task<void> until_asked(std::size_t times) {
    while (asked.size() < times) {
      co_await opened.wait();
    }
  }
  Task<void> finish() {
    listener.stop();
    if (end) end->set(Error("upstream.stopped", "the end"));
    co_await tasks.join();
  }
  bool take(const std::string& method, const std::string& params,
            Listener::Channel channel = Listener::Channel::shared) {
    return listener.take(notification(method, params), channel);
  }

  std::vector<std::string> asked, remarks;
  std::vector<ListKind> changed;
  int coverages = 0;
  LinkEvents events;
  std::unique_ptr<runtime::OneShot<Reply>> end;
  runtime::Waiter opened;
  runtime::TaskGroup tasks;
  Listener listener;
};

const std::string kTools = "notifications/tools/list_changed";
const std::string kAcknowledged = "notifications/subscriptions/acknowledged";

Task<void> filter_body(runtime::Shard& shard) {
  House house(shard);
  house.listen(R"({"tools":{"listChanged":true},"prompts":{},"resources":{"listChanged":false}})");
  co_await house.until_asked(1);
  REQUIRE(json::find(house.asked[0], "notifications") == R"({"toolsListChanged":true})");
  REQUIRE(json::find_string(house.asked[0], "_meta") == std::nullopt);
  REQUIRE(json::find(house.asked[0], "_meta", mcp::kMetaProtocolVersion) == R"("2026-07-28")");
  co_await house.finish();

  House silent(shard);
  silent.listen(R"({"tools":{}})");
  co_await silent.finish();
  REQUIRE(silent.asked.empty());
}

TEST_CASE("what the server declares to announce is asked for, and nothing else") {
  test::on_shard(filter_body);
}

Task<void> tags_body(runtime::Shard& shard) {
  House house(shard);
  house.listen(kAll);
  co_await house.until_asked(1);
  REQUIRE_FALSE(house.take(kTools, tagged(7)));
  REQUIRE_FALSE(house.take(kTools, "{}"));
  REQUIRE_FALSE(house.take("notifications/progress", tagged(1)));
  REQUIRE(house.changed.empty());
  REQUIRE(house.take(kTools, tagged(1)));
  REQUIRE(house.changed == std::vector{ListKind::tools});
  REQUIRE(house.take(kTools, "{}", Listener::Channel::own));
  REQUIRE_FALSE(house.take(kTools, tagged(7), Listener::Channel::own));
  REQUIRE(house.take("notifications/resources/list_changed", tagged(1)));
  REQUIRE(house.changed == std::vector{ListKind::tools, ListKind::tools, ListKind::resources});
  co_await house.finish();
  REQUIRE_FALSE(house.take(kTools, tagged(1)));
}

TEST_CASE("only what carries our subscription id counts, and on a stream of our own what has none",
          "[req:stdio-client-correlates-subscription-id]"
          "[req:subscriptions-stdio-client-correlate]"
          "[req:subscriptions-multiple-concurrent]") {
  test::on_shard(tags_body);
}

Task<void> acknowledged_body(runtime::Shard& shard) {
  House house(shard);
  house.listen(kAll);
  co_await house.until_asked(1);
  REQUIRE_FALSE(house.listener.covers(ListKind::tools));
  REQUIRE(house.take(kAcknowledged,
                     tagged(1, R"(,"notifications":{"toolsListChanged":true,)"
                               R"("resourcesListChanged":true,"promptsListChanged":false})")));
  REQUIRE(house.listener.covers(ListKind::tools));
  REQUIRE_FALSE(house.listener.covers(ListKind::prompts));
  REQUIRE(house.listener.covers(ListKind::resources));
  REQUIRE(house.listener.covers(ListKind::resource_templates));
  REQUIRE(house.coverages == 1);
  REQUIRE(house.remarks.size() == 1);
  REQUIRE(house.remarks[0].find("promptsListChanged") != std::string::npos);
  REQUIRE(house.changed.empty());
  co_await house.finish();
  REQUIRE_FALSE(house.listener.covers(ListKind::tools));
}

TEST_CASE("what the server does not agree to announce is remarked on and not taken for covered",
          "[req:subscriptions-client-check-ack]") {
  test::on_shard(acknowledged_body);
}

Task<void> again_body(runtime::Shard& shard) {
  House house(shard);
  house.listen(R"({"tools":{"listChanged":true},"prompts":{"listChanged":true}})");
  co_await house.until_asked(1);
  house.take(kAcknowledged, tagged(1, R"(,"notifications":{"toolsListChanged":true})"));
  // A graceful end: the same is asked for again, and what was covered is read again.
  house.end->set(message_of(R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}})"));
  co_await house.until_asked(2);
  REQUIRE(house.asked[1] == house.asked[0]);
  REQUIRE_FALSE(house.listener.covers(ListKind::tools));
  REQUIRE(house.coverages == 2);
  REQUIRE(house.changed.empty());
  REQUIRE_FALSE(house.take(kTools, tagged(1)));  // of the subscription that is over
  house.take(kAcknowledged, tagged(2, R"(,"notifications":{"toolsListChanged":true})"));
  REQUIRE(house.changed == std::vector{ListKind::tools});
  // A drop is no different.
  house.end->set(Error("upstream.unreachable", "the connection broke"));
  co_await house.until_asked(3);
  co_await house.finish();
}

TEST_CASE("a subscription that ended or broke is opened again, and what it covered is read again",
          "[req:subscriptions-client-reconnect-on-drop]") {
  test::on_shard(again_body);
}

Task<void> refused_body(runtime::Shard& shard) {
  House house(shard);
  house.listen(kAll);
  co_await house.until_asked(1);
  house.end->set(
      message_of(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"not here"}})"));
  co_await house.tasks.join();  // it does not ask again
  REQUIRE(house.asked.size() == 1);
  REQUIRE(house.remarks.size() == 1);
  REQUIRE(house.remarks[0].find("not here") != std::string::npos);
}

TEST_CASE("a server that does not know subscriptions/listen is asked once") {
  test::on_shard(refused_body);
}

TEST_CASE("a cancelled notification names the subscription it ends") {
  CHECK(Listener::cancelled_by(notification("notifications/cancelled", R"({"requestId":4})")) == 4);
  CHECK_FALSE(
      Listener::cancelled_by(notification("notifications/cancelled", R"({"requestId":"x"})")));
  CHECK_FALSE(Listener::cancelled_by(notification(kTools, R"({"requestId":4})")));
}

}  // namespace
}  // namespace mcpx::upstream
