// Listener: what is asked for, what counts, and how a subscription that ended is opened again.
#include "upstream/listen.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <memory>
#include <optional>
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

const std::string kTools = "notifications/tools/list_changed";
const std::string kAcknowledged = "notifications/subscriptions/acknowledged";
const std::string kUpdated = "notifications/resources/updated";

// A link that keeps what was asked and ends a subscription when the test says so.
struct House {
  explicit House(runtime::Shard& shard)
      : tasks(shard),
        listener(
            shard, events,
            [this](std::string params, std::optional<rpc::Number>& id) {
              return hold(std::move(params), id);
            },
            [this](rpc::Number id) { close(id); }) {
    events.list_changed = [this](ListKind kind) { changed.push_back(kind); };
    events.remark = [this](const std::string& text) { remarks.push_back(text); };
    events.covered = [this] { ++coverages; };
    events.updated = [this](const std::string& uri) { updated.push_back(uri); };
    events.missed = [this] { ++misses; };
  }
  // The first subscription is 1, the second 2.
  Task<Reply> hold(std::string params, std::optional<rpc::Number>& id) {
    asked.push_back(std::move(params));
    id = static_cast<rpc::Number>(asked.size());
    opened.wake();
    ends.push_back(std::make_unique<runtime::OneShot<Reply>>());
    Reply reply = co_await ends.back()->wait();
    co_return reply;
  }
  void end(const Reply& reply) { ends.back()->set(copy(reply)); }
  static Reply copy(const Reply& reply) {
    if (!reply) return reply.error();
    return message_of(std::string(reply->text.view()));
  }
  void close(rpc::Number id) {
    closed.push_back(id);
    ends[static_cast<std::size_t>(id) - 1]->set(Error("request.cancelled", "closed"));
  }
  void acknowledge(int id, const std::string& filter) {
    take(kAcknowledged, tagged(id, R"(,"notifications":)" + filter));
  }
  Task<void> watch(std::string uri) {
    Result<void> watched = co_await listener.watch(uri, Clock::now() + patience);
    verdicts.push_back(uri + (watched ? "" : " " + watched.error().code));
    decided.wake();
  }
  void begin_watch(const std::string& uri) { tasks.spawn("watch", watch(uri)); }
  Task<void> pause() {
    runtime::Timer timer(tasks.shard());
    const bool reached = co_await timer.sleep_for(Milliseconds(1));
    static_cast<void>(reached);
  }
  Task<void> until_decided(std::size_t times) {
    while (verdicts.size() < times) {
      co_await decided.wait();
    }
  }
  std::optional<json::Raw> filter(std::size_t at, const char* member) const {
    return json::find(asked.at(at), "notifications", member);
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
    for (const auto& end : ends)
      end->set(Error("upstream.stopped", "the end"));
    co_await tasks.join();
  }
  bool take(const std::string& method, const std::string& params,
            std::optional<rpc::Number> own = std::nullopt) {
    return listener.take(notification(method, params), own);
  }

  std::vector<std::string> asked, remarks, updated, verdicts;
  std::vector<ListKind> changed;
  std::vector<rpc::Number> closed;
  int coverages = 0, misses = 0;
  Milliseconds patience{60'000};
  LinkEvents events;
  std::deque<std::unique_ptr<runtime::OneShot<Reply>>> ends;
  runtime::Waiter opened, decided;
  runtime::TaskGroup tasks;
  Listener listener;
};

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
  REQUIRE(house.take(kTools, "{}", 1));
  REQUIRE_FALSE(house.take(kTools, tagged(7), 1));
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
  house.end(message_of(R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}})"));
  co_await house.until_asked(2);
  REQUIRE(house.asked[1] == house.asked[0]);
  REQUIRE_FALSE(house.listener.covers(ListKind::tools));
  REQUIRE(house.coverages == 2);
  REQUIRE(house.changed.empty());
  REQUIRE_FALSE(house.take(kTools, tagged(1)));  // of the subscription that is over
  house.take(kAcknowledged, tagged(2, R"(,"notifications":{"toolsListChanged":true})"));
  REQUIRE(house.changed == std::vector{ListKind::tools});
  // A drop is no different.
  house.end(Error("upstream.unreachable", "the connection broke"));
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
  house.end(message_of(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"not here"}})"));
  house.begin_watch("test://a");  // it is not even asked for that
  co_await house.until_decided(1);
  REQUIRE(house.verdicts[0] == "test://a upstream.not_subscribed");
  co_await house.finish();
  REQUIRE(house.asked.size() == 1);
  REQUIRE(house.remarks.size() == 1);
  REQUIRE(house.remarks[0].find("not here") != std::string::npos);
}

TEST_CASE("a server that does not know subscriptions/listen is asked once") {
  test::on_shard(refused_body);
}

std::string update(int id, const std::string& uri) {
  return tagged(id, R"(,"uri":)" + json::quoted(uri));
}

