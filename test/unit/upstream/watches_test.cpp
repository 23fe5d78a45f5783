// Watches: what a server is told for how many who watch, over one link and the next.
#include "upstream/watches.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/waiter.hpp"
#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/servers.hpp"

namespace mcpx::upstream {
namespace {

// A legacy link that keeps what is asked and answers when it may.
class QuietLink final : public Link {
 public:
  explicit QuietLink(const char* capabilities = R"({"resources":{"subscribe":true}})") {
    facts_.revision = mcp::Revision::r2025_11_25;
    facts_.capabilities = capabilities;
  }
  Task<Reply> request(std::string_view method, std::string params, TimePoint, OnGiveUp) override {
    asked.push_back(std::string(method.substr(method.find('/') + 1)) + " " +
                    json::find_string(params, "uri").value_or("?"));
    while (held && alive_) {
      co_await released.wait();
    }
    if (!alive_) co_return Error("upstream.exited", "it ended");
    const std::string body = refusal.empty() ? R"("result":{})" : R"("error":)" + refusal;
    auto parsed =
        rpc::parse(PaddedBuffer(R"({"jsonrpc":"2.0","id":1,)" + body + "}"), json::Limits());
    REQUIRE(parsed.has_value());
    co_return std::move(*parsed);
  }
  void die() {
    alive_ = false;
    released.wake();
  }
  void release() {
    held = false;
    released.wake();
  }
  Task<Result<void>> notify(std::string_view, std::string) override { co_return Result<void>(); }
  Task<Reply> forward(const Forward&) override { co_return rpc::Message(); }
  void established(const mcp::ServerFacts&) override {}
  const mcp::ServerFacts& facts() const override { return facts_; }
  std::string_view client_info() const override { return "{}"; }
  bool alive() const override { return alive_; }
  std::size_t children() const override { return 0; }
  std::vector<std::string> stderr_tail() const override { return {}; }
  void hurry() override {}
  Task<void> stop(Milliseconds) override { co_return; }

  std::vector<std::string> asked;  // "subscribe test://a"
  std::string refusal;
  bool held = false;
  runtime::Waiter released;

 private:
  mcp::ServerFacts facts_;
  bool alive_ = true;
};

using Texts = std::vector<std::string>;

struct Scene {
  explicit Scene(runtime::Shard& shard_in)
      : shard(shard_in), tasks(shard_in), watches(shard_in, config, "owner", hooks()) {
    config.name = "files";
  }
  Watches::Hooks hooks() {
    Watches::Hooks hooks;
    hooks.acquire = [this](TimePoint) { return acquire(); };
    hooks.updated = [this](std::vector<ResourceUpdate> updates) {
      largest = std::max(largest, updates.size());
      for (const ResourceUpdate& update : updates)
        told.push_back(update.watched + (update.uri == update.watched ? "" : " " + update.uri));
      heard.wake();
    };
    hooks.emptied = [this] { ++emptied; };
    return hooks;
  }
  Task<LinkResult> acquire() {
    if (!link) co_return Error("upstream.spawn_failed", "there is no such program");
    std::shared_ptr<Link> up = link;
    co_return up;
  }
  Task<void> add(std::string uri) {
    call::Outcome outcome = co_await watches.add(std::move(uri), kNever);
    if (outcome.ok()) {
      answers.push_back("ok");
    } else {
      answers.push_back(std::string(outcome.error));
    }
    answered.wake();
  }
  void begin(const std::string& uri) { tasks.spawn("add", add(uri)); }
  Task<void> until_answered(std::size_t count) {
    while (answers.size() < count) {
      co_await answered.wait();
    }
  }
  Task<void> until_told(std::size_t count) {
    while (told.size() < count) {
      co_await heard.wait();
    }
  }
  Task<void> until(std::function<bool()> condition) {
    runtime::Timer timer(shard);
    while (!condition()) {
      const bool reached = co_await timer.sleep_for(Milliseconds(1));
      static_cast<void>(reached);
    }
  }
  Task<void> finish() {
    co_await tasks.join();
    co_await watches.stop();
  }

