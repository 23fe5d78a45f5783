#include "mcp/asking.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace mcpx;
using namespace mcpx::mcp;

namespace {

std::string params_for(QuestionKind kind, std::string_view params, Revision to,
                       std::string_view server = {}, Askable askable = 0) {
  QuestionContext context;
  context.to = to;
  context.askable = askable;
  context.server = server;
  context.elicitation_id = "e-1";
  return question_params_for(kind, params, context);
}

}  // namespace

TEST_CASE("what a client can be asked is read with the meaning its revision gives it",
          "[req:elicitation-empty-capability-means-form-only]") {
  struct Row {
    const char* capabilities;
    Revision revision;
    int askable;
  };
  const Row rows[] = {
      {"{}", Revision::r2025_11_25, 0},
      {R"({"elicitation":{}})", Revision::r2025_11_25, kAskForm},
      {R"({"elicitation":{"form":{}}})", Revision::r2025_11_25, kAskForm},
      {R"({"elicitation":{"url":{}}})", Revision::r2025_11_25, kAskUrl},
      {R"({"elicitation":{"form":{},"url":{}}})", Revision::r2026_07_28, kAskForm | kAskUrl},
      {R"({"elicitation":{"url":{}}})", Revision::r2025_06_18, kAskForm},
      {R"({"elicitation":{}})", Revision::r2025_03_26, 0},
      {R"({"elicitation":null})", Revision::r2025_11_25, 0},
      {R"({"sampling":{"tools":{},"context":{}}})", Revision::r2025_11_25,
       kAskSampling | kAskSamplingTools | kAskSamplingContext},
      {R"({"sampling":{"tools":{}}})", Revision::r2025_06_18, kAskSampling},
      {R"({"roots":{}})", Revision::r2024_11_05, kAskRoots},
      {R"({"roots":{"listChanged":true}})", Revision::r2024_11_05, kAskRoots | kAskRootsChanges},
      {R"({"roots":{"listChanged":true}})", Revision::r2026_07_28, kAskRoots},
      {R"({"r\u006fots":{},"experimental":{}})", Revision::r2025_11_25, kAskRoots},
  };
  for (const Row& row : rows) {
    CAPTURE(row.capabilities, text(row.revision));
    CHECK(int{askable_of(row.capabilities, row.revision)} == row.askable);
  }
}

TEST_CASE("what is declared upstream reads back as the same") {
  for (int bits = 0; bits < 128; ++bits) {
    const auto askable = static_cast<Askable>(bits);
    const bool whole =
        (!(bits & (kAskSamplingTools | kAskSamplingContext)) || (bits & kAskSampling)) &&
        (!(bits & kAskRootsChanges) || (bits & kAskRoots));
    if (!whole) continue;
    CHECK(int{askable_of(client_capabilities(askable), Revision::r2025_11_25)} == bits);
  }
  CHECK(client_capabilities(kAskForm) == R"({"elicitation":{}})");
}

TEST_CASE("a question without a mode is a form; an unknown mode is no question",
          "[req:elicitation-client-missing-mode-is-form]") {
  CHECK(question_kind("elicitation/create", "{}") == QuestionKind::form);
  CHECK(question_kind("elicitation/create", R"({"mode":"url"})") == QuestionKind::url);
  CHECK_FALSE(question_kind("elicitation/create", R"({"mode":"voice"})").has_value());
  CHECK_FALSE(question_kind("ping", "").has_value());
  CHECK(needed_for(QuestionKind::sampling, R"({"toolChoice":{}})") ==
        (kAskSampling | kAskSamplingTools));
}

TEST_CASE("a mode or an option that was not declared is refused with -32602, a kind with -32601",
          "[req:elicitation-client-32602-on-undeclared-mode]"
          "[req:sampling-client-error-on-tools-without-capability]") {
  CHECK(undeclared_error(QuestionKind::url, kAskForm).find("-32602") != std::string::npos);
  CHECK(undeclared_error(QuestionKind::form, kAskUrl).find("-32602") != std::string::npos);
  CHECK(undeclared_error(QuestionKind::sampling, kAskSampling).find("-32602") != std::string::npos);
  CHECK(undeclared_error(QuestionKind::form, kAskSampling).find("-32601") != std::string::npos);
  CHECK(undeclared_error(QuestionKind::roots, 0).find("-32601") != std::string::npos);
}

