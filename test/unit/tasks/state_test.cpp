#include "tasks/state.hpp"

#include <catch2/catch.hpp>

#include "tasks/job.hpp"

using namespace mcpx;
using namespace mcpx::tasks;

namespace {

State state_of(Status status, std::string outcome = {}) {
  State state;
  state.id = "7f";
  state.status = status;
  state.created = 1'785'234'600'123;
  state.updated = 1'785'234'601'000;
  state.ttl = 60'000;
  state.poll = 500;
  state.outcome = std::move(outcome);
  return state;
}

}  // namespace

TEST_CASE("a task of a modern server is read with what it holds inline",
          "[req:ext-tasks-get-carries-result]") {
  const auto done = read_report(
      R"({"resultType":"complete","taskId":"u","status":"completed","createdAt":"x",)"
      R"("lastUpdatedAt":"y","ttlMs":5000,"pollIntervalMs":10,"result":{"content":[ ]}})",
      mcp::Era::modern);
  REQUIRE(done.has_value());
  CHECK(done->id == "u");
  CHECK(done->status == Status::completed);
  CHECK(done->ttl == 5000);
  CHECK(done->poll == 10);
  CHECK(done->outcome == R"({"content":[ ]})");

  const auto asks = read_report(
      R"({"taskId":"u","status":"input_required","ttlMs":null,"statusMessage":"waits",)"
      R"("inputRequests":{"n":{"method":"elicitation/create","params":{"message":"m"}},"odd":1}})",
      mcp::Era::modern);
  REQUIRE(asks.has_value());
  CHECK(asks->message == "waits");
  CHECK_FALSE(asks->ttl.has_value());
  REQUIRE(asks->questions.size() == 1);
  CHECK(asks->questions[0] == Question("n", "elicitation/create", R"({"message":"m"})"));
}

TEST_CASE("what is no task is not read as one") {
  for (const char* text :
       {R"({})", R"({"taskId":"u"})", R"({"taskId":"","status":"working"})",
        R"({"taskId":1,"status":"working"})", R"({"taskId":"u","status":"done"})"}) {
    CAPTURE(text);
    CHECK_FALSE(read_report(text, mcp::Era::modern).has_value());
    CHECK_FALSE(read_created(text, mcp::Era::legacy).has_value());
  }
}

TEST_CASE("a created task is flat in one era and a member in the other",
          "[req:tasks-return-createtaskresult]") {
  const auto legacy = read_created(
      R"({"task":{"taskId":"u","status":"working","ttl":9,"pollInterval":3}})", mcp::Era::legacy);
  REQUIRE(legacy.has_value());
  CHECK(legacy->ttl == 9);
  CHECK(legacy->poll == 3);
  const auto modern =
      read_created(R"({"resultType":"task","taskId":"u","status":"working"})", mcp::Era::modern);
  CHECK(modern.has_value());
}

TEST_CASE("a task is spelled for either era", "[req:tasks-timestamps]") {
  const State working = state_of(Status::working);
  CHECK(legacy_task(working) ==
        R"({"taskId":"7f","status":"working","createdAt":"2026-07-28T10:30:00.123Z",)"
        R"("lastUpdatedAt":"2026-07-28T10:30:01.000Z","ttl":60000,"pollInterval":500})");
  json::ObjectBuilder head;
  head.string("resultType", "complete");
  Inlined inlined;
  inlined.result = R"({"content":[]})";
  CHECK(modern_task(std::move(head), state_of(Status::completed), inlined) ==
        R"({"resultType":"complete","taskId":"7f","status":"completed",)"
        R"("createdAt":"2026-07-28T10:30:00.123Z","lastUpdatedAt":"2026-07-28T10:30:01.000Z",)"
        R"("ttlMs":60000,"pollIntervalMs":500,"result":{"content":[]}})");
}

TEST_CASE("a tool that says isError has failed in the core and completed in the extension",
          "[req:tasks-failed-status-message]") {
  const State state = state_of(Status::completed, R"({"content":[],"isError":true})");
  CHECK(json::find_string(legacy_task(state), "status") == "failed");
  const std::string modern = modern_task(json::ObjectBuilder(), state, Inlined());
  CHECK(json::find_string(modern, "status") == "completed");
}

TEST_CASE("a result names its task in _meta, and loses the name of another",
          "[req:tasks-result-response-related-task]") {
  const std::string plain = R"({"content":[]})";
  const std::string named = with_related_task(plain, "7f");
  CHECK(named ==
        R"({"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7f"}}})");
  CHECK(with_related_task(named, "") == plain);
  CHECK(with_related_task(plain, "") == plain);
  const std::string more = R"({"_meta":{"io.modelcontextprotocol/related-task":{},"k":1.0}})";
  CHECK(with_related_task(more, "") == R"({"_meta":{"k":1.0}})");
}

TEST_CASE("tasks belong to a principal, or to the session that nobody else is in",
          "[req:tasks-bound-reject-foreign]") {
  const auto owner = [](const char* principal, const char* session, const char* endpoint = "") {
    Owner made;
    made.principal = principal;
    made.session = session;
    made.endpoint = endpoint;
    return made;
  };
  CHECK(owner("", "a").owns(owner("", "a")));
  CHECK_FALSE(owner("", "a").owns(owner("", "b")));
  CHECK(owner("p", "a").owns(owner("p", "b")));
  CHECK_FALSE(owner("p", "a").owns(owner("q", "a")));
  CHECK(owner("", "").owns(owner("", "")));
  CHECK_FALSE(owner("", "").owns(owner("", "a")));
  CHECK_FALSE(owner("p", "").owns(owner("p", "a")));
  CHECK_FALSE(owner("p", "", "x").owns(owner("p", "", "y")));
}

TEST_CASE("a report that says too much is cut to what is needed") {
  const std::string task =
      R"({"taskId":"a","status":"input_required","statusMessage":")" + std::string(100'000, 'x') +
      R"(","inputRequests":{"a":{"method":"m"},"\u0061":{"method":"n"},"b":{"method":"m"}}})";
  const auto report = read_report(task, mcp::Era::modern);
  REQUIRE(report.has_value());
  CHECK(report->message.size() == 4096);
  REQUIRE(report->questions.size() == 2);  // a key names one question
  CHECK(report->questions[0].method == "m");
  CHECK(report->questions[1].key == "b");
}

TEST_CASE("ids cannot be guessed", "[req:tasks-unbound-secure-ids]") {
  const std::string id = random_id();
  CHECK(id.size() == 32);
  CHECK(id != random_id());
}

TEST_CASE("on whose behalf a server is asked is read as it was kept") {
  call::Caller caller;
  caller.revision = mcp::Revision::r2025_11_25;
  caller.askable = 5;
  caller.session = "secret";
  caller.client_info = R"({"name":"c"})";
  caller.extensions = R"({"x":{}})";
  Origin origin(caller);
  origin.own_uris = true;
  const std::string text = origin.text();
  CHECK(text.find("secret") == std::string::npos);
  const Origin again = Origin::read(text);
  CHECK(again.revision == mcp::Revision::r2025_11_25);
  CHECK(again.askable == 5);
  CHECK(again.own_uris);
  CHECK_FALSE(again.passes_through);
  CHECK(again.client_info == R"({"name":"c"})");
  CHECK(again.extensions == R"({"x":{}})");
  CHECK(again.capabilities.empty());
}
