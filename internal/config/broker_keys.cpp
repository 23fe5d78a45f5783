// `broker:` of the configuration: what becomes of questions that no connected client can answer.
#include <array>
#include <string>
#include <string_view>

#include "config/keys.hpp"
#include "config/values.hpp"

namespace mcpx::config {
namespace {

constexpr std::uint64_t kKiB = 1u << 10, kMiB = 1u << 20;
constexpr std::size_t kMostRules = 256, kLongestPattern = 256;

void read_declare(Context& context, const Field& field, Broker& broker) {
  static constexpr std::pair<std::string_view, std::uint8_t> kKinds[] = {
      {"form", kDeclareForm},
      {"url", kDeclareUrl},
      {"sampling", kDeclareSampling},
      {"sampling.tools", kDeclareSampling | kDeclareSamplingTools}};
  std::vector<std::string> names;
  read_list(context, field, names);
  for (const std::string& name : names) {
    std::uint8_t bits = 0;
    for (const auto& [known, value] : kKinds) {
      if (known == name) bits = value;
    }
    if (bits == 0) {
      return out_of_range(context, field, "a list of form, url, sampling, sampling.tools");
    }
    broker.declare |= bits;
  }
}

void read_policy(Context& context, const Field& field, Broker& broker) {
  static constexpr std::array<std::string_view, 3> kPolicies = {"ask", "decline", "error"};
  std::size_t index = 0;
  if (read_choice(context, field, kPolicies, index)) {
    broker.policy = static_cast<BrokerPolicy>(index);
  }
}

void read_pass_through(Context& context, const Field& field, Broker& broker) {
  read_bool(context, field, broker.pass_through);
}
void read_passwords(Context& context, const Field& field, Broker& broker) {
  read_bool(context, field, broker.passwords);
}

// --- Rules

struct RuleDraft {
  BrokerRule rule;
  bool answered = false;
  std::optional<Position> content_at;
};

// An empty pattern would match nothing, or, to another reader, everything.
void read_pattern(Context& context, const Field& field, std::string& out) {
  std::string text;
  if (!read_plain_text(context, field, text)) return;
  if (text.empty() || text.size() > kLongestPattern) {
    return out_of_range(context, field, "a pattern of 1 to 256 characters");
  }
  out = std::move(text);
}

void read_mode(Context& context, const Field& field, RuleDraft& draft) {
  static constexpr std::array<std::string_view, 4> kModes = {"form", "url", "sampling", "roots"};
  std::size_t index = 0;
  if (read_choice(context, field, kModes, index)) {
    draft.rule.mode = static_cast<QuestionMode>(index);
  }
}

void read_answer(Context& context, const Field& field, RuleDraft& draft) {
  static constexpr std::array<std::string_view, 5> kAnswers = {"ask", "accept", "decline", "cancel",
                                                               "error"};
  std::size_t index = 0;
  draft.answered = true;
  if (read_choice(context, field, kAnswers, index)) {
    draft.rule.answer = static_cast<RuleAnswer>(index);
  }
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (byte < 0x20) {
      out.append("\\u00").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    } else {
      out += c;
    }
  }
  out += '"';
}

bool is_json_number(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > 18 || (digits > 1 && text.front() == '0')) return false;
  if (digits == text.size()) return true;
  const std::string_view fraction = text.substr(digits + 1);
  return text[digits] == '.' && !fraction.empty() &&
         fraction.find_first_not_of("0123456789") == std::string_view::npos;
}

void append_scalar(Context& context, const Field& field, const Node& node, std::string& out) {
  const bool word = node.scalar == "true" || node.scalar == "false";
  if (node.plain && (word || is_json_number(node.scalar))) {
    out += node.scalar;
    return;
  }
  const Expansion text = expand(context, node.scalar, field.value_at(), Secrecy::secret);
  if (text.ok) append_quoted(out, text.text);
}

// Forms are flat: a value is a scalar, or a list of them.
void append_value(Context& context, const Field& field, const Node& node, std::string& out) {
  if (node.kind == Node::Kind::scalar) return append_scalar(context, field, node, out);
  if (node.kind != Node::Kind::list) {
    wrong_type(context, field, "text, a number, a boolean or a list");
    return;
  }
  out += '[';
  for (const NodePtr& item : node.items) {
    if (out.back() != '[') out += ',';
    if (item->kind != Node::Kind::scalar) return wrong_type(context, field, "a list of values");
    append_scalar(context, field, *item, out);
  }
  out += ']';
}