Task<void> watched_body(runtime::Shard& shard) {
  House house(shard);
  house.listen(R"({"tools":{"listChanged":true},"resources":{"subscribe":true}})");
  co_await house.until_asked(1);
  REQUIRE_FALSE(house.filter(0, "resourceSubscriptions"));
  house.acknowledge(1, R"({"toolsListChanged":true})");

  house.begin_watch("test://a");
  house.begin_watch("test://b");
  co_await house.until_asked(2);
  REQUIRE(house.filter(1, "resourceSubscriptions") == R"(["test://a","test://b"])");
  REQUIRE(house.filter(1, "toolsListChanged") == "true");
  REQUIRE(house.closed.empty());  // the old one goes on until there is another
  REQUIRE(house.take(kTools, tagged(1)));
  REQUIRE(house.listener.covers(ListKind::tools));
  house.acknowledge(2, R"({"toolsListChanged":true,"resourceSubscriptions":["test://a"]})");
  co_await house.until_decided(2);
  std::sort(house.verdicts.begin(), house.verdicts.end());
  REQUIRE(house.verdicts ==
          std::vector<std::string>{"test://a", "test://b upstream.not_subscribed"});
  REQUIRE(house.closed == std::vector<rpc::Number>{1});
  REQUIRE(house.listener.covers(ListKind::tools));
  REQUIRE(house.misses == 0);

  REQUIRE_FALSE(house.take(kUpdated, update(1, "test://a")));  // of the one that is closed
  REQUIRE(house.updated.empty());
  REQUIRE(house.take(kUpdated, update(2, "test://a")));
  REQUIRE(house.take(kUpdated, R"({"uri":"test://a/b"})", 2));
  REQUIRE(house.updated == std::vector<std::string>{"test://a", "test://a/b"});

  house.listener.unwatch("test://a");
  co_await house.until_asked(3);
  REQUIRE_FALSE(house.filter(2, "resourceSubscriptions"));
  co_await house.finish();
}

TEST_CASE("resources are watched through another subscription that takes the place of the first",
          "[req:subscriptions-client-check-ack][req:resources-subscribe-via-listen]"
          "[req:subscriptions-ack-reports-agreed-subset]") {
  test::on_shard(watched_body);
}

Task<void> only_watched_body(runtime::Shard& shard) {
  House house(shard);
  house.listen(R"({"resources":{"subscribe":true}})");
  house.begin_watch("test://a");
  co_await house.until_asked(1);
  house.acknowledge(1, R"({"resourceSubscriptions":["test://a"]})");
  co_await house.until_decided(1);
  // It ends: what was said meanwhile is lost.
  house.end(Error("upstream.unreachable", "the connection broke"));
  co_await house.until_asked(2);
  REQUIRE(house.asked[1] == house.asked[0]);
  REQUIRE(house.misses == 0);
  house.acknowledge(2, R"({"resourceSubscriptions":["test://a"]})");
  REQUIRE(house.misses == 1);
  house.listener.unwatch("test://a");
  while (house.closed.empty()) {
    co_await house.pause();
  }
  REQUIRE(house.closed == std::vector<rpc::Number>{2});
  REQUIRE(house.asked.size() == 2);
  co_await house.finish();
}

TEST_CASE("a subscription to resources alone is opened for the first and closed after the last",
          "[req:subscriptions-client-reconnect-on-drop][req:subscriptions-stdio-resubscribe]") {
  test::on_shard(only_watched_body);
}

Task<void> one_by_one_body(runtime::Shard& shard) {
  House house(shard);
  house.listen(R"({"resources":{"subscribe":true}})");
  house.begin_watch("test://bad");
  house.begin_watch("test://good");
  co_await house.until_asked(1);
  const std::string refused =
      R"("error":{"code":-32602,"message":"no such resource: test://bad"}})";
  house.end(message_of(R"({"jsonrpc":"2.0","id":1,)" + refused));
  co_await house.until_asked(2);
  REQUIRE(house.filter(1, "resourceSubscriptions") == R"(["test://bad"])");
  house.end(message_of(R"({"jsonrpc":"2.0","id":2,)" + refused));
  co_await house.until_asked(3);
  REQUIRE(house.filter(2, "resourceSubscriptions") == R"(["test://good"])");
  house.acknowledge(3, R"({"resourceSubscriptions":["test://good"]})");
  co_await house.until_decided(2);
  REQUIRE(house.verdicts ==
          std::vector<std::string>{"test://bad upstream.not_subscribed", "test://good"});
  co_await house.finish();
}

TEST_CASE("a server that refuses a whole filter for one resource is asked for each alone") {
  test::on_shard(one_by_one_body);
}

Task<void> unanswered_body(runtime::Shard& shard) {
  House house(shard);
  house.patience = Milliseconds(20);
  house.listen(R"({"resources":{"subscribe":true}})");
  house.begin_watch("test://a");
  co_await house.until_asked(1);
  co_await house.until_decided(1);
  REQUIRE(house.verdicts[0] == "test://a upstream.timeout");
  house.patience = Milliseconds(60'000);
  house.begin_watch("test://b");
  co_await house.finish();
  REQUIRE(house.verdicts[1] == "test://b upstream.stopped");
}

TEST_CASE("whoever waits for an acknowledgement is answered at its deadline, and at the end") {
  test::on_shard(unanswered_body);
}

TEST_CASE("a cancelled notification names the subscription it ends") {
  CHECK(Listener::cancelled_by(notification("notifications/cancelled", R"({"requestId":4})")) == 4);
  CHECK_FALSE(
      Listener::cancelled_by(notification("notifications/cancelled", R"({"requestId":"x"})")));
  CHECK_FALSE(Listener::cancelled_by(notification(kTools, R"({"requestId":4})")));
}

}  // namespace
}  // namespace mcpx::upstream
