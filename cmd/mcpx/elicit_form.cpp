#include "elicit_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <charconv>

#include "json/json.hpp"
#include "reply.hpp"

namespace mcpx::cli {
namespace {

void add_choices(FormField& field, const bj::object& from) {
  if (const bj::array* values = array_of(from, "enum")) {
    const bj::array* names = array_of(from, "enumNames");
    for (std::size_t i = 0; i < values->size(); ++i) {
      if (!(*values)[i].is_string()) continue;
      Choice choice;
      choice.value = std::string((*values)[i].get_string());
      if (names && i < names->size() && (*names)[i].is_string()) {
        choice.title = std::string((*names)[i].get_string());
      }
      field.choices.push_back(std::move(choice));
    }
  }
  for (const char* key : {"oneOf", "anyOf"}) {
    const bj::array* options = array_of(from, key);
    if (!options) continue;
    for (const bj::value& option : *options) {
      if (!option.is_object()) continue;
      Choice choice;
      choice.value = text_of(option.get_object(), "const");
      choice.title = text_of(option.get_object(), "title");
      field.choices.push_back(std::move(choice));
    }
  }
}

FormField::Type type_of(const std::string& name) {
  if (name == "number") return FormField::Type::number;
  if (name == "integer") return FormField::Type::integer;
  if (name == "boolean") return FormField::Type::boolean;
  return name == "array" ? FormField::Type::list : FormField::Type::text;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t\r"), text.size());
  const std::size_t last = text.find_last_not_of(" \t\r");
  return last == std::string_view::npos ? std::string_view() : text.substr(first, last + 1 - first);
}

Error wrong(const FormField& field, std::string_view what) {
  return Error("cli.usage", fmt::format("'{}' must be {}", field.name, what));
}

// A value or a title; the number of a choice only where no value reads like one.
Result<std::string> choice_json(const FormField& field, std::string_view typed) {
  for (const Choice& choice : field.choices) {
    if (choice.value == typed) return json::quoted(choice.value);
  }
  for (const Choice& choice : field.choices) {
    if (!choice.title.empty() && choice.title == typed) return json::quoted(choice.value);
  }
  std::size_t number = 0;
  const auto [end, failure] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
  const bool whole = failure == std::errc() && end == typed.data() + typed.size();
  if (whole && number >= 1 && number <= field.choices.size()) {
    return json::quoted(field.choices[number - 1].value);
  }
  std::vector<std::string> values;
  for (const Choice& choice : field.choices)
    values.push_back(choice.value);
  return wrong(field, fmt::format("one of {}", fmt::join(values, ", ")));
}

Result<std::string> list_json(const FormField& field, std::string_view typed) {
  std::string out = "[";
  while (!typed.empty()) {
    const std::size_t comma = std::min(typed.find(','), typed.size());
    const std::string_view one = trimmed(typed.substr(0, comma));
    typed.remove_prefix(std::min(comma + 1, typed.size()));
    if (one.empty()) continue;
    const Result<std::string> value =
        field.choices.empty() ? Result<std::string>(json::quoted(one)) : choice_json(field, one);
    if (!value) return value;
    if (out.size() > 1) out += ',';
    out += *value;
  }
  return out + "]";
}

std::string describe(const FormField& field) {
  std::string out = field.title.empty() ? field.name : field.title;
  if (!field.description.empty()) out += ": " + field.description;
  return printable(out);
}

std::string prompt_of(const FormField& field) {
  std::string hint;
  switch (field.type) {
    case FormField::Type::boolean:
      hint = "yes or no";
      break;
    case FormField::Type::integer:
      hint = "whole number";
      break;
    case FormField::Type::number:
      hint = "number";
      break;
    case FormField::Type::list:
      hint = "separated by commas";
      break;
    case FormField::Type::text:
      break;
  }
  std::string out = printable(field.name);
  if (!hint.empty()) out += " (" + hint + ")";
  if (!field.preset.empty()) out += " [" + printable(field.preset) + "]";
  if (!field.required) out += field.preset.empty() ? " [leave out]" : "";
  return out + ": ";
}

// As a shell reads it back: names come from a server, and commands are pasted.
std::string shell_word(const std::string& text) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  if (text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace

std::vector<FormField> form_of(const bj::object& schema) {
  std::vector<FormField> fields;
  const bj::object* properties = object_of(schema, "properties");
  if (!properties) return fields;
  const bj::array* required = array_of(schema, "required");
  for (const auto& member : *properties) {
    if (!member.value().is_object()) continue;
    const bj::object& property = member.value().get_object();
    FormField field;
    field.name = std::string(member.key());
    field.title = text_of(property, "title");
    field.description = text_of(property, "description");
    field.type = type_of(text_of(property, "type"));
    if (const bj::value* preset = property.if_contains("default")) {
      field.preset = bj::serialize(*preset);
    }
    add_choices(field, property);
    if (const bj::object* items = object_of(property, "items")) add_choices(field, *items);
    if (required) {
      field.required = std::any_of(required->begin(), required->end(), [&](const bj::value& name) {
        return name.is_string() && std::string_view(name.get_string()) == field.name;
      });
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

Result<std::string> field_json(const FormField& field, std::string_view typed) {
  switch (field.type) {
    case FormField::Type::list:
      return list_json(field, typed);
    case FormField::Type::boolean: {
      const std::string_view word = trimmed(typed);
      for (const std::string_view yes : {"true", "yes", "y"}) {
        if (word == yes) return "true";
      }
      for (const std::string_view no : {"false", "no", "n"}) {
        if (word == no) return "false";
      }
      return wrong(field, "yes or no");
    }
    case FormField::Type::number:
    case FormField::Type::integer: {
      const std::string number(trimmed(typed));
      const bool valid = json::validate(number, json::Limits()).has_value() &&
                         json::kind_of(number) == json::Kind::number;
      if (!valid) return wrong(field, "a number");
      if (field.type == FormField::Type::integer && !json::is_integer(number)) {
        return wrong(field, "a whole number");
      }
      return number;
    }
    case FormField::Type::text:
      break;
  }
  if (!field.choices.empty()) return choice_json(field, trimmed(typed));
  return json::quoted(typed);
}

Result<std::string> content_from_pairs(std::span<const std::string> pairs,
                                       std::span<const FormField> fields) {
  json::ObjectBuilder content;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error("cli.usage", fmt::format("'{}' is not FIELD=VALUE", pair));
    }
    const bool raw = pair[equals - 1] == ':';
    const std::string name = pair.substr(0, equals - (raw ? 1 : 0));
    const std::string value = pair.substr(equals + 1);
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const FormField& one) { return one.name == name; });
    if (field == fields.end()) {
      std::vector<std::string> names;
      for (const FormField& one : fields)
        names.push_back(one.name);
      return Error("cli.usage", fmt::format("the form has no field '{}'", name),
                   fmt::format("its fields: {}", fmt::join(names, ", ")));
    }
    if (raw && !json::validate(value, json::Limits())) {
      return Error("cli.usage", fmt::format("what follows {}:= is not JSON", name));
    }
    const Result<std::string> typed = raw ? Result<std::string>(value) : field_json(*field, value);
    if (!typed) return typed;
    content.raw(name, *typed);
  }
  return content.take();
}

std::string example_options(std::span<const FormField> fields) {
  std::string out;
  for (const FormField& field : fields) {
    if (!field.required) continue;
    const std::string value = field.choices.empty() ? "VALUE" : field.choices.front().value;
    out += " --set " + shell_word(printable(field.name + "=" + value));
  }
  if (out.empty() && !fields.empty()) {
    out = " --set " + shell_word(printable(fields.front().name + "=VALUE"));
  }
  return out;
}

std::optional<std::string> ask_form(const Dialogue& dialogue, std::span<const FormField> fields) {
  json::ObjectBuilder content;
  for (const FormField& field : fields) {
    dialogue.say(describe(field));
    for (std::size_t i = 0; i < field.choices.size(); ++i) {
      const Choice& choice = field.choices[i];
      dialogue.say(fmt::format("  {}. {}{}", i + 1, printable(choice.value),
                               choice.title.empty() ? "" : " - " + printable(choice.title)));
    }
    while (true) {
      const auto typed = dialogue.ask(prompt_of(field));
      if (!typed) return std::nullopt;
      if (typed->empty() && !field.preset.empty()) {
        content.raw(field.name, field.preset);
        break;
      }
      if (typed->empty() && !field.required) break;
      if (typed->empty()) {
        dialogue.say("it has to be filled in");
        continue;
      }
      const Result<std::string> value = field_json(field, *typed);
      if (value) {
        content.raw(field.name, *value);
        break;
      }
      dialogue.say(printable(value.error().message));
    }
  }
  return content.take();
}

std::string host_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("/?#\\"));
  // Who stands before an @ is no host, however much it looks like one.
  const std::size_t at = rest.rfind('@');
  if (at != std::string_view::npos) rest.remove_prefix(at + 1);
  return std::string(rest);
}

bool suspicious_host(std::string_view host) {
  return host.find("xn--") != std::string_view::npos ||
         std::any_of(host.begin(), host.end(), [](char c) { return (c & 0x80) != 0; });
}

}  // namespace mcpx::cli
