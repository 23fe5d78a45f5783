// Results, definitions and notifications put together from the official schemas: an object of every
// definition with each property that any revision gives it. What a revision defines must arrive
// byte for byte, and nothing else may.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "json/json.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/spelling.hpp"
#include "schemas.hpp"

namespace mcpx::mcp {
namespace {

using enum Revision;

// What is sent, and what must be left of it.
struct Sample {
  std::string source, expected;
};

class Sampler {
 public:
  Sampler(const Schemas& schemas, Revision to) : schemas_(schemas), to_(to) {}

  // An object of the definition with every property of every revision.
  Sample object(const std::string& name) {
    Sample sample{"{", "{"};
    for (const auto& [property, node] : properties(name)) {
      const bool kept = defined(name, property);
      seen_.insert(name + "." + property);
      if (!kept) dropped_.insert(name + "." + property);
      const Sample inner = member(name, property, node);
      const std::string key = json::quoted(property) + ":";
      append(sample.source, key + inner.source);
      if (kept) append(sample.expected, key + inner.expected);
    }
    return {sample.source + "}", sample.expected + "}"};
  }

  const std::set<std::string>& seen() const { return seen_; }
  const std::set<std::string>& dropped() const { return dropped_; }

 private:
  static void append(std::string& out, const std::string& item) {
    if (out.size() > 1) out += ',';
    out += item;
  }
  static Sample same(std::string text) { return {text, text}; }

  const std::string& schema(Revision revision) const {
    return schemas_[static_cast<std::size_t>(revision)];
  }
  // The properties of a definition: of the object itself, or of a message's params before
  // 2025-11-25 gave those a name.
  std::optional<json::Raw> properties_in(const std::string& name, Revision revision) const {
    const auto found = definition(schema(revision), name);
    if (found) return json::find(*found, "properties");
    const std::string_view params = "Params";
    if (name.size() <= params.size() || !name.ends_with(params)) return std::nullopt;
    const auto message = definition(schema(revision), name.substr(0, name.size() - params.size()));
    return message ? json::find(*message, "properties", "params", "properties") : std::nullopt;
  }
  bool defined(const std::string& name, const std::string& property) const {
    // 2024-11-05 writes them out at every place, with the two members that 2025-03-26 names.
    const Revision revision = name == "Annotations" ? std::max(to_, r2025_03_26) : to_;
    const auto found = properties_in(name, revision);
    if (found && json::find(*found, property)) return true;
    // That of a notification is in the base of all of them.
    return property == "_meta" && name.ends_with("NotificationParams");
  }
  bool exists(const std::string& name) const { return definition(schema(to_), name).has_value(); }

  // Each with the newest schema it has.
  std::vector<std::pair<std::string, json::Raw>> properties(const std::string& name) const {
    std::vector<std::pair<std::string, json::Raw>> out;
    for (auto at = kAllRevisions.rbegin(); at != kAllRevisions.rend(); ++at) {
      const auto found = properties_in(name, *at);
      if (!found) continue;
      json::Members members(*found);
      while (const auto member = members.next()) {
        const std::string property = *json::decode_string(member->key);
        const auto known = [&](const auto& entry) { return entry.first == property; };
        if (std::none_of(out.begin(), out.end(), known)) out.emplace_back(property, member->value);
      }
    }
    return out;
  }

  Sample member(const std::string& name, const std::string& property, json::Raw node) {
    if (property == "_meta") return meta(name);
    if (property == "inputSchema" || property == "outputSchema") {
      return same(R"({"type":"object","properties":{"a":{"type":"string"}}})");
    }
    if (property == "structuredContent") return same(R"({"n":1.0})");
    // With the text that makes another one needless.
    if (name == "CallToolResult" && property == "content") {
      Sample blocks = value(node);
      const std::string text = R"([{"type":"text","text":"{\"n\": 1.0}"},)";
      return {text + blocks.source.substr(1), text + blocks.expected.substr(1)};
    }
    return value(node);
  }

  Sample meta(const std::string& name) const {
    const bool protocol_keys = name.ends_with("Result") || name.ends_with("NotificationParams");
    if (!protocol_keys) return same(R"({"vendor/k":[1.0]})");
    std::string source = R"({"vendor/k":1)", expected = source;
    for (const auto& [key, feature] : {std::pair(kMetaServerInfo, Feature::server_info_in_meta),
                                       std::pair(kMetaSubscriptionId, Feature::server_info_in_meta),
                                       std::pair(kMetaRelatedTask, Feature::related_task_meta)}) {
      const std::string text = json::quoted(key) + ":{}";
      append(source, text);
      if (defines(to_, feature)) append(expected, text);
    }
    return {source + "}", expected + "}"};
  }

  Sample value(json::Raw node) {
    if (const auto reference = json::find_string(node, "$ref")) {
      return of_definition(reference->substr(reference->rfind('/') + 1));
    }
    if (const auto constant = json::find(node, "const")) return same(std::string(*constant));
    if (const auto values = json::find(node, "enum")) {
      return same(std::string(*json::Elements(*values).next()));
    }
    if (const auto choices = json::find(node, "anyOf")) return each(*choices, true);
    const std::string type = json::find_string(node, "type").value_or("");
    if (type == "array") {
      const Sample items = each_of(*json::find(node, "items"));
      return {"[" + items.source + "]", "[" + items.expected + "]"};
    }
    if (type == "object") return plain_object(node);
    if (type == "string") return same(R"("x:\u0079\/")");
    if (type == "boolean") return same("false");
    return same(type == "integer" ? "7" : "0.50");
  }

