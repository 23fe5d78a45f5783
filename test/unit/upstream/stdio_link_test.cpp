// StdioLink over a child in shell that keeps every line it gets: what a call puts on the wire, what
// comes back while it runs, and that a call which was given up leaves the connection as it was.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "json/json.hpp"
#include "mcp/self.hpp"
#include "unit/runtime/on_shard.hpp"
#include "upstream/link.hpp"

namespace mcpx::upstream {
namespace {

// Tools by name: `echo` answers; `hold` says it began and never answers; `release` answers what was
// held, then itself; `count` reports 1 2 2 1 3 and answers; `flood` reports 1 to 40; `say` logs;
// `ask` pings 20,000 times before it reads on; `tally` says how many pings were answered.
constexpr const char* kScript = R"sh(
notify() { echo '{"jsonrpc":"2.0","method":"notifications/'$1'","params":{'$2'}}'; }
answer() { echo '{"jsonrpc":"2.0","id":'$1',"result":'$2'}'; }
pongs=0
while IFS= read -r line; do
  case $line in *'"result":{}}') pongs=$((pongs+1)); continue ;; esac
  printf '%s\n' "$line" >> "$SEEN"
  id=${line#*\"id\":}; id=${id%%,*}
  token=${line##*\"progressToken\":}; token=${token%%\}*}
  case $line in
    *ignored*) ;;
    *'"notifications/'*) ;;
    *'"initialize"'*) answer $id '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"server/discover"'*) answer $id '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"hold"'*) held=$id; notify progress '"progressToken":'$token',"progress":1' ;;
    *'"release"'*) answer $held '{"late":true}'; answer $id '{"released":true}' ;;
    *'"count"'*) for n in 1 2 2 1 3; do notify progress '"progressToken":'$token',"progress":'$n; done; answer $id '{}' ;;
    *'"flood"'*) n=0; while [ $n -lt 40 ]; do n=$((n+1)); notify progress '"progressToken":'$token',"progress":'$n; done; answer $id '{}' ;;
    *'"ask"'*) n=0; while [ $n -lt 20000 ]; do n=$((n+1)); echo '{"jsonrpc":"2.0","id":'$n',"method":"ping"}'; done; answer $id '{}' ;;
    *'"tally"'*) answer $id '{"pongs":'$pongs'}' ;;
    *'"say"'*) notify message '"level":"info","data":1'; notify message '"level":"error","data":2'; answer $id '{}' ;;
    *) answer $id '{}' ;;
  esac
done
)sh";

struct Recorder final : call::NotificationSink {
  void notify(std::string json) override {
    got.push_back(std::move(json));
    if (on_notify) on_notify();
  }
  std::vector<std::string> got;
  std::function<void()> on_notify;
};

