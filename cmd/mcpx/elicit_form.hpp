// The form of an elicitation: its fields, and what a person types as JSON (2025-11-25
// client/elicitation, "Requested Schema"). Pure. Thread: any.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace mcpx::cli {

struct Choice {
  std::string value, title;
};

struct FormField {
  std::string name, title, description;
  enum class Type { text, number, integer, boolean, list } type = Type::text;
  bool required = false;
  std::string preset;           // JSON of its default; empty: it has none
  std::vector<Choice> choices;  // of a text, or of the entries of a list
};

std::vector<FormField> form_of(const boost::json::object& schema);

// What was typed, as JSON: a choice by its number, value or title; entries of a list separated by
// commas. Error: cli.usage.
Result<std::string> field_json(const FormField& field, std::string_view typed);

// The content object of NAME=VALUE words (NAME:=JSON is JSON as it is). Error: cli.usage.
Result<std::string> content_from_pairs(std::span<const std::string> pairs,
                                       std::span<const FormField> fields);

// "name=VALUE" for each field that has to be filled in: what an example command says.
std::string example_options(std::span<const FormField> fields);

// Asks for one field after the other. `ask` shows a prompt and answers a line, nullopt at the end
// of input; `say` shows a line. nullopt: the input ended.
struct Dialogue {
  std::function<std::optional<std::string>(const std::string& prompt)> ask;
  std::function<void(const std::string& line)> say;
};
std::optional<std::string> ask_form(const Dialogue& dialogue, std::span<const FormField> fields);

// The host of a URL as it is shown to who decides whether to go there; with a warning when it is
// written in more than ASCII, or so that it looks like that.
std::string host_of(std::string_view url);
bool suspicious_host(std::string_view host);

}  // namespace mcpx::cli
