// Questions of a server on their way to the client: on the wire for a legacy one, in results for a
// modern one.
#include <string>
#include <vector>

#include "downstream/asked.hpp"
#include "unit/downstream/house.hpp"

namespace mcpx::test {
namespace {

using call::Outcome;

const char* const kForm =
    R"({"message":"Name?","requestedSchema":{"type":"object","properties":{"n":{"default":7}}}})";

// A server that asks one question for each call, and answers with what it was told.
Task<Outcome> asks(const call::Call& call) {
  runtime::CancelSource over;
  const auto subscription =
      call.caller.cancel->subscribe([&over](const std::string& reason) { over.cancel(reason); });
  const call::Question question(mcp::QuestionKind::form, "elicitation/create", kForm, "alpha");
  if (!call.caller.asker) co_return Outcome::of_result(R"({"content":[]})", mcp::kLatestLegacy);
  const call::Response response =
      co_await call::ask_caller(call.caller.asker, *call.caller.shard, question, over);
  json::ObjectBuilder told;
  told.raw("told", response.error.empty() ? response.result : response.error);
  co_return Outcome::of_result(told.take(), mcp::kLatestLegacy);
}

Task<std::string> open_capable(House& house, const std::string& version) {
  const std::string body =
      R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + version +
      R"(","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}})";
  const auto exchange = co_await house.send("POST", "/mcp", kPlain, body);
  co_return exchange->field("Mcp-Session-Id");
}

FieldList in_session(const std::string& id) {
  return with(kPlain, FieldList(1, {"Mcp-Session-Id", id}));
}

std::string id_of(const std::string& message) {
  return std::string(json::find(message, "id").value_or("null"));
}

std::string answer_to(const std::string& id, const std::string& member = "result") {
  return R"({"jsonrpc":"2.0","id":)" + id + ",\"" + member +
         (member == "result" ? R"(":{"action":"accept","content":{}}})"
                             : R"(":{"code":-1,"message":"no"}})");
}

constexpr const char* kCall =
    R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"alpha__echo"}})";

Task<void> on_the_wire(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = asks;
  const std::string mine = co_await open_capable(house, "2025-06-18");
  const std::string other = co_await open_capable(house, "2025-06-18");

  FakeExchange calling(shard, "POST", "/mcp", in_session(mine), kCall);
  house.tasks.spawn("call", house.serve(calling));
  const auto question = co_await calling.arrived.pop();
  REQUIRE(question.has_value());
  CHECK(json::find_string(*question, "method") == "elicitation/create");
  CHECK(json::find(*question, "params", "message") == R"("[alpha] Name?")");
  const std::string id = id_of(*question);
  CHECK(json::is_string(id));

  // Nobody else answers it, and nothing else is its answer.
  for (const std::string& from : {other, mine}) {
    const std::string wrong = from == mine ? "1" : id;
    const auto sent = co_await house.send("POST", "/mcp", in_session(from), answer_to(wrong));
    CHECK(sent->status == 202);
  }
  co_await house.pause();
  CHECK_FALSE(calling.ended);
  const auto sent = co_await house.send("POST", "/mcp", in_session(mine), answer_to(id));
  CHECK(sent->status == 202);
  const auto last = co_await calling.arrived.pop();
  REQUIRE(last.has_value());
  CHECK(json::find(*last, "result", "told") == R"({"action":"accept","content":{"n":7}})");
  co_await house.close();
}

TEST_CASE("C55: a question is on the call's stream, and answered by its session alone") {
  on_shard(on_the_wire);
}

Task<void> refused_on_the_wire(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = asks;
  const std::string session = co_await open_capable(house, "2025-11-25");
  FakeExchange calling(shard, "POST", "/mcp", in_session(session), kCall);
  house.tasks.spawn("call", house.serve(calling));
  const auto question = co_await calling.arrived.pop();
  co_await house.send("POST", "/mcp", in_session(session), answer_to(id_of(*question), "error"));
  const auto last = co_await calling.arrived.pop();
  CHECK(json::find(*last, "result", "told") == R"({"code":-1,"message":"no"})");
  co_await house.close();
}

