#include "mcp/param_headers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "mcp/header_codec.hpp"

namespace mcpx::mcp {
namespace {

constexpr std::string_view kAnnotation = "x-mcp-header";
constexpr std::string_view kPrefix = "Mcp-Param-";
constexpr std::size_t kShownOfPeer = 40;  // characters of an annotation in a message of ours

// Where JSON Schema keeps further schemas. What stands under any other key (const, default, enum,
// examples) is data, in which the annotation's name means nothing.
constexpr std::array<std::string_view, 16> kOneOrMany = {"additionalItems",
                                                         "additionalProperties",
                                                         "allOf",
                                                         "anyOf",
                                                         "contains",
                                                         "contentSchema",
                                                         "else",
                                                         "if",
                                                         "items",
                                                         "not",
                                                         "oneOf",
                                                         "prefixItems",
                                                         "unevaluatedItems",
                                                         "unevaluatedProperties",
                                                         "then",
                                                         "propertyNames"};
constexpr std::array<std::string_view, 5> kByName = {"$defs", "definitions", "dependencies",
                                                     "dependentSchemas", "patternProperties"};

// tchar of RFC 9110.
bool is_token(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_field(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool permitted_name(json::Raw type) {
  const auto name = json::decode_string(type);
  return name == "string" || name == "integer" || name == "boolean";
}

// `number` is not among them. A parameter that may also be null stays one of its type: null is
// simply not mirrored.
bool permitted_type(const std::optional<json::Raw>& type) {
  if (!type) return false;
  if (!json::is_array(*type)) return permitted_name(*type);
  bool any = false;
  json::Elements elements(*type);
  while (const auto element = elements.next()) {
    if (*element == R"("null")") continue;
    if (!permitted_name(*element)) return false;
    any = true;
  }
  return any;
}

// The annotation as a message may show it: printable and short.
std::string shown(json::Raw value) {
  std::string text(value.substr(0, kShownOfPeer));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

class Reader {
 public:
  ParamHeaders read(json::Raw schema) {
    visit(schema, true);
    if (!found_.problem.empty()) found_.params.clear();
    return std::move(found_);
  }

 private:
  // `reachable`: only `properties` led here. Recursion is bounded by the depth limit of JSON.
  void visit(json::Raw schema, bool reachable) {
    if (!json::is_object(schema) || !found_.problem.empty()) return;
    if (const auto annotation = json::find(schema, kAnnotation)) {
      take(*annotation, json::find(schema, "type"), reachable && !path_.empty());
    }
    json::Members members(schema);
    while (const auto member = members.next()) {
      const auto names = [&](std::string_view key) { return member->key_is(key); };
      if (member->key_is("properties")) {
        visit_each(member->value, reachable);
      } else if (std::any_of(kByName.begin(), kByName.end(), names)) {
        visit_each(member->value, false);
      } else if (std::any_of(kOneOrMany.begin(), kOneOrMany.end(), names)) {
        visit_all(member->value);
      }
    }
  }

  void visit_each(json::Raw by_name, bool reachable) {
    if (!json::is_object(by_name)) return;
    json::Members members(by_name);
    while (const auto member = members.next()) {
      path_.push_back(json::decode_string(member->key).value_or(std::string(member->key)));
      visit(member->value, reachable);
      path_.pop_back();
    }
  }

  void visit_all(json::Raw one_or_many) {
    if (!json::is_array(one_or_many)) return visit(one_or_many, false);
    json::Elements elements(one_or_many);
    while (const auto element = elements.next())
      visit(*element, false);
  }

  void take(json::Raw annotation, const std::optional<json::Raw>& type, bool reachable) {
    const auto name = json::decode_string(annotation);
    if (!reachable) return refuse(annotation, "is not on a property that properties alone lead to");
    if (!json::is_string(annotation)) return refuse(annotation, "is not a string");
    if (annotation == R"("")") return refuse(annotation, "is empty");
    if (!name || !std::all_of(name->begin(), name->end(), is_token)) {
      return refuse(annotation, "has characters that no field name may have");
    }
    if (!permitted_type(type)) {
      return refuse(annotation, "is on a property that is not of type string, integer or boolean");
    }
    std::string field = std::string(kPrefix) + *name;
    const bool taken =
        std::any_of(found_.params.begin(), found_.params.end(),
                    [&](const MirroredParam& other) { return same_field(other.field, field); });
    if (taken) return refuse(annotation, "is there twice, upper and lower case being the same");
    found_.params.push_back({std::move(field), path_});
  }

  void refuse(json::Raw annotation, std::string_view why) {
    found_.problem = std::string(kAnnotation) + ' ' + shown(annotation) + ' ' + std::string(why);
  }

  ParamHeaders found_;
  std::vector<std::string> path_;
};

}  // namespace

ParamHeaders read_param_headers(json::Raw input_schema) {
  if (!json::may_mention(input_schema, kAnnotation)) return {};
  return Reader().read(input_schema);
}

std::optional<json::Raw> mirrored_argument(json::Raw arguments, const MirroredParam& param) {
  json::Raw at = arguments;
  for (const std::string& key : param.path) {
    const auto inner = json::find(at, std::string_view(key));
    if (!inner) return std::nullopt;
    at = *inner;
  }
  const json::Kind kind = json::kind_of(at);
  const bool carried =
      kind == json::Kind::string || kind == json::Kind::number || kind == json::Kind::boolean;
  return carried ? std::optional(at) : std::nullopt;
}

std::optional<std::string> mirrored_value(json::Raw arguments, const MirroredParam& param) {
  const auto value = mirrored_argument(arguments, param);
  if (!value) return std::nullopt;
  if (json::is_string(*value)) {
    const auto text = json::decode_string(*value);
    return text ? std::optional(encode_header(*text)) : std::nullopt;
  }
  // 42.0 and 4.2e1 are the integer 42; what is no integer goes as the caller wrote it, and the
  // server says that it does not fit the schema.
  if (const auto integer = json::as_integer(*value)) return std::to_string(*integer);
  return std::string(*value);
}

}  // namespace mcpx::mcp
