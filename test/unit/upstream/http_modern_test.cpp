// A modern server over HTTP: what its requests carry, how it is listened to, how a call is given
// up.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "mcp/error_codes.hpp"
#include "runtime/mailbox.hpp"
#include "unit/runtime/on_shard.hpp"
#include "unit/upstream/scripted_http.hpp"

namespace mcpx::upstream {
namespace {

using scripted::code_of;
using scripted::Seen;
using scripted::Talk;

constexpr const char* kAnnotated = R"({"name":"sql","inputSchema":{"type":"object","properties":)"
                                   R"({"region":{"type":"string","x-mcp-header":"Region"}}}})";

// A modern server: it lists `tools` and answers calls; what a test sets differs.
struct Modern {
  using Serve = scripted::ScriptedServer::Serve;
  std::string capabilities = R"({"tools":{}})";
  std::string tools = kAnnotated;
  std::string ttl = "3600000";
  Serve call, listen, discover;

  Task<void> serve(const Seen& seen, Talk& talk) {
    const Serve& special = seen.method == "tools/call"             ? call
                           : seen.method == "subscriptions/listen" ? listen
                                                                   : discover;
    const bool usual = !special || (&special == &discover && seen.method != "server/discover");
    if (usual) {
      co_await answer(seen, talk);
    } else {
      Task<void> served = special(seen, talk);
      co_await std::move(served);
    }
  }
  Task<void> answer(const Seen& seen, Talk& talk) {
    if (seen.method == "server/discover") {
      co_await talk.result(seen, R"({"supportedVersions":["2026-07-28"],"capabilities":)" +
                                     capabilities + R"(,"resultType":"complete","ttlMs":0})");
    } else if (seen.method == "tools/list") {
      co_await talk.result(seen, R"({"tools":[)" + tools +
                                     R"(],"resultType":"complete","cacheScope":"public","ttlMs":)" +
                                     ttl + "}");
    } else {
      co_await talk.result(seen, R"({"content":[],"resultType":"complete"})");
    }
  }
  Serve serving() {
    return [this](const Seen& seen, Talk& talk) { return serve(seen, talk); };
  }
};

struct Scene {
  explicit Scene(runtime::Shard& shard)
      : http(shard, modern.serving()),
        house(shard, http.url()),
        server(shard, house.config, house.environment) {}
  Task<void> end() {
    co_await server.stop(Clock::now() + Milliseconds(5000));
    co_await http.stop();
  }
  Modern modern;
  scripted::ScriptedServer http;
  scripted::House house;
  Server server;
};

Task<void> error_answer(const Seen& seen, Talk& talk, int code) {
  std::string body;
  rpc::append_error(body, seen.id, rpc::error_object(code, "scripted"));
  co_await talk.respond(400, "application/json", std::move(body));
}

// --- What requests carry

Task<void> fields_body(runtime::Shard& shard) {
  Scene scene(shard);
  Result<void> listed = co_await scene.server.refresh();
  REQUIRE(listed.has_value());
  const call::Call call =
      scripted::call_of(shard, R"({"name":"sql","arguments":{"region":" eu ","q":"x"}})");
  const call::Outcome outcome = co_await scene.server.call(call);
  REQUIRE(outcome.ok());
  const Seen& seen = scene.http.last("tools/call");
  REQUIRE(seen.mcp_name == "sql");
  REQUIRE(seen.fields.find("Mcp-Param-Region") == "=?base64?IGV1IA==?=");
  REQUIRE(seen.fields.count("Mcp-Param-Region") == 1);
  for (const Seen& one : scene.http.seen) {
    REQUIRE(one.http == "POST");
    REQUIRE(one.version == "2026-07-28");
    REQUIRE(one.mcp_method == one.method);
    REQUIRE(one.session.empty());
  }
  co_await scene.end();
}

TEST_CASE("a call of a modern server repeats its annotated arguments in header fields",
          "[req:streamable-http-client-sends-metadata-headers]"
          "[req:streamable-http-protocol-version-header-every-post]"
          "[req:streamable-http-x-mcp-header-client-must-mirror]") {
  test::on_shard(fields_body);
}

// --- Fields that do not fit any more

constexpr const char* kPlain = R"({"name":"sql","inputSchema":{"type":"object"}})";

// Refuses a call without the field, as a server does whose schema asks for it.
Modern::Serve demanding(Modern& modern) {
  return [&modern](const Seen& seen, Talk& talk) {
    if (seen.fields.count("Mcp-Param-Region") == 0) {
      return error_answer(seen, talk, mcp::kHeaderMismatch);
    }
    return modern.answer(seen, talk);
  };
}

Task<void> make_call(Scene& scene, runtime::Shard& shard, int& good, int& refused) {
  const call::Call call = scripted::call_of(shard, R"({"name":"sql","arguments":{"region":"eu"}})");
  const call::Outcome outcome = co_await scene.server.call(call);
  const auto code = json::find(outcome.error, "code");
  if (outcome.ok()) ++good;
  if (code && json::as_integer(*code) == mcp::kHeaderMismatch) ++refused;
}

Task<void> mismatch_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.modern.tools = kPlain;
  Result<void> listed = co_await scene.server.refresh();
  REQUIRE(listed.has_value());
  scene.modern.tools = kAnnotated;
  scene.modern.call = demanding(scene.modern);
  int good = 0, refused = 0;
  runtime::TaskGroup tasks(shard);
  for (int i = 0; i < 4; ++i)
    tasks.spawn("call", make_call(scene, shard, good, refused));
  co_await tasks.join();
  REQUIRE(good == 4);
  REQUIRE(scene.http.count("tools/list") == 2);  // one for all
  REQUIRE(scene.http.count("tools/call") == 8);
  co_await scene.end();
}

TEST_CASE("calls whose header fields are refused have the tools read again, and are made once more",
          "[req:streamable-http-client-relist-on-header-mismatch]") {
  test::on_shard(mismatch_body);
}

Task<void> stubborn_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.modern.tools = kPlain;
  scene.modern.call = demanding(scene.modern);
  int good = 0, refused = 0;
  co_await make_call(scene, shard, good, refused);
  co_await make_call(scene, shard, good, refused);
  REQUIRE(refused == 2);
  // Once more for each at the most, and no list for the second, which came right after.
  REQUIRE(scene.http.count("tools/call") <= 4);
  REQUIRE(scene.http.count("tools/list") <= 2);
  co_await scene.end();
}