// One child and the link to it.
class House {
 public:
  explicit House(runtime::Shard& shard) : shard_(shard) {
    std::string pattern = (std::filesystem::temp_directory_path() / "mcpx-link-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    config.name = "odd";
    config.command = "/bin/sh";
    config.args = {"-c", kScript};
    config.env = {{"SEEN", (directory_ / "seen").string()}};
    environment.supervisor = MCPX_SUPERVISOR;
    environment.client_info = mcp::kSelf;
    environment.shards = {&shard};
  }
  ~House() { std::filesystem::remove_all(directory_); }
  House(const House&) = delete;
  House& operator=(const House&) = delete;

  Task<void> open(mcp::Protocol protocol) {
    LinkEvents events;
    events.list_changed = [](mcp::ListKind) {};
    events.lost = [](const Error&) {};
    events.asked = [] {};
    events.remark = [](const std::string&) {};
    LinkContext context{shard_, config, environment, std::move(events)};
    Result<std::shared_ptr<Link>> opened = co_await open_stdio_link(std::move(context));
    REQUIRE(opened.has_value());
    link = *opened;
    mcp::Handshake::Options options;
    options.protocol = protocol;
    options.client_info = mcp::kSelf;
    const TimePoint soon = deadline();
    Result<mcp::ServerFacts> facts =
        co_await shake_hands(*link, std::move(options), Milliseconds(10'000), soon);
    REQUIRE(facts.has_value());
    link->established(*facts);
  }

  call::Call call(std::string_view params) const {
    call::Call call;
    call.method = mcp::Method::tools_call;
    call.method_name = "tools/call";
    call.params = params;
    call.caller.revision = mcp::Revision::r2025_11_25;
    call.caller.shard = &shard_;
    call.caller.sink = sink;
    return call;
  }
  static TimePoint deadline() { return Clock::now() + Milliseconds(10'000); }
  static Forward forward(const call::Call& call, runtime::CancelSource* cancel = nullptr) {
    return {call, deadline(), Milliseconds(10'000), deadline(), cancel, nullptr};
  }

  // The lines that reached the server and hold `what`. What was sent before an answered call is
  // among them.
  std::vector<std::string> seen(const std::string& what) const {
    std::vector<std::string> out;
    std::ifstream file(directory_ / "seen");
    for (std::string line; std::getline(file, line);)
      if (line.find(what) != std::string::npos) out.push_back(line);
    return out;
  }

  config::Server config;
  Environment environment;
  std::shared_ptr<Link> link;
  std::shared_ptr<Recorder> sink = std::make_shared<Recorder>();

 private:
  runtime::Shard& shard_;
  std::filesystem::path directory_;
};

Task<void> unread_body(runtime::Shard& shard) {
  House house(shard);
  co_await house.open(mcp::Protocol::legacy);
  const call::Call ask = house.call(R"({"name":"ask","arguments":{}})");
  const Forward asking = House::forward(ask);
  Reply reply = co_await house.link->forward(asking);
  REQUIRE(reply.has_value());
  const call::Call tally = house.call(R"({"name":"tally","arguments":{}})");
  const Forward counting = House::forward(tally);
  reply = co_await house.link->forward(counting);
  REQUIRE(reply.has_value());
  const auto pongs = json::find(reply->result, "pongs");
  REQUIRE(pongs.has_value());
  CHECK(json::as_integer(*pongs) > 0);
  CHECK(json::as_integer(*pongs) < 20'000);
  co_await house.link->stop(Milliseconds(1'000));
}

TEST_CASE("a child that asks without end and reads nothing gets no answers without end") {
  test::on_shard(unread_body);
}

constexpr std::string_view kHold = R"({"name":"hold","arguments":{}})";
constexpr std::string_view kRelease = R"({"name":"release","arguments":{}})";

// The call after one that was given up: the late answer comes first, and is ignored.
Task<void> still_usable(House& house) {
  const call::Call next = house.call(kRelease);
  const Forward forward = House::forward(next);
  Reply reply = co_await house.link->forward(forward);
  REQUIRE(reply.has_value());
  REQUIRE(reply->result == R"({"released":true})");
  REQUIRE(house.link->alive());
}

Task<void> cancelled(runtime::Shard& shard, mcp::Protocol protocol) {
  House house(shard);
  co_await house.open(protocol);
  runtime::CancelSource cancel;
  house.sink->on_notify = [&cancel] { cancel.cancel("no longer wanted"); };
  call::Call call = house.call(kHold);
  call.caller.progress_token = "\"p\"";
  const Forward forward = House::forward(call, &cancel);
  Reply reply = co_await house.link->forward(forward);
  REQUIRE(reply.error().code == "request.cancelled");
  co_await still_usable(house);
  const auto told = house.seen("notifications/cancelled");
  REQUIRE(told.size() == 1);
  const auto asked = house.seen("\"hold\"");
  REQUIRE(asked.size() == 1);
  REQUIRE(json::find(told[0], "params", "requestId") == json::find(asked[0], "id"));
  REQUIRE(json::find(told[0], "params", "reason") == "\"no longer wanted\"");
  co_await house.link->stop(Milliseconds(100));
}
Task<void> cancelled_legacy(runtime::Shard& shard) {
  return cancelled(shard, mcp::Protocol::legacy);
}
Task<void> cancelled_modern(runtime::Shard& shard) {
  return cancelled(shard, mcp::Protocol::modern);
}

TEST_CASE("C23: a cancelled call is told to a legacy server, and its late answer is ignored",
          "[req:cancellation-sender-ignore-late-response]"
          "[req:cancellation-ref-same-direction-in-progress][req:cancellation-handle-races]") {
  test::on_shard(cancelled_legacy);
}

TEST_CASE("C23: a cancelled call is told to a modern stdio server, and its late answer is ignored",
          "[req:stdio-client-cancel-by-notification][req:cancellation-stdio-client-must-send]"
          "[req:cancellation-ref-client-issued-in-progress]"
          "[req:cancellation-client-ignore-late-response][req:cancellation-client-should-send]") {
  test::on_shard(cancelled_modern);
}

Task<void> timed_out(runtime::Shard& shard) {
  House house(shard);
  co_await house.open(mcp::Protocol::legacy);
  const call::Call call = house.call(kHold);
  Forward forward = House::forward(call);
  forward.deadline = forward.latest = Clock::now() + Milliseconds(20);
  Reply reply = co_await house.link->forward(forward);
  REQUIRE(reply.error().code == "upstream.timeout");
  co_await still_usable(house);
  REQUIRE(house.seen("notifications/cancelled").size() == 1);
  co_await house.link->stop(Milliseconds(100));
}

TEST_CASE("C23: a call that timed out is cancelled, and the connection stays usable",
          "[req:lifecycle-timeouts-cancel-on-expiry][req:cancellation-timeout-then-cancel]"
          "[req:cancellation-timeouts-establish]") {
  test::on_shard(timed_out);
}

Task<void> initialize_body(runtime::Shard& shard) {
  House house(shard);
  co_await house.open(mcp::Protocol::legacy);
  const TimePoint soon = Clock::now() + Milliseconds(20);
  Reply reply =
      co_await house.link->request("initialize", R"({"ignored":1})", soon, OnGiveUp::forget);
  REQUIRE(reply.error().code == "upstream.timeout");
  const call::Call echo = house.call(R"({"name":"echo"})");
  const Forward forward = House::forward(echo);
  Reply next = co_await house.link->forward(forward);
  REQUIRE(next.has_value());
  REQUIRE(house.seen("notifications/cancelled").empty());
  co_await house.link->stop(Milliseconds(100));
}

TEST_CASE("initialize is never cancelled, also when it times out",
          "[req:cancellation-client-must-not-cancel-initialize]"
          "[req:lifecycle-cancel-not-initialize]") {
  test::on_shard(initialize_body);
}

Task<void> progress_body(runtime::Shard& shard) {
  House house(shard);
  co_await house.open(mcp::Protocol::legacy);
  call::Call call = house.call(R"({"name":"count","arguments":{}})");
  call.caller.progress_token = "\"p\"";
  const Forward counting = House::forward(call);
  Reply reply = co_await house.link->forward(counting);
  REQUIRE(reply.has_value());
  REQUIRE(house.sink->got.size() == 3);
  const auto last = json::find(house.sink->got[2], "params").value();
  REQUIRE(json::find(last, "progressToken") == "\"p\"");
  REQUIRE(json::find(last, "progress") == "3");

  // One that did not ask gets none, but the server is asked all the same: for the deadline.
  const call::Call silent = house.call(R"({"name":"count","arguments":{"n":1}})");
  const Forward again = House::forward(silent);
  reply = co_await house.link->forward(again);
  REQUIRE(reply.has_value());
  REQUIRE(house.sink->got.size() == 3);
  const auto asked = house.seen("\"count\"");
  REQUIRE(asked.size() == 2);
  for (const std::string& line : asked)
    REQUIRE(json::find(line, "params", "_meta", "progressToken") == json::find(line, "id"));
  co_await house.link->stop(Milliseconds(100));
}

TEST_CASE("progress comes back under the caller's token while it increases",
          "[req:progress-token-unique-sender][req:progress-track-tokens]") {
  test::on_shard(progress_body);
}

Task<void> flood_body(runtime::Shard& shard) {
  House house(shard);
  co_await house.open(mcp::Protocol::modern);
  call::Call call = house.call(R"({"name":"flood","arguments":{}})");
  call.caller.progress_token = "1";
  const Forward forward = House::forward(call);
  Reply reply = co_await house.link->forward(forward);
  REQUIRE(reply.has_value());
  // However fast they came: the last one is there before the answer.
  REQUIRE(house.sink->got.size() >= 33);
  REQUIRE(json::find(house.sink->got.back(), "params", "progress") == "40");
  co_await house.link->stop(Milliseconds(100));
}

TEST_CASE("the last progress of a flood is there before the answer",
          "[req:progress-token-unique-client]") {
  test::on_shard(flood_body);
}

Task<Reply> say(House& house, std::string_view level) {
  call::Call call = house.call(R"({"name":"say","arguments":{}})");
  call.caller.log_level = level;
  const Forward forward = House::forward(call);
  Reply reply = co_await house.link->forward(forward);
  co_return reply;
}

Task<void> levels_body(runtime::Shard& shard) {
  House house(shard);
  co_await house.open(mcp::Protocol::legacy);
  for (const std::string_view level : {"", "error", "warning", "error", ""}) {
    Reply reply = co_await say(house, level);
    REQUIRE(reply.has_value());
  }
  const auto told = house.seen("logging/setLevel");
  REQUIRE(told.size() == 2);
  REQUIRE(json::find(told[0], "params", "level") == "\"error\"");
  REQUIRE(json::find(told[1], "params", "level") == "\"warning\"");
  // Before the call that wants it.
  const auto lines = house.seen("\"params\"");
  REQUIRE(json::find(lines[1], "method") == "\"tools/call\"");
  REQUIRE(json::find(lines[2], "method") == "\"logging/setLevel\"");
  REQUIRE(json::find(lines[3], "method") == "\"tools/call\"");
  // Two each of those who set no level, the error alone of the others.
  REQUIRE(house.sink->got.size() == 2 + 1 + 1 + 1 + 2);
  co_await house.link->stop(Milliseconds(100));
}

TEST_CASE("a legacy server is told the least level that a caller asked for, once",
          "[req:logging-client-may-setlevel]") {
  test::on_shard(levels_body);
}

Task<void> modern_levels_body(runtime::Shard& shard) {
  House house(shard);
  co_await house.open(mcp::Protocol::modern);
  Reply reply = co_await say(house, "error");
  REQUIRE(reply.has_value());
  REQUIRE(house.seen("logging/setLevel").empty());
  const auto asked = house.seen("\"say\"");
  REQUIRE(asked.size() == 1);
  REQUIRE(json::find(asked[0], "params", "_meta", "io.modelcontextprotocol/logLevel") ==
          "\"error\"");
  REQUIRE(house.sink->got.size() == 1);
  co_await house.link->stop(Milliseconds(100));
}

TEST_CASE("a modern server is told the level with each request of a legacy session") {
  test::on_shard(modern_levels_body);
}

}  // namespace
}  // namespace mcpx::upstream
