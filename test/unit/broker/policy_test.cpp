// What becomes of a question by the configuration, and what never does.
#include "broker/policy.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace mcpx::broker {
namespace {

using config::RuleAnswer;
using mcp::QuestionKind;

call::Question form(const std::string& properties) {
  return call::Question(
      QuestionKind::form, "elicitation/create",
      R"({"message":"m","requestedSchema":{"type":"object","properties":)" + properties + "}}",
      "tracker");
}

const std::string kName = R"({"name":{"type":"string"}})";

config::BrokerRule rule(const std::string& server, RuleAnswer answer) {
  config::BrokerRule made;
  made.server = server;
  made.answer = answer;
  return made;
}

TEST_CASE("policy: without rules somebody is asked, or nobody") {
  config::Broker config;
  CHECK_FALSE(decide(config, form(kName), "t").has_value());
  config.policy = config::BrokerPolicy::decline;
  const auto declined = decide(config, form(kName), "t");
  REQUIRE(declined.has_value());
  CHECK(declined->response.result == R"({"action":"decline"})");
  CHECK(declined->by == "broker.policy");
  config.policy = config::BrokerPolicy::error;
  const auto refused = decide(config, form(kName), "t");
  REQUIRE(refused.has_value());
  CHECK(refused->response.result.empty());
  CHECK_FALSE(refused->response.error.empty());
  // Who called is there to be asked; rules are for everybody.
  CHECK_FALSE(decide(config, form(kName), "t", Attended::yes).has_value());
  config.rules = {rule("tracker", RuleAnswer::cancel)};
  const auto ruled = decide(config, form(kName), "t", Attended::yes);
  REQUIRE(ruled.has_value());
  CHECK(ruled->action == "cancel");
}

TEST_CASE("policy: the first rule that fits decides") {
  config::Broker config;
  config.rules = {rule("other", RuleAnswer::decline), rule("track*", RuleAnswer::cancel),
                  rule("tracker", RuleAnswer::decline)};
  const auto found = decide(config, form(kName), "t");
  REQUIRE(found.has_value());
  CHECK(found->action == "cancel");
  CHECK(found->by == "broker.rules[2]");
  config.rules[1].tool = "delete_*";
  CHECK(decide(config, form(kName), "delete_all")->action == "cancel");
  CHECK(decide(config, form(kName), "create")->action == "decline");
  config.rules[2].field = "confirm";
  CHECK_FALSE(decide(config, form(kName), "create").has_value());
  CHECK(decide(config, form(R"({"confirm":{"type":"boolean"}})"), "create")->action == "decline");
  config.rules[0] = rule("tracker", RuleAnswer::ask);
  config.policy = config::BrokerPolicy::decline;
  CHECK_FALSE(decide(config, form(kName), "create").has_value());
}

TEST_CASE("policy: a rule accepts a form that its content fits, defaults included, and no other") {
  config::Broker config;
  config::BrokerRule accepts = rule("tracker", RuleAnswer::accept);
  accepts.mode = config::QuestionMode::form;
  accepts.content = R"({"name":"Ann"})";
  config.rules = {accepts};
  const auto found = decide(
      config, form(R"({"name":{"type":"string"},"size":{"type":"integer","default":3}})"), "t");
  REQUIRE(found.has_value());
  CHECK(found->response.result == R"({"action":"accept","content":{"name":"Ann","size":3}})");
  CHECK_FALSE(decide(config, form(R"({"name":{"type":"integer"}})"), "t").has_value());
  const call::Question url(QuestionKind::url, "elicitation/create",
                           R"({"mode":"url","message":"m","url":"https://x.example/"})", "tracker");
  CHECK_FALSE(decide(config, url, "t").has_value());
}

TEST_CASE("policy: forms that ask for passwords are declined unless they are allowed",
          "[req:elicitation-server-no-sensitive-info-in-form-mode]") {
  config::Broker config;
  for (const char* field : {"password", "api_key", "userToken", "CREDIT-CARD"}) {
    INFO(field);
    const auto found =
        decide(config, form("{\"" + std::string(field) + R"(":{"type":"string"}})"), "t");
    REQUIRE(found.has_value());
    CHECK(found->by == "broker.passwords");
    CHECK(found->response.result == R"({"action":"decline"})");
  }
  config.passwords = true;
  CHECK_FALSE(decide(config, form(R"({"password":{"type":"string"}})"), "t").has_value());
}

TEST_CASE("policy: it stands in for clients of /mcp/{server} only when told to") {
  config::Broker config;
  config.declare = config::kDeclareForm | config::kDeclareUrl;
  CHECK(stands_in_for(config, false) == (mcp::kAskForm | mcp::kAskUrl));
  CHECK(stands_in_for(config, true) == 0);
  config.pass_through = true;
  CHECK(stands_in_for(config, true) == (mcp::kAskForm | mcp::kAskUrl));
}

}  // namespace
}  // namespace mcpx::broker