  Sample of_definition(const std::string& name) {
    const auto newest = definition(schemas_.back(), name);
    const auto found = newest ? newest : definition(schema(r2025_11_25), name);
    if (json::find(*found, "properties")) return object(name);
    return value(*found);
  }

  Sample plain_object(json::Raw node) {
    const auto members = json::find(node, "properties");
    if (!members) return same(R"({"any":[null]})");
    Sample sample{"{", "{"};
    json::Members properties(*members);
    while (const auto property = properties.next()) {
      const Sample inner = value(property->value);
      append(sample.source, std::string(property->key) + ":" + inner.source);
      append(sample.expected, std::string(property->key) + ":" + inner.expected);
    }
    return {sample.source + "}", sample.expected + "}"};
  }

  // Of a union the members that the revision has: all of them in an array, else the first.
  Sample each(json::Raw choices, bool one) {
    Sample sample;
    json::Elements elements(choices);
    while (const auto element = elements.next()) {
      const std::string reference = json::find_string(*element, "$ref").value_or("");
      if (!reference.empty() && !exists(reference.substr(reference.rfind('/') + 1))) continue;
      const Sample inner = value(*element);
      sample.source += (sample.source.empty() ? "" : ",") + inner.source;
      sample.expected += (sample.expected.empty() ? "" : ",") + inner.expected;
      if (one) break;
    }
    return sample;
  }
  Sample each_of(json::Raw items) {
    json::Raw node = items;
    const std::string reference = json::find_string(items, "$ref").value_or("");
    if (!reference.empty()) {
      node = *definition(schemas_.back(), reference.substr(reference.rfind('/') + 1));
    }
    const auto choices = json::find(node, "anyOf");
    return choices ? each(*choices, false) : value(items);
  }

  const Schemas& schemas_;
  Revision to_;
  std::set<std::string> seen_, dropped_;
};

TEST_CASE("of every result a caller gets the properties that its revision defines, no others",
          "[req:messages-resulttype-absent-means-complete]") {
  const Schemas schemas = read_schemas();
  const std::vector<std::pair<Method, const char*>> results = {
      {Method::tools_list, "ListToolsResult"},
      {Method::tools_call, "CallToolResult"},
      {Method::prompts_list, "ListPromptsResult"},
      {Method::prompts_get, "GetPromptResult"},
      {Method::resources_list, "ListResourcesResult"},
      {Method::resources_templates_list, "ListResourceTemplatesResult"},
      {Method::resources_read, "ReadResourceResult"},
      {Method::completion_complete, "CompleteResult"},
      {Method::ping, "Result"}};
  for (const auto& [method, name] : results) {
    for (const Revision to : kAllRevisions) {
      // Lists of tools are put together from definitions, which the next test is about.
      if (method == Method::tools_list && to == r2026_07_28) continue;
      for (const Revision from : kAllRevisions) {
        Sampler sampler(schemas, to);
        const Sample sample = sampler.object(name);
        CAPTURE(name, text(from), text(to));
        ResultContext context;
        context.from = from;
        context.to = to;
        std::string out;
        append_result_for(out, method, sample.source, context);
        if (passes_whole(from, to) || (from == r2026_07_28 && to == r2026_07_28)) {
          CHECK(out == sample.source);
        } else {
          CHECK(out == sample.expected);
        }
        CHECK(sampler.seen().size() >= 2);  // `_meta` and `resultType`
        CHECK((to == r2026_07_28) == sampler.dropped().empty());
      }
    }
  }
}

TEST_CASE("of every definition a caller gets the properties that its revision defines, no others") {
  const Schemas schemas = read_schemas();
  const std::vector<std::pair<ListKind, const char*>> kinds = {
      {ListKind::tools, "Tool"},
      {ListKind::prompts, "Prompt"},
      {ListKind::resources, "Resource"},
      {ListKind::resource_templates, "ResourceTemplate"}};
  for (const auto& [kind, name] : kinds) {
    for (const Revision to : kAllRevisions) {
      CAPTURE(name, text(to));
      Sampler sampler(schemas, to);
      const Sample sample = sampler.object(name);
      std::string out;
      append_definition_for(out, kind, sample.source, to);
      CHECK(out == sample.expected);
      CHECK(sampler.seen().size() >= 6);
      const bool loses = to < r2025_11_25 || (to == r2026_07_28 && kind == ListKind::tools);
      CHECK(loses == !sampler.dropped().empty());
    }
  }
  for (const Revision to : kAllRevisions) {
    const Sample sample = Sampler(schemas, to).object("Implementation");
    std::string out;
    append_implementation_for(out, sample.source, to);
    CHECK(out == sample.expected);
  }
}

TEST_CASE("of every notification a caller gets the parameters that its revision defines") {
  const Schemas schemas = read_schemas();
  const std::vector<std::pair<Method, const char*>> notifications = {
      {Method::notify_progress, "ProgressNotificationParams"},
      {Method::notify_message, "LoggingMessageNotificationParams"},
      {Method::notify_resources_updated, "ResourceUpdatedNotificationParams"}};
  for (const auto& [method, name] : notifications) {
    for (const Revision to : kAllRevisions) {
      CAPTURE(name, text(to));
      Sampler sampler(schemas, to);
      const Sample sample = sampler.object(name);
      std::string out;
      append_notification_params_for(out, method, sample.source, to);
      CHECK(out == sample.expected);
      CHECK(sampler.seen().count(std::string(name) + "._meta") == 1);
    }
  }
}

}  // namespace
}  // namespace mcpx::mcp