TEST_CASE("a question keeps its bytes but for what the client's revision does not have") {
  const std::string form = R"({"mode":"form", "message":"Name?","requestedSchema":{"x":1.0}})";
  CHECK(params_for(QuestionKind::form, form, Revision::r2025_11_25) == form);
  CHECK(params_for(QuestionKind::form, form, Revision::r2025_06_18) ==
        R"({"message":"Name?","requestedSchema":{"x":1.0}})");
  CHECK(params_for(QuestionKind::form, R"({"message":"Name?"})", Revision::r2025_11_25, "git") ==
        R"({"message":"[git] Name?"})");

  const std::string url = R"({"mode":"url","message":"Go","url":"https://a.example/?b=%41"})";
  CHECK(params_for(QuestionKind::url, url, Revision::r2025_11_25) ==
        R"({"mode":"url","message":"Go","url":"https://a.example/?b=%41","elicitationId":"e-1"})");
  const std::string with_id = R"({"mode":"url","elicitationId":"theirs","url":"u"})";
  CHECK(params_for(QuestionKind::url, with_id, Revision::r2025_11_25) == with_id);
  CHECK(params_for(QuestionKind::url, with_id, Revision::r2026_07_28) ==
        R"({"mode":"url","url":"u"})");

  const std::string token = R"({"_meta":{"progressToken":1},"task":{}})";
  CHECK(params_for(QuestionKind::roots, token, Revision::r2025_11_25) == "{}");
  CHECK(params_for(QuestionKind::roots, "", Revision::r2025_11_25) == "{}");
  CHECK(params_for(QuestionKind::roots, R"({"_meta":{"progressToken":1,"a":2}})",
                   Revision::r2025_11_25) == R"({"_meta":{"a":2}})");
}

TEST_CASE("context is included only where it can be scoped to the server that asks",
          "[req:lifecycle-include-context-only-if-declared]") {
  const std::string asks = R"({"includeContext":"thisServer","maxTokens":1})";
  const std::string plain = R"({"maxTokens":1})";
  const auto kind = QuestionKind::sampling;
  CHECK(params_for(kind, asks, Revision::r2025_11_25) == plain);
  CHECK(params_for(kind, asks, Revision::r2025_11_25, {}, kAskSamplingContext) == asks);
  CHECK(params_for(kind, asks, Revision::r2025_11_25, "a", kAskSamplingContext) == plain);
  CHECK(params_for(kind, asks, Revision::r2024_11_05) == asks);
}

TEST_CASE("an accepted form has the defaults of its schema for what was left out") {
  const std::string params = R"({"requestedSchema":{"properties":{
      "a":{"default":"x"},"b":{"default":7.0},"c":{},"d":{"default":false}}}})";
  const auto answer = [&](std::string_view result) {
    return answer_for(QuestionKind::form, params, result);
  };
  CHECK(answer(R"({"action":"accept","content":{"b":1}})") ==
        R"({"action":"accept","content":{"b":1,"a":"x","d":false}})");
  CHECK(answer(R"({"action":"accept"})") ==
        R"({"action":"accept","content":{"a":"x","b":7.0,"d":false}})");
  CHECK(answer(R"({"action":"decline"})") == R"({"action":"decline"})");
  CHECK(answer(R"({"resultType":"complete","action":"accept","content":{"a":1,"b":2,"d":3}})") ==
        R"({"action":"accept","content":{"a":1,"b":2,"d":3}})");
}

TEST_CASE("what is no answer to a question is told from one") {
  CHECK(is_answer(QuestionKind::form, R"({"action":"cancel"})"));
  CHECK_FALSE(is_answer(QuestionKind::form, R"({"action":"maybe"})"));
  CHECK_FALSE(is_answer(QuestionKind::url, "null"));
  CHECK(is_answer(QuestionKind::roots, R"({"roots":[]})"));
  CHECK_FALSE(is_answer(QuestionKind::roots, R"({"roots":1})"));
  CHECK_FALSE(is_answer(QuestionKind::sampling, "{}"));
}