  runtime::Shard& shard;
  config::Server config;
  std::shared_ptr<QuietLink> link = std::make_shared<QuietLink>();
  Texts told, answers;
  std::size_t largest = 0;  // of what was told at once
  int emptied = 0;
  runtime::Waiter heard, answered;
  runtime::TaskGroup tasks;
  Watches watches;
};

Task<void> counted(runtime::Shard& shard) {
  Scene scene(shard);
  scene.begin("test://a");
  scene.begin("test://a");
  co_await scene.until_answered(2);
  scene.begin("test://a");
  co_await scene.until_answered(3);
  CHECK(scene.answers == Texts{"ok", "ok", "ok"});
  CHECK(scene.link->asked == Texts{"subscribe test://a"});
  scene.watches.remove("test://a");
  scene.watches.remove("test://a");
  CHECK(scene.link->asked.size() == 1);
  scene.watches.remove("test://a");
  const std::function<bool()> forgotten = [&scene] { return scene.watches.empty(); };
  co_await scene.until(forgotten);
  CHECK(scene.link->asked == Texts{"subscribe test://a", "unsubscribe test://a"});
  CHECK(scene.emptied == 1);
  scene.watches.remove("test://a");  // of nobody
  co_await scene.finish();
}

TEST_CASE("a server is subscribed to once for all who watch, and left by the last",
          "[req:resources-subscribe-rpc][req:resources-unsubscribe-follows-subscribe]") {
  test::on_shard(counted);
}

Task<void> in_order(runtime::Shard& shard) {
  Scene scene(shard);
  scene.begin("test://a");
  co_await scene.until_answered(1);
  scene.link->held = true;
  scene.watches.remove("test://a");
  const std::function<bool()> unsubscribing = [&scene] { return scene.link->asked.size() == 2; };
  co_await scene.until(unsubscribing);
  scene.begin("test://a");  // while the server has not answered the unsubscribe
  int looks = 0;
  const std::function<bool()> begun = [&looks] { return ++looks > 2; };
  co_await scene.until(begun);
  CHECK(scene.link->asked.size() == 2);
  scene.link->release();
  co_await scene.until_answered(2);
  CHECK(scene.answers[1] == "ok");
  CHECK(scene.link->asked ==
        Texts{"subscribe test://a", "unsubscribe test://a", "subscribe test://a"});
  co_await scene.finish();
}

TEST_CASE("no unsubscribe overtakes a subscribe") {
  test::on_shard(in_order);
}

Task<void> refused(runtime::Shard& shard) {
  Scene scene(shard);
  scene.link->refusal =
      R"({"code":-32002,"message":"Resource not found","data":{"uri":"test://a"}})";
  scene.begin("test://a");
  co_await scene.until_answered(1);
  CHECK(scene.answers[0] == scene.link->refusal);
  CHECK(scene.watches.empty());

  scene.link = std::make_shared<QuietLink>(R"({"resources":{}})");
  scene.begin("test://a");
  co_await scene.until_answered(2);
  CHECK(json::find_string(json::find(scene.answers[1], "data").value_or("{}"), "code") ==
        "upstream.no_subscriptions");
  CHECK(scene.link->asked.empty());

  scene.link = nullptr;
  scene.begin("test://a");
  co_await scene.until_answered(3);
  CHECK(json::find_string(json::find(scene.answers[2], "data").value_or("{}"), "code") ==
        "upstream.spawn_failed");
  CHECK(scene.watches.empty());
  co_await scene.finish();
}

TEST_CASE("whoever cannot watch is told why, by the server itself where it said so") {
  test::on_shard(refused);
}

Task<void> renewed(runtime::Shard& shard) {
  Scene scene(shard);
  scene.begin("test://a");
  scene.begin("test://b");
  scene.begin("test://gone");
  co_await scene.until_answered(3);
  scene.link->die();
  scene.watches.remove("test://gone");
  scene.link = std::make_shared<QuietLink>();
  co_await scene.watches.renew(scene.link, kNever);
  std::sort(scene.link->asked.begin(), scene.link->asked.end());
  CHECK(scene.link->asked == Texts{"subscribe test://a", "subscribe test://b"});
  co_await scene.until_told(2);
  std::sort(scene.told.begin(), scene.told.end());
  CHECK(scene.told == Texts{"test://a", "test://b"});
  // Nothing more is owed on this link.
  co_await scene.watches.renew(scene.link, kNever);
  CHECK(scene.link->asked.size() == 2);
  CHECK(scene.told.size() == 2);
  co_await scene.finish();
}

TEST_CASE("a new link is told of all that is watched, and everybody of what was missed") {
  test::on_shard(renewed);
}

Task<void> lost_while_asking(runtime::Shard& shard) {
  Scene scene(shard);
  const auto first = scene.link;
  first->held = true;
  scene.begin("test://a");
  const std::function<bool()> asked = [&first] { return !first->asked.empty(); };
  co_await scene.until(asked);
  scene.link = std::make_shared<QuietLink>();
  first->die();
  co_await scene.until_answered(1);
  CHECK(scene.answers == Texts{"ok"});
  CHECK(scene.link->asked == Texts{"subscribe test://a"});
  co_await scene.finish();
}

TEST_CASE("a link that is lost while it is asked costs another question, not an error") {
  test::on_shard(lost_while_asking);
}

Task<void> below(runtime::Shard& shard) {
  Scene scene(shard);
  for (const char* uri : {"file:///p", "file:///p/a.txt", "file:///q/", "test:x"})
    scene.begin(uri);
  co_await scene.until_answered(4);
  scene.watches.updated("file:///p/a.txt");
  co_await scene.until_told(2);
  scene.watches.updated("file:///pp");
  scene.watches.updated("file:///q/deep/er#part");
  scene.watches.updated("test:x?y");
  scene.watches.updated("unheard:of");
  co_await scene.until_told(4);
  std::sort(scene.told.begin(), scene.told.end());
  CHECK(scene.told == Texts{"file:///p file:///p/a.txt", "file:///p/a.txt",
                            "file:///q/ file:///q/deep/er#part", "test:x test:x?y"});
  co_await scene.finish();
}

TEST_CASE("who watches a resource hears of those below it, and of no neighbour",
          "[req:resources-updated-may-be-subresource]") {
  test::on_shard(below);
}

Task<void> coalesced(runtime::Shard& shard) {
  Scene scene(shard);
  scene.begin("test://a");
  scene.begin("test://b");
  co_await scene.until_answered(2);
  scene.watches.updated("test://a");  // at once
  CHECK(scene.told == Texts{"test://a"});
  for (int i = 0; i < 1'000; ++i)
    scene.watches.updated("test://b");
  for (int i = 0; i < 3'000; ++i)
    scene.watches.updated("test://a/" + std::to_string(i));
  co_await scene.until_told(1'000);
  // Where this takes longer than updates are held back for, they are passed on several times.
  CHECK(scene.largest <= 1'026);
  CHECK(scene.told.size() < 4'000);
  CHECK(std::count(scene.told.begin(), scene.told.end(), "test://b") < 1'000);
  co_await scene.finish();
}

TEST_CASE("updates that come faster than they are passed on are told once, and boundedly many") {
  test::on_shard(coalesced);
}

}  // namespace
}  // namespace mcpx::upstream