TEST_CASE("a server that refuses the fields for ever is not asked for ever") {
  test::on_shard(stubborn_body);
}

// --- A version that is not spoken any more

Task<void> version_body(runtime::Shard& shard) {
  Scene scene(shard);
  int refused = 0;
  scene.modern.call = [&](const Seen& seen, Talk& talk) {
    if (refused++ == 0) return error_answer(seen, talk, mcp::kUnsupportedProtocolVersion);
    return scene.modern.answer(seen, talk);
  };
  const call::Call call = scripted::call_of(shard, R"({"name":"sql"})");
  const call::Outcome outcome = co_await scene.server.call(call);
  REQUIRE(outcome.ok());
  REQUIRE(scene.http.count("server/discover") == 2);
  REQUIRE(scene.http.count("tools/call") == 2);
  co_await scene.end();
}

TEST_CASE("a modern server that refuses its version is asked anew, and the call is made once more",
          "[req:versioning-era-cache]") {
  test::on_shard(version_body);
}

// --- Listening

const std::string kListens = R"({"tools":{"listChanged":true}})";

std::string event(std::string_view method, std::string_view id, std::string_view rest = "") {
  std::string text;
  rpc::append_notification(text, method,
                           R"({"_meta":{")" + std::string(mcp::kMetaSubscriptionId) +
                               "\":" + std::string(id) + "}" + std::string(rest) + "}");
  return "data: " + text + "\n\n";
}
std::string agreement(std::string_view id) {
  return event("notifications/subscriptions/acknowledged", id,
               R"(,"notifications":{"toolsListChanged":true})");
}

