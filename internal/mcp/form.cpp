#include "mcp/form.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace mcpx::mcp {
namespace {

using json::Raw;

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

bool same_value(Raw a, Raw b) {
  const auto text = json::decode_string(a);
  if (text) return text == json::decode_string(b);
  const auto order = json::compare_numbers(a, b);
  return order ? *order == 0 : a == b;
}

// Among the values of `enum`, or the `const` of `oneOf`/`anyOf`. True where there is no choice.
bool is_choice(Raw field, Raw value) {
  if (const auto values = json::find(field, "enum"); values && json::is_array(*values)) {
    json::Elements elements(*values);
    while (const auto element = elements.next()) {
      if (same_value(*element, value)) return true;
    }
    return false;
  }
  for (const std::string_view key : {"oneOf", "anyOf"}) {
    const auto options = json::find(field, key);
    if (!options || !json::is_array(*options)) continue;
    json::Elements elements(*options);
    while (const auto element = elements.next()) {
      const auto constant = json::find(*element, "const");
      if (constant && same_value(*constant, value)) return true;
    }
    return false;
  }
  return true;
}

bool digits_at(std::string_view text, std::size_t at, std::size_t count) {
  return text.size() >= at + count &&
         text.substr(at, count).find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_date(std::string_view text) {
  return text.size() == 10 && digits_at(text, 0, 4) && text[4] == '-' && digits_at(text, 5, 2) &&
         text[7] == '-' && digits_at(text, 8, 2) && text.substr(5, 2) >= "01" &&
         text.substr(5, 2) <= "12" && text.substr(8) >= "01" && text.substr(8) <= "31";
}

bool is_date_time(std::string_view text) {
  if (text.size() < 20 || !is_date(text.substr(0, 10))) return false;
  const bool time = (text[10] == 'T' || text[10] == 't') && digits_at(text, 11, 2) &&
                    text[13] == ':' && digits_at(text, 14, 2) && text[16] == ':' &&
                    digits_at(text, 17, 2);
  const char last = text.back();
  return time && (last == 'Z' || last == 'z' || text.find_first_of("+-", 19) != text.npos);
}

// Only what is certainly none: what exactly is one, the server decides.
bool is_format(std::string_view format, std::string_view text) {
  if (format == "date") return is_date(text);
  if (format == "date-time") return is_date_time(text);
  if (format == "email") {
    const std::size_t at = text.find('@');
    return at != text.npos && at > 0 && at + 1 < text.size() && text.find(' ') == text.npos;
  }
  if (format == "uri") {
    const std::size_t colon = text.find(':');
    return colon != text.npos && colon > 0 && text.find(' ') == text.npos;
  }
  return true;
}

std::optional<std::int64_t> limit(Raw field, std::string_view key) {
  const auto value = json::find(field, key);
  return value ? json::as_integer(*value) : std::nullopt;
}

std::string text_problem(Raw field, Raw value) {
  const auto text = json::decode_string(value);
  if (!text) return "must be text";
  const auto length = static_cast<std::int64_t>(characters(*text));
  const auto least = limit(field, "minLength"), most = limit(field, "maxLength");
  if (least && length < *least) {
    return "must have " + std::to_string(*least) + " characters at least";
  }
  if (most && length > *most) return "must have " + std::to_string(*most) + " characters at most";
  const auto format = json::find_string(field, "format");
  if (format && !is_format(*format, *text)) return "must be of the format '" + *format + "'";
  return {};
}

std::string number_problem(Raw field, Raw value, bool whole) {
  if (json::kind_of(value) != json::Kind::number) return "must be a number";
  if (whole && !json::is_integer(value)) return "must be a whole number";
  const auto least = json::find(field, "minimum"), most = json::find(field, "maximum");
  if (least && json::compare_numbers(value, *least).value_or(0) < 0) {
    return "must be " + std::string(*least) + " at least";
  }
  if (most && json::compare_numbers(value, *most).value_or(0) > 0) {
    return "must be " + std::string(*most) + " at most";
  }
  return {};
}

std::string list_problem(Raw field, Raw value) {
  if (!json::is_array(value)) return "must be a list";
  const Raw items = json::find(field, "items").value_or("{}");
  std::int64_t count = 0;
  json::Elements elements(value);
  while (const auto element = elements.next()) {
    ++count;
    if (!json::is_string(*element)) return "must be a list of texts";
    if (!is_choice(items, *element)) return "holds what is none of the choices";
  }
  const auto least = limit(field, "minItems"), most = limit(field, "maxItems");
  if (least && count < *least) return "must have " + std::to_string(*least) + " entries at least";
  if (most && count > *most) return "must have " + std::to_string(*most) + " entries at most";
  return {};
}

std::string problem_of(Raw field, Raw value) {
  const auto type = json::find_string(field, "type");
  if (type == "array") return list_problem(field, value);
  std::string problem;
  if (type == "string") problem = text_problem(field, value);
  if (type == "number" || type == "integer") {
    problem = number_problem(field, value, type == "integer");
  }
  if (type == "boolean" && !json::as_bool(value)) problem = "must be true or false";
  if (problem.empty() && !is_choice(field, value)) problem = "is none of the choices";
  return problem;
}

std::unordered_set<std::string> required_fields(Raw schema) {
  std::unordered_set<std::string> names;
  const auto required = json::find(schema, "required");
  if (!required || !json::is_array(*required)) return names;
  json::Elements elements(*required);
  while (const auto element = elements.next()) {
    if (auto name = json::decode_string(*element)) names.insert(std::move(*name));
  }
  return names;
}

// Lower case, without what stands between words.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

bool is_sensitive(std::string_view text) {
  static constexpr std::string_view kWords[] = {
      "password", "passwd", "passphrase", "secret",     "apikey",     "accesstoken", "authtoken",
      "bearer",   "token",  "credential", "privatekey", "creditcard", "cardnumber",  "cvv"};
  const std::string word = plain(text);
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view known) { return word.find(known) != std::string::npos; });
}

}  // namespace

