#include "config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/values.hpp"

namespace mcpx::config {
namespace {

bool is_number(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
         text.find_first_of("0123456789") == 0;
}

bool is_boolean(std::string_view text) {
  return text == "true" || text == "false" || text == "True" || text == "False" || text == "TRUE" ||
         text == "FALSE";
}

// What other programs call our keys: too far off for the edit distance.
struct Synonym {
  std::string_view foreign, ours;
};
constexpr std::array<Synonym, 16> kSynonyms = {{{"serverUrl", "url"},
                                                {"httpUrl", "url"},
                                                {"endpoint", "url"},
                                                {"cmd", "command"},
                                                {"executable", "command"},
                                                {"arguments", "args"},
                                                {"environment", "env"},
                                                {"workingDirectory", "cwd"},
                                                {"working_dir", "cwd"},
                                                {"timeout", "call_timeout"},
                                                {"includeTools", "tools.allow"},
                                                {"excludeTools", "tools.deny"},
                                                {"disabledTools", "tools.deny"},
                                                {"bind", "listen.http"},
                                                {"port", "listen.http"},
                                                {"upstreams", "servers"}}};

}  // namespace

void Context::warn(Position at, std::string message) {
  warnings.push_back(fmt::format("{}:{}:{}: {}", file, at.line, at.column, message));
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::list:
      return "a list";
    case Node::Kind::mapping:
      return "a mapping";
    case Node::Kind::scalar:
      break;
  }
  // The text itself is not shown: it may be a secret in the wrong place.
  if (node.plain && is_boolean(node.scalar)) return "a boolean";
  if (node.plain && is_number(node.scalar)) return "a number";
  return "text";
}

void wrong_type(Context& context, const Field& field, std::string_view expected) {
  context.problems.add(
      field.value_at(),
      fmt::format("'{}' must be {}, not {}", field.name, expected, describe(field.value)),
      fmt::format("write for example: {}", field.example));
}

void out_of_range(Context& context, const Field& field, std::string_view range) {
  context.problems.add(field.value_at(), fmt::format("'{}' must be {}", field.name, range),
                       fmt::format("write for example: {}", field.example));
}

bool require_mapping(Context& context, const Field& field) {
  if (field.value.kind == Node::Kind::mapping || field.value.kind == Node::Kind::null) return true;
  wrong_type(context, field, "a mapping");
  return false;
}

void unknown_key(Context& context, const Node::Entry& entry,
                 std::span<const std::string_view> known) {
  std::string suggestion;
  for (const Synonym& synonym : kSynonyms) {
    const std::string_view head = synonym.ours.substr(0, synonym.ours.find('.'));
    const bool here = std::find(known.begin(), known.end(), head) != known.end();
    if (synonym.foreign == entry.key && here) {
      suggestion = fmt::format("did you mean '{}'?", synonym.ours);
    }
  }
  if (suggestion.empty()) suggestion = suggestion_for(entry.key, known);
  context.problems.add(entry.at, fmt::format("unknown key '{}'", entry.key), suggestion);
}

bool read_plain_text(Context& context, const Field& field, std::string& out) {
  const Node& value = field.value;
  const bool text = value.kind == Node::Kind::scalar &&
                    !(value.plain && (is_boolean(value.scalar) || is_number(value.scalar)));
  if (!text) {
    wrong_type(context, field, "text");
    return false;
  }
  out = value.scalar;
  return true;
}

bool read_text(Context& context, const Field& field, Secrecy secrecy, std::string& out) {
  std::string raw;
  if (!read_plain_text(context, field, raw)) return false;
  Expansion expansion = expand(context, raw, field.value_at(), secrecy);
  if (expansion.ok) out = std::move(expansion.text);
  return expansion.ok;
}

void read_bool(Context& context, const Field& field, bool& out) {
  const Node& value = field.value;
  if (value.kind != Node::Kind::scalar || !value.plain ||
      (value.scalar != "true" && value.scalar != "false")) {
    wrong_type(context, field, "true or false");
    return;
  }
  out = value.scalar == "true";
}

void read_integer(Context& context, const Field& field, std::uint64_t minimum,
                  std::uint64_t maximum, std::size_t& out) {
  const auto number =
      field.value.kind == Node::Kind::scalar ? parse_integer(field.value.scalar) : std::nullopt;
  if (!number) {
    wrong_type(context, field, "a whole number");
  } else if (*number < minimum || *number > maximum) {
    out_of_range(context, field, fmt::format("from {} to {}", minimum, maximum));
  } else {
    out = static_cast<std::size_t>(*number);
  }
}

void read_size(Context& context, const Field& field, std::uint64_t minimum, std::uint64_t maximum,
               std::size_t& out) {
  const auto size =
      field.value.kind == Node::Kind::scalar ? parse_size(field.value.scalar) : std::nullopt;
  if (!size) {
    wrong_type(context, field, "a size in B, KiB, MiB or GiB");
  } else if (*size < minimum || *size > maximum) {
    out_of_range(context, field,
                 fmt::format("from {} to {}", format_size(minimum), format_size(maximum)));
  } else {
    out = static_cast<std::size_t>(*size);
  }
}

void read_duration(Context& context, const Field& field, Milliseconds minimum, Milliseconds& out) {
  const auto time =
      field.value.kind == Node::Kind::scalar ? parse_duration(field.value.scalar) : std::nullopt;
  if (!time) {
    wrong_type(context, field, "a duration with its unit (ms, s, m, h), at most a week");
  } else if (*time < minimum) {
    out_of_range(context, field, fmt::format("at least {}", format_duration(minimum)));
  } else {
    out = *time;
  }
}

void read_list(Context& context, const Field& field, std::vector<std::string>& out) {
  if (field.value.kind == Node::Kind::null) return;
  if (field.value.kind != Node::Kind::list) return wrong_type(context, field, "a list");
  for (const NodePtr& item : field.value.items) {
    if (item->kind == Node::Kind::scalar) {
      out.push_back(item->scalar);
    } else {
      context.problems.add(
          item->kind == Node::Kind::null ? field.at : item->at,
          fmt::format("'{}' must be a list of texts, and holds {}", field.name, describe(*item)),
          fmt::format("write for example: {}", field.example));
    }
  }
}

void read_text_list(Context& context, const Field& field, Secrecy secrecy,
                    std::vector<std::string>& out) {
  std::vector<std::string> raw;
  read_list(context, field, raw);
  std::size_t index = 0;
  for (const std::string& text : raw) {
    // Problems were reported for items that are no text; positions stay exact without them.
    const bool exact = field.value.items.size() == raw.size();
    const Position at = exact ? field.value.items[index]->at : field.value.at;
    Expansion expansion = expand(context, text, at, secrecy);
    out.push_back(std::move(expansion.text));
    ++index;
  }
}

bool read_choice(Context& context, const Field& field, std::span<const std::string_view> choices,
                 std::size_t& index) {
  const Node& value = field.value;
  if (value.kind != Node::Kind::scalar) {
    wrong_type(context, field, "text");
    return false;
  }
  const auto found = std::find(choices.begin(), choices.end(), value.scalar);
  if (found == choices.end()) {
    context.problems.add(value.at, fmt::format("'{}' cannot be '{}'", field.name, value.scalar),
                         suggestion_for(value.scalar, choices));
    return false;
  }
  index = static_cast<std::size_t>(found - choices.begin());
  return true;
}

}  // namespace mcpx::config
