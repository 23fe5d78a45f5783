// `broker:`, and which rules are refused.
#include <catch2/catch.hpp>
#include <string>

#include "unit/config/load.hpp"

namespace mcpx::config {
namespace {

using test::load;
using test::problems_of;

TEST_CASE("the broker's keys reach their fields") {
  const auto result = load(R"(
broker:
  declare: [form, sampling.tools]
  policy: decline
  timeout: 10m
  rules:
    - {server: "git*", answer: decline}
    - field: confirm
      answer: accept
      content: {confirm: true, name: "Ann \"x\"", size: 3, half: 0.5, tags: [a, b], code: "007"}
)");
  INFO(problems_of(result));
  REQUIRE(result.has_value());
  const Broker& broker = result->broker;
  CHECK(broker.declare == (kDeclareForm | kDeclareSampling | kDeclareSamplingTools));
  CHECK(broker.policy == BrokerPolicy::decline);
  CHECK(broker.timeout == Milliseconds(600'000));
  REQUIRE(broker.rules.size() == 2);
  CHECK(broker.rules[0].server == "git*");
  CHECK(broker.rules[1].mode == QuestionMode::form);
  CHECK(broker.rules[1].content ==
        R"({"confirm":true,"name":"Ann \"x\"","size":3,"half":0.5,"tags":["a","b"],"code":"007"})");
}

struct Refused {
  std::string rule, problem;
};

TEST_CASE("rules that would answer everything, or accept what is for a person, are refused") {
  const Refused kRefused[] = {
      {"{answer: decline}", "matches nothing in particular"},
      {"{server: \"\", answer: decline}", "1 to 256 characters"},
      {"{server: a}", "without 'answer'"},
      {"{mode: url, answer: accept}", "forms only"},
      {"{mode: sampling, answer: accept}", "forms only"},
      {"{server: a, answer: decline, content: {x: 1}}", "belongs to 'answer: accept'"},
      {"decline", "a list of mappings"},
  };
  for (const Refused& c : kRefused) {
    DYNAMIC_SECTION(c.rule) {
      const auto result = load("broker: {rules: [" + c.rule + "]}");
      REQUIRE(result.has_error());
      CHECK(problems_of(result).find(c.problem) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace mcpx::config