std::vector<std::string> form_problems(Raw schema, Raw content) {
  std::vector<std::string> problems;
  if (!json::is_object(content)) return {"the content must be an object"};
  std::unordered_map<std::string, Raw> given;
  std::vector<std::string> names;  // in their order
  json::Members members(content);
  while (const auto member = members.next()) {
    std::string name = json::decode_string(member->key).value_or("");
    // Who reads the answer may take the one that was not looked at.
    if (!given.emplace(name, member->value).second) {
      problems.push_back("'" + name + "' is given twice");
    } else {
      names.push_back(std::move(name));
    }
  }
  const std::unordered_set<std::string> required = required_fields(schema);
  std::unordered_set<std::string> asked;
  json::Members fields(json::find(schema, "properties").value_or("{}"));
  while (const auto field = fields.next()) {
    const std::string name = json::decode_string(field->key).value_or("");
    asked.insert(name);
    const auto value = given.find(name);
    if (value == given.end()) {
      if (required.count(name) != 0) problems.push_back("'" + name + "' is missing");
      continue;
    }
    const std::string problem = problem_of(field->value, value->second);
    if (!problem.empty()) problems.push_back("'" + name + "' " + problem);
  }
  for (const std::string& name : names) {
    if (asked.count(name) == 0) problems.push_back("'" + name + "' is not asked for");
  }
  return problems;
}

std::vector<std::string> form_fields(Raw schema) {
  std::vector<std::string> names;
  json::Members fields(json::find(schema, "properties").value_or("{}"));
  while (const auto field = fields.next())
    names.push_back(json::decode_string(field->key).value_or(""));
  return names;
}

std::vector<std::string> sensitive_fields(Raw schema) {
  std::vector<std::string> names;
  json::Members fields(json::find(schema, "properties").value_or("{}"));
  while (const auto field = fields.next()) {
    const std::string name = json::decode_string(field->key).value_or("");
    const bool text = json::find_string(field->value, "type") == "string";
    const bool format = json::find_string(field->value, "format") == "password";
    const std::string title = json::find_string(field->value, "title").value_or("");
    if (text && (format || is_sensitive(name) || is_sensitive(title))) names.push_back(name);
  }
  return names;
}

}  // namespace mcpx::mcp