TEST_CASE("what a client refuses, the server is told as it was said") {
  on_shard(refused_on_the_wire);
}

Task<void> cancelled_on_the_wire(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = asks;
  const std::string session = co_await open_capable(house, "2025-11-25");
  FakeExchange calling(shard, "POST", "/mcp", in_session(session), kCall);
  house.tasks.spawn("call", house.serve(calling));
  const auto question = co_await calling.arrived.pop();
  co_await house.send("POST", "/mcp", in_session(session),
                      R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                      R"("params":{"requestId":1}})");
  const auto notice = co_await calling.arrived.pop();
  REQUIRE(notice.has_value());
  CHECK(json::find_string(*notice, "method") == "notifications/cancelled");
  CHECK(json::find(*notice, "params", "requestId") == id_of(*question));
  co_await house.close();
  CHECK(calling.events.size() == 2);  // and no answer
}

TEST_CASE("a call that is cancelled takes its question back") {
  on_shard(cancelled_on_the_wire);
}

// --- In results

std::string ask_body(const std::string& more = {},
                     const std::string& capabilities = R"({"elicitation":{}})") {
  return modern_body("1", "tools/call", R"("name":"alpha__echo")" + more, capabilities);
}

Task<std::string> send_modern(House& house, std::string body) {
  const auto exchange = co_await house.send(
      "POST", "/mcp", modern_fields("tools/call", "alpha__echo"), std::move(body));
  co_return exchange->response();
}

Task<void> in_results(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = asks;
  const std::string first = co_await send_modern(house, ask_body());
  CHECK(json::find_path(first, {"result", "resultType"}) == "\"input_required\"");
  CHECK(json::find_path(first, {"result", "inputRequests", "elicitation-1", "method"}) ==
        "\"elicitation/create\"");
  const std::string state(json::find_path(first, {"result", "requestState"}).value_or(""));
  REQUIRE(json::is_string(state));

  const std::string with_state = R"(,"requestState":)" + state;
  // Null and numbers are no answers: the question stays.
  const std::string again = co_await send_modern(
      house, ask_body(with_state + R"(,"inputResponses":{"elicitation-1":null,"x":{}})"));
  CHECK(json::find_path(again, {"result", "inputRequests", "elicitation-1"}).has_value());
  const std::string replayed = co_await send_modern(house, ask_body(with_state));
  CHECK(json::find_path(replayed, {"error", "code"}) == "-32602");
  CHECK(json::find_path(replayed, {"error", "data", "code"}) == "\"ask.state_used\"");

  const std::string second(json::find_path(again, {"result", "requestState"}).value_or(""));
  const std::string done = co_await send_modern(
      house, ask_body(R"(,"requestState":)" + second +
                      R"(,"inputResponses":{"elicitation-1":{"action":"accept"}})"));
  CHECK(json::find_path(done, {"result", "told"}) == R"({"action":"accept","content":{"n":7}})");
  CHECK(json::find_path(done, {"result", "resultType"}) == "\"complete\"");
  CHECK(script("alpha").calls == 1);
  co_await house.close();
}

TEST_CASE("C50: a legacy server's call waits while a modern client answers in a retry",
          "[req:mrtr-server-reask-missing-rather-than-error]"
          "[req:mrtr-single-use-enforced][req:mrtr-at-least-one-field]") {
  on_shard(in_results);
}

Task<void> narrowed(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = asks;
  const std::string first = co_await send_modern(house, ask_body());
  const std::string state(json::find_path(first, {"result", "requestState"}).value_or(""));
  const std::string done =
      co_await send_modern(house, ask_body(R"(,"requestState":)" + state, R"({"sampling":{}})"));
  CHECK(json::find_path(done, {"result", "told", "code"}) == "-32601");
  co_await house.close();
}

