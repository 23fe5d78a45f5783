// What a server says during a call: what of it reaches the caller, and what it does to the
// deadline.
#include "upstream/relay.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "unit/runtime/on_shard.hpp"
#include "upstream/link.hpp"

namespace mcpx::upstream {
namespace {

using mcp::Revision;

struct Recorder final : call::NotificationSink {
  void notify(std::string json) override { got.push_back(std::move(json)); }
  std::vector<std::string> got;

  // The numbers of the progress notifications, as written.
  std::vector<std::string> numbers() const {
    std::vector<std::string> out;
    for (const std::string& json : got)
      out.emplace_back(json::find(json, "params", "progress").value_or("none"));
    return out;
  }
};

// A call of a caller that asked for progress, and time that passes only when told.
struct Scene {
  explicit Scene(std::string_view token = "\"mine\"") {
    call.caller.revision = Revision::r2025_11_25;
    call.caller.progress_token = token;
    call.caller.sink = sink;
  }
  Forward forward() const {
    return {call,   now + Milliseconds(100), Milliseconds(100), now + Milliseconds(250), nullptr,
            nullptr};
  }
  static std::string progress(const std::string& number) {
    return R"({"progressToken":1,"progress":)" + number + "}";
  }

  std::shared_ptr<Recorder> sink = std::make_shared<Recorder>();
  call::Call call;
  TimePoint now = TimePoint(Milliseconds(5'000));
};

using Texts = std::vector<std::string>;

TEST_CASE("a call made a second time tells no progress that its caller has seen",
          "[req:progress-must-increase]") {
  const Scene scene;
  std::string told;
  Forward forward = scene.forward();
  forward.told = &told;
  {
    Relay first(forward);
    first.progress(Scene::progress("1"), scene.now);
    first.progress(Scene::progress("2"), scene.now);
    first.finish();
  }
  Relay second(forward);
  CHECK(second.progress(Scene::progress("1"), scene.now));  // a sign of life all the same
  CHECK(second.progress(Scene::progress("2"), scene.now));
  CHECK(second.progress(Scene::progress("3"), scene.now));
  CHECK(scene.sink->numbers() == Texts{"1", "2", "3"});
}

TEST_CASE("progress that does not increase is dropped; what passes keeps its bytes",
          "[req:progress-must-increase]") {
  const Scene scene;
  Relay relay(scene.forward());
  for (const std::string number : {"0", "0.0", "1.50", "15e-1", "1", "2", "\"3\"", "null",
                                   "9007199254740992", "9007199254740993", "1e400", "1e399"}) {
    relay.progress(Scene::progress(number), scene.now);
  }
  CHECK_FALSE(relay.progress("{}", scene.now));
  CHECK_FALSE(relay.progress(Scene::progress("2e400" + std::string(100, '0')), scene.now));
  CHECK(scene.sink->numbers() ==
        Texts{"0", "1.50", "2", "9007199254740992", "9007199254740993", "1e400"});
  REQUIRE_FALSE(scene.sink->got.empty());
  CHECK(json::find(scene.sink->got[0], "params", "progressToken") == "\"mine\"");
}

TEST_CASE("a server that counts down from the start is heard once") {
  const Scene scene;
  Relay relay(scene.forward());
  CHECK(relay.progress(Scene::progress("-1"), scene.now));
  CHECK_FALSE(relay.progress(Scene::progress("-2"), scene.now));
  CHECK(scene.sink->numbers() == Texts{"-1"});
}

TEST_CASE("a flood of progress passes in a burst, then so many a second, the last one always",
          "[req:progress-rate-limit]") {
  Scene scene;
  Relay relay(scene.forward());
  int number = 0;
  const auto flood = [&](int count) {
    for (int i = 0; i < count; ++i)
      relay.progress(Scene::progress(std::to_string(++number)), scene.now);
  };
  flood(1000);
  CHECK(scene.sink->got.size() == 32);
  scene.now += Milliseconds(500);
  flood(1000);
  CHECK(scene.sink->got.size() == 32 + 8);
  // What was held back is replaced by what comes when there is room again.
  scene.now += Milliseconds(63);
  flood(1);
  CHECK(scene.sink->numbers().back() == "2001");
  flood(10);
  CHECK(scene.sink->got.size() == 41);
  relay.finish();
  CHECK(scene.sink->got.size() == 42);
  CHECK(scene.sink->numbers().back() == "2011");
}

TEST_CASE("nothing is held back from a server that takes its time") {
  Scene scene;
  Relay relay(scene.forward());
  for (int i = 0; i < 100; ++i) {
    relay.progress(Scene::progress(std::to_string(i)), scene.now);
    scene.now += Milliseconds(70);
  }
  CHECK(scene.sink->got.size() == 100);
  relay.finish();
  CHECK(scene.sink->got.size() == 100);
}

TEST_CASE("progress moves the deadline on, up to the latest, whoever asked for it",
          "[req:lifecycle-timeouts-may-reset-on-progress]"
          "[req:lifecycle-timeouts-max-regardless-of-progress]"
          "[req:cancellation-max-timeout-despite-progress]") {
  for (const std::string_view token : {"7", ""}) {
    CAPTURE(token);
    Scene scene(token);
    const TimePoint start = scene.now;
    Relay relay(scene.forward());
    CHECK(relay.deadline() == start + Milliseconds(100));
    scene.now = start + Milliseconds(60);
    CHECK(relay.progress(Scene::progress("1"), scene.now));
    CHECK(relay.deadline() == start + Milliseconds(160));
    CHECK_FALSE(relay.progress(Scene::progress("1"), start + Milliseconds(100)));
    CHECK(relay.deadline() == start + Milliseconds(160));
    CHECK(relay.progress(Scene::progress("2"), start + Milliseconds(155)));
    CHECK(relay.deadline() == start + Milliseconds(250));
    CHECK(relay.progress(Scene::progress("3"), start + Milliseconds(300)));
    CHECK(relay.deadline() == start + Milliseconds(250));
    CHECK(scene.sink->got.size() == (token.empty() ? 0 : 3));
  }
}

TEST_CASE("a call without a bound stays without one") {
  Scene scene;
  Relay relay(Forward{scene.call, kNever, Milliseconds(604'800'000), kNever, nullptr, nullptr});
  CHECK(relay.progress(Scene::progress("1"), scene.now));
  CHECK(relay.deadline() == kNever);
}

TEST_CASE("after the answer or a cancel nothing is passed on",
          "[req:progress-stop-after-completion]") {
  for (const bool answered : {true, false}) {
    Scene scene;
    Relay relay(scene.forward());
    for (int i = 1; i <= 40; ++i)
      relay.progress(Scene::progress(std::to_string(i)), scene.now);
    answered ? relay.finish() : relay.close();
    const std::size_t then = answered ? 33 : 32;
    CHECK(scene.sink->got.size() == then);
    CHECK_FALSE(relay.progress(Scene::progress("99"), scene.now + Milliseconds(5000)));
    relay.log(R"({"level":"error","data":"x"})");
    relay.finish();
    CHECK(scene.sink->got.size() == then);
  }
}

TEST_CASE("log messages pass by the level of their caller") {
  Scene scene;
  scene.call.caller.log_level = "warning";
  Relay relay(scene.forward());
  relay.log(R"({"level":"info","data":1})");
  relay.log(R"({"level":"error","data":2})");
  REQUIRE(scene.sink->got.size() == 1);
  CHECK(json::find(scene.sink->got[0], "params", "data") == "2");
}

TEST_CASE("a server is told a level only when it falls") {
  AskedLevel level;
  CHECK_FALSE(level.lower_to(""));
  CHECK_FALSE(level.lower_to("loud"));
  CHECK(level.lower_to("emergency"));
  CHECK(level.lower_to("warning"));
  CHECK_FALSE(level.lower_to("warning"));
  CHECK_FALSE(level.lower_to("error"));
  CHECK(level.lower_to("debug"));
  CHECK_FALSE(level.lower_to("debug"));
}

}  // namespace
}  // namespace mcpx::upstream
