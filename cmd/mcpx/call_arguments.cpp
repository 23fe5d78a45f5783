#include "call_arguments.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>
#include <map>

#include "base/padded_buffer.hpp"
#include "json/json.hpp"
#include "reply.hpp"

namespace mcpx::cli {
namespace {

bool is_json(const std::string& text) {
  return json::validate(text, {}).has_value();
}

struct Pair {
  std::string key, value;
  bool raw = false;  // K:=JSON
};

Result<Pair> split(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || word.substr(0, equals) == ":") {
    return Error("cli.usage", fmt::format("'{}' is no argument", word),
                 "write --arg NAME=VALUE or --arg NAME:=JSON");
  }
  Pair out;
  out.raw = word[equals - 1] == ':';
  out.key = word.substr(0, out.raw ? equals - 1 : equals);
  out.value = word.substr(equals + 1);
  return out;
}

// "number", "integer", "boolean", "string", ...; several when the schema says so.
bool schema_has_type(const bj::object& schema, const std::string& key, std::string_view type,
                     bool& known) {
  const bj::object* properties = object_of(schema, "properties");
  const bj::object* property = properties ? object_of(*properties, key) : nullptr;
  const bj::value* types = property ? property->if_contains("type") : nullptr;
  if (!types) return false;
  known = true;
  if (types->is_string()) return types->get_string() == bj::string_view(type.data(), type.size());
  if (!types->is_array()) return false;
  for (const bj::value& one : types->get_array()) {
    if (one.is_string() && one.get_string() == bj::string_view(type.data(), type.size()))
      return true;
  }
  return false;
}

Result<std::string> value_of(const Pair& pair, const bj::object& schema) {
  const bool json = is_json(pair.value);
  if (pair.raw && !json) {
    return Error("cli.usage", fmt::format("the value of '{}' is not JSON", pair.key),
                 "write --arg NAME=TEXT for text");
  }
  if (pair.raw) return pair.value;
  bool known = false;
  const bool text = schema_has_type(schema, pair.key, "string", known);
  // A text in quotes is meant with them, and a type that takes text takes anything as text.
  if (!json || text || pair.value.find_first_not_of(" \t") == std::string::npos ||
      (!known && pair.value.front() == '"')) {
    return json::quoted(pair.value);
  }
  return pair.value;
}

}  // namespace

Result<std::string> checked_arguments(std::string text) {
  const auto valid = json::validate(text, {});
  if (!valid) {
    return Error("cli.usage", "the arguments are not JSON: " + valid.error().message,
                 "quote them for the shell: '{\"name\": \"value\"}'");
  }
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (text[start] != '{') {
    return Error("cli.usage", "the arguments are not a JSON object",
                 "write for example '{\"name\": \"value\"}'");
  }
  return text;
}

bool needs_schema(std::span<const std::string> pairs) {
  for (const std::string& word : pairs) {
    const auto pair = split(word);
    if (pair && !pair->raw && is_json(pair->value)) return true;
  }
  return false;
}

Result<std::string> arguments_from_pairs(std::span<const std::string> pairs,
                                         const bj::object& schema) {
  json::ObjectBuilder object;
  std::map<std::string, bool> seen;
  for (const std::string& word : pairs) {
    const auto pair = split(word);
    if (!pair) return pair.error();
    if (!seen.emplace(pair->key, true).second) {
      return Error("cli.usage", fmt::format("the argument '{}' is given twice", pair->key),
                   "for a list write --arg NAME:='[...]'");
    }
    const auto value = value_of(*pair, schema);
    if (!value) return value.error();
    object.raw(pair->key, *value);
  }
  return object.take();
}

bj::object find_input_schema(const std::string& tools_reply, std::string_view tool) {
  boost::system::error_code failure;
  bj::parse_options options;
  options.max_depth = 200;
  const bj::value reply = bj::parse(tools_reply, failure, {}, options);
  if (failure || !reply.is_object()) return {};
  const bj::array* tools = array_of(reply.get_object(), "tools");
  if (!tools) return {};
  for (const bj::value& entry : *tools) {
    if (!entry.is_object() || text_of(entry.get_object(), "name") != tool) continue;
    const bj::object* definition = object_of(entry.get_object(), "definition");
    const bj::object* schema = definition ? object_of(*definition, "inputSchema") : nullptr;
    return schema ? *schema : bj::object();
  }
  return {};
}

}  // namespace mcpx::cli
