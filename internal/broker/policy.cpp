#include "broker/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "config/glob.hpp"
#include "json/json.hpp"
#include "mcp/form.hpp"
#include "rpc/message.hpp"

namespace mcpx::broker {
namespace {

using mcp::QuestionKind;

// The bits of the configuration are those of mcp::Askable.
static_assert(config::kDeclareForm == mcp::kAskForm && config::kDeclareUrl == mcp::kAskUrl &&
              config::kDeclareSampling == mcp::kAskSampling &&
              config::kDeclareSamplingTools == mcp::kAskSamplingTools);

QuestionKind kind_of(config::QuestionMode mode) {
  switch (mode) {
    case config::QuestionMode::form:
      return QuestionKind::form;
    case config::QuestionMode::url:
      return QuestionKind::url;
    case config::QuestionMode::sampling:
      return QuestionKind::sampling;
    case config::QuestionMode::roots:
      return QuestionKind::roots;
  }
  return QuestionKind::form;
}

bool fits(const std::string& pattern, std::string_view text) {
  return pattern.empty() || config::glob_match(pattern, text);
}

bool has_field(const std::string& pattern, json::Raw params) {
  if (pattern.empty()) return true;
  const auto schema = json::find(params, "requestedSchema");
  const std::vector<std::string> names = mcp::form_fields(schema.value_or("{}"));
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return config::glob_match(pattern, name); });
}

bool matches(const config::BrokerRule& rule, const call::Question& question,
             std::string_view target) {
  if (rule.mode && kind_of(*rule.mode) != question.kind) return false;
  return fits(rule.server, question.server) && fits(rule.tool, target) &&
         has_field(rule.field, question.params);
}

call::Response error_response() {
  return call::Response::of_error(
      rpc::error_object(rpc::kInternalError, "questions are not answered here"));
}

Decided decided(call::Response response, std::string_view action, std::string_view surface,
                std::string by) {
  Decided out;
  out.response = std::move(response);
  out.action = action;
  out.surface = surface;
  out.by = std::move(by);
  return out;
}

// nullopt: what it says does not fit this form, so it does not decide.
std::optional<Decided> by_rule(const config::BrokerRule& rule, std::size_t number,
                               const call::Question& question) {
  std::string by = fmt::format("broker.rules[{}]", number);
  switch (rule.answer) {
    case config::RuleAnswer::accept: {
      call::Response response =
          response_for(question.kind, question.params, "accept", rule.content);
      const json::Raw content = json::find(response.result, "content").value_or("{}");
      const json::Raw schema = json::find(question.params, "requestedSchema").value_or("{}");
      if (!mcp::form_problems(schema, content).empty()) return std::nullopt;
      return decided(std::move(response), "accept", "rule", std::move(by));
    }
    case config::RuleAnswer::decline:
      return decided(response_for(question.kind, question.params, "decline", {}), "decline", "rule",
                     std::move(by));
    case config::RuleAnswer::cancel:
      return decided(response_for(question.kind, question.params, "cancel", {}), "cancel", "rule",
                     std::move(by));
    case config::RuleAnswer::error:
      return decided(error_response(), "error", "rule", std::move(by));
    case config::RuleAnswer::ask:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::string_view text(QuestionKind kind) {
  switch (kind) {
    case QuestionKind::form:
      return "form";
    case QuestionKind::url:
      return "url";
    case QuestionKind::sampling:
      return "sampling";
    case QuestionKind::roots:
      return "roots";
  }
  return "form";
}

mcp::Askable stands_in_for(const config::Broker& config, bool passes_through) {
  return passes_through && !config.pass_through ? mcp::Askable{0} : mcp::Askable{config.declare};
}

call::Response response_for(QuestionKind kind, std::string_view params, std::string_view action,
                            std::string_view content) {
  const bool elicitation = kind == QuestionKind::form || kind == QuestionKind::url;
  if (!elicitation) {
    if (action == "accept")
      return call::Response::of_result(mcp::answer_for(kind, params, content));
    return call::Response::none(kind,
                                action == "decline" ? "the user declined" : "nobody answered");
  }
  json::ObjectBuilder result;
  result.string("action", action);
  const bool fills = kind == QuestionKind::form && action == "accept";
  if (fills) result.raw("content", content.empty() ? std::string_view("{}") : content);
  return call::Response::of_result(mcp::answer_for(kind, params, result.take()));
}

std::optional<Decided> decide(const config::Broker& config, const call::Question& question,
                              std::string_view target, Attended attended) {
  const bool form = question.kind == QuestionKind::form;
  if (form && !config.passwords) {
    const auto schema = json::find(question.params, "requestedSchema");
    if (!mcp::sensitive_fields(schema.value_or("{}")).empty()) {
      return decided(response_for(question.kind, question.params, "decline", {}), "decline",
                     "policy", "broker.passwords");
    }
  }
  std::size_t number = 0;
  for (const config::BrokerRule& rule : config.rules) {
    ++number;
    if (!matches(rule, question, target)) continue;
    if (rule.answer == config::RuleAnswer::ask) return std::nullopt;
    if (auto found = by_rule(rule, number, question)) return found;
  }
  if (attended == Attended::yes) return std::nullopt;
  if (config.policy == config::BrokerPolicy::decline) {
    return decided(response_for(question.kind, question.params, "decline", {}), "decline", "policy",
                   "broker.policy");
  }
  if (config.policy == config::BrokerPolicy::error) {
    return decided(error_response(), "error", "policy", "broker.policy");
  }
  return std::nullopt;
}

}  // namespace mcpx::broker