// Serves each subscription from a box of its own.
struct Subscriptions {
  Task<void> serve(const Seen& seen, Talk& talk) {
    boxes.push_back(std::make_unique<runtime::Mailbox<std::string>>(64));
    ids.push_back(seen.id);
    boxes.back()->push(agreement(seen.id));
    co_await talk.begin_stream();
    co_await talk.stream_from(*boxes.back());
  }
  std::vector<std::unique_ptr<runtime::Mailbox<std::string>>> boxes;
  std::vector<std::string> ids;
};

Task<void> listen_body(runtime::Shard& shard) {
  Scene scene(shard);
  Subscriptions subscriptions;
  scene.modern.capabilities = kListens;
  scene.modern.listen = [&](const Seen& seen, Talk& talk) {
    return subscriptions.serve(seen, talk);
  };
  Result<void> listed = co_await scene.server.refresh();
  REQUIRE(listed.has_value());
  co_await scene.http.until("subscriptions/listen", 1);
  const Seen& asked = scene.http.last("subscriptions/listen");
  REQUIRE(asked.mcp_method == "subscriptions/listen");
  REQUIRE(json::find(asked.params, "notifications") == R"({"toolsListChanged":true})");

  subscriptions.boxes[0]->push(event("notifications/tools/list_changed", subscriptions.ids[0]));
  co_await scene.http.until("tools/list", 2);
  // The stream ends: another is opened, and the list is read again.
  subscriptions.boxes[0]->close();
  co_await scene.http.until("subscriptions/listen", 2);
  co_await scene.http.until("tools/list", 3);
  REQUIRE(scene.http.last("subscriptions/listen").id != subscriptions.ids[0]);
  // The server cancels it instead of answering.
  std::string cancelled;
  rpc::append_notification(cancelled, "notifications/cancelled",
                           R"({"requestId":)" + subscriptions.ids[1] + "}");
  subscriptions.boxes[1]->push("data: " + cancelled + "\n\n");
  co_await scene.http.until("subscriptions/listen", 3);
  for (const auto& box : subscriptions.boxes)
    box->close();
  co_await scene.end();
}

TEST_CASE("a modern server is listened to, and again when the stream ended",
          "[req:subscriptions-client-reconnect-on-drop]") {
  test::on_shard(listen_body);
}

// --- Staleness

Task<void> until_stale(Scene& scene, runtime::Shard& shard) {
  runtime::Timer timer(shard);
  while (!scene.server.stale(mcp::ListKind::tools, Clock::now())) {
    const bool reached = co_await timer.sleep_for(Milliseconds(5));
    static_cast<void>(reached);
  }
}