TEST_CASE("a retry that declares less is asked less", "[req:mrtr-only-declared-capabilities]") {
  on_shard(narrowed);
}

Task<Outcome> wants_urls(const call::Call&) {
  if (script("alpha").calls > 1) {
    co_return Outcome::of_result(R"({"content":[]})", mcp::kLatestLegacy);
  }
  co_return Outcome::of_error(
      R"({"code":-32042,"message":"go","data":{"elicitations":[)"
      R"({"mode":"url","elicitationId":"a","url":"https://a.example","message":"A"},)"
      R"({"mode":"url","elicitationId":"b","url":"https://b.example","message":"B"}]}})",
      mcp::kLatestLegacy);
}

Task<void> urls(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = wants_urls;
  const std::string capable = R"({"elicitation":{"url":{}}})";
  const std::string first = co_await send_modern(house, ask_body("", capable));
  CHECK(first.find("-32042") == std::string::npos);
  CHECK(first.find("elicitationId") == std::string::npos);
  CHECK(json::find_path(first, {"result", "inputRequests", "elicitation-2", "params", "url"}) ==
        "\"https://b.example\"");
  const std::string state(json::find_path(first, {"result", "requestState"}).value_or(""));
  const std::string done = co_await send_modern(
      house, ask_body(R"(,"requestState":)" + state +
                          R"(,"inputResponses":{"elicitation-1":{"action":"accept"},)"
                          R"("elicitation-2":{"action":"accept"}})",
                      capable));
  CHECK(json::find_path(done, {"result", "content"}) == "[]");
  CHECK(script("alpha").calls == 2);

  script("alpha").calls = 0;
  const std::string lacking = co_await send_modern(house, ask_body());
  CHECK(json::find_path(lacking, {"error", "code"}) == "-32021");
  script("alpha").calls = 0;
  const std::string bare = co_await send_modern(house, ask_body("", "{}"));
  CHECK(json::find_path(bare, {"error", "code"}) == "-32021");
  co_await house.close();
}

TEST_CASE("C56: URLs that a legacy server demands become questions to a modern client",
          "[req:elicitation-no-32042-in-2026]") {
  on_shard(urls);
}

Task<void> many_of_them(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  script("alpha").call = asks;
  std::vector<std::string> states;
  for (int i = 0; i < 200; ++i) {
    const std::string asked = co_await send_modern(house, ask_body());
    states.emplace_back(json::find_path(asked, {"result", "requestState"}).value_or(""));
  }
  for (std::size_t i = 0; i < states.size(); i += 2) {
    const std::string answer = i % 4 == 0 ? R"({"action":"accept"})" : R"({"action":"decline"})";
    const std::string done = co_await send_modern(
        house, ask_body(R"(,"requestState":)" + states[i] +
                        R"(,"inputResponses":{"elicitation-1":)" + answer + "}"));
    CHECK(json::find_path(done, {"result", "told", "action"}).has_value());
  }
  // The others never come back; the end of the daemon ends them.
  co_await house.close();
}

TEST_CASE("C53: two hundred calls wait for answers, and none is left behind") {
  on_shard(many_of_them);
}

TEST_CASE("ids of questions name a shard and a question of this run of the daemon") {
  downstream::QuestionId id;
  id.shard = 2;
  id.number = 77;
  const std::string token = downstream::question_id("aa", id);
  const auto read = downstream::parse_question_id("aa", token);
  REQUIRE(read.has_value());
  CHECK(read->shard == 2);
  CHECK(read->number == 77);
  for (const char* other : {"1", "\"mcpx-ab-2-77\"", "\"mcpx-aa-2\"", "\"mcpx-aa-2-77x\"", "null",
                            "\"mcpx-aa-2-\"", "\"mcpx-aa-2-99999999999999999999\"", ""}) {
    CAPTURE(other);
    CHECK_FALSE(downstream::parse_question_id("aa", other).has_value());
  }
}

}  // namespace
}  // namespace mcpx::test
