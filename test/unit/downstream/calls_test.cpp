// Calls: what reaches the upstream, what comes back, what is told meanwhile, and cancellation.
#include <string>
#include <vector>

#include "unit/downstream/house.hpp"

namespace mcpx::test {
namespace {

using call::Outcome;

FieldList in_session(const std::string& id) {
  return with(kPlain, FieldList(1, {"Mcp-Session-Id", id}));
}

std::string call_body(const std::string& params, const std::string& id = "1") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"tools/call","params":)" + params + "}";
}

Task<void> routing(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string session = co_await house.open_session("2025-11-25");
  const FieldList fields = in_session(session);

  const std::string params = R"({"arguments":{"n":1.0},"name":"beta__echo","x":[ ]})";
  const auto tool = co_await house.send("POST", "/mcp", fields, call_body(params));
  CHECK(tool->body == R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text",)"
                      R"("text":"beta"}]}})");
  CHECK(script("beta").last_params == params);
  CHECK(script("beta").last_target == R"(name="echo")");
  CHECK(script("alpha").calls == 0);

  const auto completion =
      co_await house.send("POST", "/mcp", fields,
                          R"({"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{)"
                          R"("ref":{"type":"ref/prompt","name":"alpha__greet","more":1},)"
                          R"("argument":{"name":"a","value":""}}})");
  CHECK(completion->status == 200);
  CHECK(script("alpha").last_target == R"(ref={"type":"ref/prompt","name":"greet","more":1})");

  const auto read =
      co_await house.send("POST", "/mcp", fields,
                          R"({"jsonrpc":"2.0","id":3,"method":"resources/read","params":{)"
                          R"("uri":"mcpx://alpha/test://a/1"}})");
  CHECK(read->status == 200);
  CHECK(script("alpha").last_target == R"(uri="test://a/1")");

  const std::string own = co_await house.open_session("2025-11-25", "/mcp/alpha");
  const auto direct =
      co_await house.send("POST", "/mcp/alpha", in_session(own), call_body(R"({"name":"echo"})"));
  CHECK(direct->status == 200);
  CHECK(script("alpha").last_target == "=");  // nothing to replace: bytes pass as they came
  co_await house.close();
}

TEST_CASE("a call goes to its server under the name that one knows") {
  on_shard(routing);
}

const char* const kOddResult =
    R"({"content":[{"type":"text","text":"é\u00e9"},{"type":"mystery","n":1.0}],)"
    R"( "structuredContent":{"big":9007199254740993,"huge":1e400},"_meta":{"a":[ 1 ]}})";

Task<Outcome> odd_result(const call::Call&) {
  co_return Outcome::of_result(kOddResult, mcp::kLatestLegacy);
}

Task<Outcome> odd_error(const call::Call&) {
  co_return Outcome::of_error(R"({"code":-32050,"message":"m","data":{"k":[1.0]}})",
                              mcp::kLatestLegacy);
}

Task<void> fidelity(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  const std::string session = co_await house.open_session("2025-11-25");
  script("alpha").call = odd_result;
  const auto result = co_await house.send("POST", "/mcp", in_session(session),
                                          call_body(R"({"name":"alpha__echo"})"));
  CHECK(result->body == R"({"jsonrpc":"2.0","id":1,"result":)" + std::string(kOddResult) + "}");

  script("alpha").call = odd_error;
  const auto error = co_await house.send("POST", "/mcp", in_session(session),
                                         call_body(R"({"name":"alpha__echo"})"));
  CHECK(error->status == 200);
  CHECK(json::find(error->body, "error") == R"({"code":-32050,"message":"m","data":{"k":[1.0]}})");
  const auto modern =
      co_await house.send("POST", "/mcp", modern_fields("tools/call", "alpha__echo"),
                          modern_body("1", "tools/call", R"("name":"alpha__echo")"));
  CHECK(json::find(modern->body, "error") == R"({"code":-32050,"message":"m","data":{"k":[1.0]}})");
  co_await house.close();
}

TEST_CASE("C33, C36: what the server answers reaches the caller byte for byte") {
  on_shard(fidelity);
}

std::vector<std::string> seen_caller;

Task<Outcome> record_caller(const call::Call& call) {
  const call::Caller& caller = call.caller;
  seen_caller = {std::string(mcp::text(caller.revision)), std::string(caller.client_capabilities),
                 std::string(caller.progress_token), std::string(caller.log_level),
                 caller.sink ? "sink" : "none"};
  co_return Outcome::of_result("{}", mcp::kLatestLegacy);
}

Task<void> callers(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = record_caller;
  using Seen = std::vector<std::string>;

  const std::string session = co_await house.open_session("2025-06-18");
  const FieldList fields = in_session(session);
  const std::string with_token =
      call_body(R"({"name":"alpha__echo","_meta":{"progressToken":"p"}})");
  co_await house.send("POST", "/mcp", fields, with_token);
  CHECK(seen_caller == Seen{"2025-06-18", R"({"roots":{}})", R"("p")", "", "sink"});
  co_await house.send("POST", "/mcp", fields,
                      R"({"jsonrpc":"2.0","id":1,"method":"logging/setLevel",)"
                      R"("params":{"level":"error"}})");
  co_await house.send("POST", "/mcp", fields, with_token);
  CHECK(seen_caller == Seen{"2025-06-18", R"({"roots":{}})", R"("p")", "error", "sink"});

  const FieldList modern = modern_fields("tools/call", "alpha__echo");
  const std::string call = R"("name":"alpha__echo")";
  co_await house.send("POST", "/mcp", modern,
                      modern_body("1", "tools/call", call, R"({"sampling":{}})"));
  CHECK(seen_caller == Seen{"2026-07-28", R"({"sampling":{}})", "", "", "none"});

  FieldList json_only = with(fields, {});
  json_only[1].second = "application/json";
  co_await house.send("POST", "/mcp", json_only, with_token);
  CHECK(seen_caller.back() == "none");
  co_await house.close();
}

TEST_CASE("the caller is what its session or its request says",
          "[req:lifecycle-stateless-no-reliance-on-prior-requests]") {
  on_shard(callers);
}

std::shared_ptr<call::NotificationSink> kept_sink;

Task<Outcome> talkative(const call::Call& call) {
  kept_sink = call.caller.sink;
  for (int i = 1; i <= 3; ++i)
    call.caller.sink->notify("{\"n\":" + std::to_string(i) + "}");
  runtime::Timer timer(*call.caller.shard);
  co_await timer.sleep_for(Milliseconds(1));
  call.caller.sink->notify("{\"n\":4}");
  co_return Outcome::of_result("{}", mcp::kLatestLegacy);
}

Task<void> streaming(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = talkative;
  const std::string session = co_await house.open_session("2025-11-25");
  const auto exchange = co_await house.send("POST", "/mcp", in_session(session),
                                            call_body(R"({"name":"alpha__echo"})"));
  CHECK(exchange->content_type == "text/event-stream");
  CHECK(exchange->events == std::vector<std::string>{R"({"n":1})", R"({"n":2})", R"({"n":3})",
                                                     R"({"n":4})",
                                                     R"({"jsonrpc":"2.0","id":1,"result":{}})"});
  CHECK(exchange->ended);
  kept_sink->notify("late");  // the request is over: nothing happens
  kept_sink = nullptr;
  co_await house.close();
}

TEST_CASE("notifications come in order before the response, as events",
          "[req:streamable-http-server-json-or-sse-for-request]"
          "[req:streamable-http-server-terminates-sse-after-response]") {
  on_shard(streaming);
}

// Runs until the caller cancels.
Task<Outcome> until_cancelled(const call::Call& call) {
  auto cancelled = std::make_shared<runtime::OneShot<std::string>>();
  const auto subscription = call.caller.cancel->subscribe(
      [cancelled](const std::string& reason) { cancelled->set(reason); });
  const std::string reason = co_await cancelled->wait();
  seen_caller = {reason};
  co_return Outcome::of_error(R"({"code":-31011,"message":"cancelled"})", mcp::kLatestLegacy);
}

Task<void> cancellation(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = until_cancelled;
  const std::string session = co_await house.open_session("2025-11-25");
  const FieldList fields = in_session(session);
  FakeExchange legacy(shard, "POST", "/mcp", fields,
                      call_body(R"({"name":"alpha__echo"})", "\"x\""));
  house.tasks.spawn("call", house.serve(legacy));
  co_await house.pause();
  const auto other = co_await house.send(
      "POST", "/mcp", fields,
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"y"}})");
  CHECK(other->status == 202);
  legacy.gone().cancel("the connection broke");  // no cancellation before 2026-07-28
  co_await house.pause();
  CHECK(legacy.answers == 0);
  const auto note = co_await house.send("POST", "/mcp", fields,
                                        R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                                        R"("params":{"requestId":"x","reason":"enough"}})");
  CHECK(note->status == 202);
  co_await house.tasks.join();
  CHECK(seen_caller == std::vector<std::string>{"enough"});
  CHECK(legacy.events.empty());  // no response to a cancelled request
  CHECK(legacy.ended);

  FakeExchange modern(shard, "POST", "/mcp", modern_fields("tools/call", "alpha__echo"),
                      modern_body("1", "tools/call", R"("name":"alpha__echo")"));
  house.tasks.spawn("call", house.serve(modern));
  co_await house.pause();
  modern.leave();
  co_await house.tasks.join();
  CHECK(seen_caller == std::vector<std::string>{"the client went away"});
  CHECK(modern.events.empty());
  CHECK(modern.body.empty());
  co_await house.close();
}

TEST_CASE("a legacy call is cancelled by its notification, a modern one by going away",
          "[req:cancellation-receiver-should-stop-free-no-response]"
          "[req:cancellation-http-disconnect-is-cancel]"
          "[req:cancellation-http-no-messages-after-close][req:cancellation-ignore-invalid]"
          "[req:streamable-http-close-is-cancel][req:streamable-http-disconnect-not-cancel]") {
  on_shard(cancellation);
}

Task<void> deleted_session(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = until_cancelled;
  const std::string session = co_await house.open_session("2025-11-25");
  const FieldList fields = in_session(session);
  FakeExchange call(shard, "POST", "/mcp", fields, call_body(R"({"name":"alpha__echo"})"));
  house.tasks.spawn("call", house.serve(call));
  co_await house.pause();
  const auto gone = co_await house.send("DELETE", "/mcp", fields, "");
  CHECK(gone->status == 200);
  co_await house.tasks.join();
  CHECK(seen_caller == std::vector<std::string>{"the session was ended"});
  co_await house.close();
}

TEST_CASE("ending a session ends what it was still waiting for") {
  on_shard(deleted_session);
}

}  // namespace
}  // namespace mcpx::test