void read_content(Context& context, const Field& field, RuleDraft& draft) {
  draft.content_at = field.at;
  if (!require_mapping(context, field)) return;
  std::string out = "{";
  for (const Node::Entry& entry : field.value.entries) {
    const Field value = {entry.key, field.example, entry.at, *entry.value};
    if (out.size() > 1) out += ',';
    append_quoted(out, entry.key);
    out += ':';
    append_value(context, value, *entry.value, out);
  }
  draft.rule.content = out + "}";
}

constexpr std::array<Key<RuleDraft>, 6> kRule = {{
    {"server", [](Context& c, const Field& f, RuleDraft& d) { read_pattern(c, f, d.rule.server); },
     "server: tracker"},
    {"tool", [](Context& c, const Field& f, RuleDraft& d) { read_pattern(c, f, d.rule.tool); },
     "tool: \"delete_*\""},
    {"mode", read_mode, "mode: form"},
    {"field", [](Context& c, const Field& f, RuleDraft& d) { read_pattern(c, f, d.rule.field); },
     "field: confirm"},
    {"answer", read_answer, "answer: decline"},
    {"content", read_content, "content: {confirm: true}"},
}};

void check_rule(Context& context, Position at, const RuleDraft& draft) {
  const BrokerRule& rule = draft.rule;
  if (rule.server.empty() && rule.tool.empty() && rule.field.empty() && !rule.mode) {
    context.problems.add(at, "a rule that matches nothing in particular would answer everything",
                         "add 'server', 'tool', 'mode' or 'field'; or set broker.policy");
  }
  if (!draft.answered) {
    context.problems.add(at, "a rule without 'answer'", "add for example: answer: decline");
  }
  const bool accepts = rule.answer == RuleAnswer::accept;
  if (accepts && rule.mode && *rule.mode != QuestionMode::form) {
    context.problems.add(at,
                         "a rule may accept forms only: whether to visit a URL, and what a "
                         "model would say, is for a person",
                         "write 'answer: ask', or 'mode: form'");
  }
  if (!accepts && draft.content_at) {
    context.problems.add(*draft.content_at, "'content' belongs to 'answer: accept'",
                         "remove it, or write 'answer: accept'");
  }
}

void read_rules(Context& context, const Field& field, Broker& broker) {
  if (field.value.kind == Node::Kind::null) return;
  if (field.value.kind != Node::Kind::list) return wrong_type(context, field, "a list of rules");
  if (field.value.items.size() > kMostRules) {
    return out_of_range(context, field, "a list of at most 256 rules");
  }
  for (const NodePtr& item : field.value.items) {
    const Position at = item->kind == Node::Kind::null ? field.at : item->at;
    const Field one = {field.name, field.example, at, *item};
    RuleDraft draft;
    if (item->kind != Node::Kind::mapping) {
      wrong_type(context, one, "a list of mappings");
      continue;
    }
    read_mapping(context, one, std::span<const Key<RuleDraft>>(kRule), draft);
    check_rule(context, at, draft);
    if (draft.rule.answer == RuleAnswer::accept) {
      draft.rule.mode = QuestionMode::form;
      if (draft.rule.content.empty()) draft.rule.content = "{}";
    }
    broker.rules.push_back(std::move(draft.rule));
  }
}

constexpr std::array<Key<Broker>, 10> kBroker = {{
    {"declare", read_declare, "declare: [form, url]"},
    {"pass_through", read_pass_through, "pass_through: true"},
    {"policy", read_policy, "policy: ask"},
    {"rules", read_rules, "rules: [{server: tracker, answer: decline}]"},
    {"passwords", read_passwords, "passwords: true"},
    {"timeout", duration_key<&Broker::timeout, 1'000, Broker>, "timeout: 1h"},
    {"questions", integer_key<&Broker::questions, 1, 10'000>, "questions: 256"},
    {"per_server", integer_key<&Broker::per_server, 1, 10'000>, "per_server: 64"},
    {"question_size", size_key<&Broker::question_bytes, kKiB, 16 * kMiB>, "question_size: 256KiB"},
    {"history", integer_key<&Broker::history, 0, 100'000>, "history: 1000"},
}};

}  // namespace

void read_broker(Context& context, const Field& field, Draft& draft) {
  read_mapping(context, field, std::span<const Key<Broker>>(kBroker), draft.config.broker);
}

void add_broker_keys(std::vector<std::string>& out) {
  add_keys(out, "broker.", kBroker);
  add_keys(out, "broker.rules.", kRule);
}

}  // namespace mcpx::config