Task<void> renew(Scene& scene, int& read) {
  const TimePoint deadline = Clock::now() + Milliseconds(30'000);
  const bool done = co_await scene.server.renew(mcp::ListKind::tools, deadline);
  if (done) ++read;
}

Task<void> stale_body(runtime::Shard& shard) {
  Scene scene(shard);
  scene.modern.ttl = "0";
  Result<void> listed = co_await scene.server.refresh();
  REQUIRE(listed.has_value());
  int read = 0;
  co_await renew(scene, read);  // read a moment ago: good enough
  REQUIRE(scene.http.count("tools/list") == 1);
  co_await until_stale(scene, shard);
  scene.modern.ttl = "3600000";
  runtime::TaskGroup tasks(shard);
  for (int i = 0; i < 3; ++i)
    tasks.spawn("renew", renew(scene, read));
  co_await tasks.join();
  REQUIRE(read == 4);
  REQUIRE(scene.http.count("tools/list") == 2);
  REQUIRE_FALSE(scene.server.stale(mcp::ListKind::tools, Clock::now() + Milliseconds(3'000'000)));
  REQUIRE(scene.server.stale(mcp::ListKind::tools, Clock::now() + Milliseconds(4'000'000)));
  REQUIRE(scene.http.count("prompts/list") == 0);
  co_await scene.end();
}

TEST_CASE("a list that is stale by its ttlMs is read once for all who want it",
          "[req:caching-stale-refetch]") {
  test::on_shard(stale_body);
}

Task<void> covered_body(runtime::Shard& shard) {
  Scene scene(shard);
  Subscriptions subscriptions;
  scene.modern.ttl = "0";
  scene.modern.capabilities = kListens;
  scene.modern.listen = [&](const Seen& seen, Talk& talk) {
    return subscriptions.serve(seen, talk);
  };
  Result<void> listed = co_await scene.server.refresh();
  REQUIRE(listed.has_value());
  co_await scene.http.until("subscriptions/listen", 1);
  // The agreement is on its way; from then on only the server says when the list is stale.
  runtime::Timer timer(shard);
  while (scene.server.stale(mcp::ListKind::tools, Clock::now() + Milliseconds(3'600'000))) {
    const bool reached = co_await timer.sleep_for(Milliseconds(1));
    static_cast<void>(reached);
  }
  subscriptions.boxes[0]->close();
  co_await until_stale(scene, shard);
  co_await scene.http.until("subscriptions/listen", 2);
  for (const auto& box : subscriptions.boxes)
    box->close();
  co_await scene.end();
}

TEST_CASE("a list whose changes the server has agreed to announce is fresh until it does",
          "[req:caching-notification-invalidates]") {
  test::on_shard(covered_body);
}

// --- Results

Task<void> type_body(runtime::Shard& shard) {
  Scene scene(shard);
  std::string raw;
  scene.modern.call = [&raw](const Seen& seen, Talk& talk) { return talk.result(seen, raw); };
  const call::Call call = scripted::call_of(shard, R"({"name":"sql"})");
  raw = R"({"content":[],"resultType":"partial"})";
  call::Outcome outcome = co_await scene.server.call(call);
  REQUIRE(code_of(outcome) == "upstream.bad_frame");
  raw = R"({"content":[]})";
  outcome = co_await scene.server.call(call);
  REQUIRE(outcome.ok());
  co_await scene.end();
}

TEST_CASE("a result of a type that nobody knows is no result; without a type it is complete",
          "[req:messages-resulttype-unknown-invalid]"
          "[req:messages-resulttype-absent-means-complete]") {
  test::on_shard(type_body);
}

// --- Giving up

Task<void> hang(Talk& talk, bool& gone) {
  co_await talk.until_gone();
  gone = true;
}

Task<void> stream_and_hang(Talk& talk, bool& gone) {
  co_await talk.begin_stream();
  co_await talk.event(": working\n\n");
  co_await hang(talk, gone);
}

Task<void> cancel_after(Scene& scene, runtime::CancelSource& cancel, std::size_t calls) {
  co_await scene.http.until("tools/call", calls);
  cancel.cancel("enough");
}

Task<void> cancel_body(runtime::Shard& shard) {
  Scene scene(shard);
  std::size_t calls = 0;
  for (const bool streams : {false, true}) {
    bool gone = false;
    scene.modern.call = [&gone, streams](const Seen&, Talk& talk) {
      return streams ? stream_and_hang(talk, gone) : hang(talk, gone);
    };
    runtime::CancelSource cancel;
    call::Call call = scripted::call_of(shard, R"({"name":"sql"})");
    call.caller.cancel = &cancel;
    runtime::TaskGroup tasks(shard);
    tasks.spawn("cancel", cancel_after(scene, cancel, ++calls));
    const call::Outcome outcome = co_await scene.server.call(call);
    REQUIRE(code_of(outcome) == "request.cancelled");
    co_await tasks.join();
    runtime::Timer timer(shard);
    while (!gone) {
      const bool reached = co_await timer.sleep_for(Milliseconds(1));
      static_cast<void>(reached);
    }
  }
  REQUIRE(scene.http.count("notifications/cancelled") == 0);
  REQUIRE(scene.http.count("tools/call") == 2);
  scene.modern.call = nullptr;
  const call::Call call = scripted::call_of(shard, R"({"name":"sql"})");
  const call::Outcome outcome = co_await scene.server.call(call);
  REQUIRE(outcome.ok());
  co_await scene.end();
}

TEST_CASE("C23: closing the stream is how a call of a modern server is cancelled, and all it takes",
          "[req:streamable-http-no-resumability]") {
  test::on_shard(cancel_body);
}

}  // namespace
}  // namespace mcpx::upstream
