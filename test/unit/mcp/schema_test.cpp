// The tables of revisions, methods and members held against the official schemas.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "json/json.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/method.hpp"
#include "mcp/shapes.hpp"
#include "schemas.hpp"

namespace mcpx::mcp {
namespace {

bool has(const std::string& schema, std::string_view name) {
  return definition(schema, name).has_value();
}

bool has(const std::string& schema, std::string_view name, std::string_view property) {
  const auto found = definition(schema, name);
  return found && json::find(*found, "properties", property).has_value();
}

// A property that was inside `params` before 2025-11-25 gave params definitions of their own.
bool has_parameter(const std::string& schema, const std::string& request,
                   std::string_view property) {
  if (has(schema, request + "Params", property)) return true;
  const auto found = definition(schema, request);
  return found && json::find(*found, "properties", "params", "properties", property).has_value();
}

bool requires_id_in_errors(const std::string& schema) {
  const auto error = definition(schema, "JSONRPCError");
  if (!error) return false;
  json::Elements required(*json::find(*error, "required"));
  while (const auto name = required.next()) {
    if (*name == "\"id\"") return true;
  }
  return false;
}

bool structured_content_is_object(const std::string& schema) {
  const auto result = definition(schema, "CallToolResult");
  return result && json::find(*result, "properties", "structuredContent", "type") == "\"object\"";
}

bool shown_by_schema(Feature feature, const std::string& schema) {
  switch (feature) {
    case Feature::audio_content:
      return has(schema, "AudioContent");
    case Feature::resource_link_content:
      return has(schema, "ResourceLink");
    case Feature::structured_content:
      return has(schema, "CallToolResult", "structuredContent");
    case Feature::structured_content_any:
      return has(schema, "CallToolResult", "structuredContent") &&
             !structured_content_is_object(schema);
    case Feature::last_modified_annotation:
      return has(schema, "Annotations", "lastModified");
    case Feature::meta_on_items:
      return has(schema, "Tool", "_meta") && has(schema, "TextContent", "_meta") &&
             has(schema, "ResourceContents", "_meta");
    case Feature::result_type:
      return has(schema, "Result", "resultType");
    case Feature::cache_hints:
      return has(schema, "ListToolsResult", "ttlMs");
    case Feature::input_required:
      return has(schema, "InputRequiredResult");
    case Feature::server_info_in_meta:
      return has(schema, "ResultMetaObject", kMetaServerInfo);
    case Feature::related_task_meta:
      return has(schema, "RelatedTaskMetadata");
    case Feature::title:
      return has(schema, "Tool", "title");
    case Feature::icons:
      return has(schema, "Tool", "icons");
    case Feature::tool_annotations:
      return has(schema, "Tool", "annotations");
    case Feature::tool_execution:
      return has(schema, "Tool", "execution");
    case Feature::tool_output_schema:
      return has(schema, "Tool", "outputSchema");
    case Feature::implementation_details:
      return has(schema, "Implementation", "websiteUrl") &&
             has(schema, "Implementation", "description");
    case Feature::batches:
      return has(schema, "JSONRPCBatchRequest");
    case Feature::completions_capability:
      return has(schema, "ServerCapabilities", "completions");
    case Feature::completion_context:
      return has_parameter(schema, "CompleteRequest", "context");
    case Feature::elicitation:
      return has(schema, "ElicitRequest");
    case Feature::progress_message:
      return has_parameter(schema, "ProgressNotification", "message");
    case Feature::error_without_id:
      return !requires_id_in_errors(schema);
  }
  return false;
}

TEST_CASE("the table of features agrees with the official schemas") {
  const Schemas schemas = read_schemas();
  for (std::size_t f = 0; f < kFeatures; ++f) {
    const auto feature = static_cast<Feature>(f);
    for (std::size_t i = 0; i < kRevisions; ++i) {
      CAPTURE(info(feature).name, text(kAllRevisions[i]));
      CHECK(defines(kAllRevisions[i], feature) == shown_by_schema(feature, schemas[i]));
    }
  }
}

// The method names of a union such as ClientRequest.
std::set<std::string> methods_of(const std::string& schema, std::string_view name) {
  std::set<std::string> out;
  const auto found = definition(schema, name);
  if (!found) return out;
  const auto add = [&out](json::Raw message) {
    const auto method = json::find(message, "properties", "method", "const");
    if (method) out.insert(*json::decode_string(*method));
  };
  add(*found);  // a union of one is the message itself
  const auto members = json::find(*found, "anyOf");
  if (!members) return out;
  json::Elements elements(*members);
  while (const auto element = elements.next()) {
    const std::string reference = json::find_string(*element, "$ref").value_or("");
    const auto message = definition(schema, reference.substr(reference.rfind('/') + 1));
    if (message) add(*message);
  }
  return out;
}

// Tasks, which 2025-11-25 has in both directions and 2026-07-28 in an extension without a schema
// here, and the notification that belongs to -32042.
bool out_of_scope(std::string_view method) {
  return method.find("tasks/") != std::string_view::npos ||
         method == "notifications/elicitation/complete";
}

TEST_CASE("the table of methods agrees with the official schemas") {
  const Schemas schemas = read_schemas();
  for (std::size_t i = 0; i < kRevisions; ++i) {
    const Revision revision = kAllRevisions[i];
    const std::string& schema = schemas[i];
    std::set<std::string> official;
    for (const char* name :
         {"ClientRequest", "ClientNotification", "ServerRequest", "ServerNotification"}) {
      for (const auto& method : methods_of(schema, name)) {
        if (out_of_scope(method)) continue;
        official.insert(method);
        CAPTURE(text(revision), name, method);
        const auto known = parse_method(method);
        REQUIRE(known.has_value());
        CHECK(info(*known).notification == (std::string(name).find("Notif") != std::string::npos));
        const bool both_ways =
            *known == Method::notify_cancelled || *known == Method::notify_progress;
        const bool by_client = std::string(name).substr(0, 6) == "Client";
        if (*known != Method::ping && !both_ways) CHECK(info(*known).from_client == by_client);
      }
    }
    for (std::size_t m = 0; m < kMethods; ++m) {
      const auto method = static_cast<Method>(m);
      if (!info(method).extension.empty() || out_of_scope(info(method).name)) continue;
      CAPTURE(text(revision), info(method).name);
      CHECK(exists_in(method, revision) == (official.count(std::string(info(method).name)) == 1));
    }
  }
}

TEST_CASE("tasks are in the core of one revision and in an extension of the next") {
  const Revision core = Revision::r2025_11_25;
  const Revision modern = Revision::r2026_07_28;
  for (const Method method : {Method::tasks_get, Method::tasks_cancel}) {
    CHECK(exists_in(method, core));
    CHECK(exists_in(method, modern));
    CHECK_FALSE(exists_in(method, Revision::r2025_06_18));
  }
  for (const Method method : {Method::tasks_result, Method::tasks_list}) {
    CHECK(exists_in(method, core));
    CHECK_FALSE(exists_in(method, modern));
  }
  CHECK(exists_in(Method::tasks_update, modern));
  CHECK_FALSE(exists_in(Method::tasks_update, core));
}

TEST_CASE("cacheable are the results that the schema requires hints of",
          "[req:caching-server-must-hint]") {
  const Schemas schemas = read_schemas();
  const std::string& modern = schemas.back();
  const std::vector<std::pair<Method, const char*>> results = {
      {Method::server_discover, "DiscoverResult"},
      {Method::tools_list, "ListToolsResult"},
      {Method::tools_call, "CallToolResult"},
      {Method::prompts_list, "ListPromptsResult"},
      {Method::prompts_get, "GetPromptResult"},
      {Method::resources_list, "ListResourcesResult"},
      {Method::resources_templates_list, "ListResourceTemplatesResult"},
      {Method::resources_read, "ReadResourceResult"},
      {Method::completion_complete, "CompleteResult"},
      {Method::subscriptions_listen, "SubscriptionsListenResult"},
  };
  for (const auto& [method, name] : results) {
    CAPTURE(name);
    REQUIRE(has(modern, name));
    CHECK(info(method).cacheable == has(modern, name, "ttlMs"));
    CHECK(info(method).cacheable == has(modern, name, "cacheScope"));
  }
}

// The definitions that a shape stands for.
std::vector<const char*> definitions_of(Shape shape) {
  switch (shape) {
    case Shape::annotations:
      return {"Annotations"};
    case Shape::contents:
      return {"TextResourceContents", "BlobResourceContents"};
    case Shape::implementation:
      return {"Implementation"};
    case Shape::prompt:
      return {"Prompt"};
    case Shape::prompt_argument:
      return {"PromptArgument"};
    case Shape::prompt_message:
      return {"PromptMessage"};
    case Shape::resource:
      return {"Resource"};
    case Shape::resource_template:
      return {"ResourceTemplate"};
    case Shape::tool:
      return {"Tool"};
    case Shape::plain_block:
      return {"TextContent", "ImageContent", "AudioContent"};
    case Shape::resource_link_block:
      return {"ResourceLink"};
    case Shape::embedded_block:
      return {"EmbeddedResource"};
    case Shape::call_result:
      return {"CallToolResult"};
    case Shape::initialize_result:
      return {"InitializeResult"};
    case Shape::list_prompts_result:
      return {"ListPromptsResult"};
    case Shape::list_resource_templates_result:
      return {"ListResourceTemplatesResult"};
    case Shape::list_resources_result:
      return {"ListResourcesResult"};
    case Shape::list_tools_result:
      return {"ListToolsResult"};
    case Shape::other_result:
      return {"Result"};
    case Shape::prompt_result:
      return {"GetPromptResult"};
    case Shape::read_result:
      return {"ReadResourceResult"};
    default:
      return {};  // keys of _meta and parameters: in the table of features
  }
}

TEST_CASE("the table of members agrees with the official schemas") {
  const Schemas schemas = read_schemas();
  for (std::size_t s = 0; s < kShapes; ++s) {
    for (const char* name : definitions_of(static_cast<Shape>(s))) {
      for (const MemberRow& row : members_of(static_cast<Shape>(s))) {
        for (std::size_t i = 0; i < kRevisions; ++i) {
          if (!has(schemas[i], name)) continue;
          CAPTURE(name, row.name, text(kAllRevisions[i]));
          const bool expected = !row.feature || defines(kAllRevisions[i], *row.feature);
          CHECK(has(schemas[i], name, row.name) == expected);
        }
      }
    }
  }
}

TEST_CASE("no member that came later than its definition is missing from the table") {
  const Schemas schemas = read_schemas();
  for (std::size_t s = 0; s < kShapes; ++s) {
    const auto shape = static_cast<Shape>(s);
    for (const char* name : definitions_of(shape)) {
      for (std::size_t i = 1; i < kRevisions; ++i) {
        const auto now = definition(schemas[i], name);
        if (!now || !has(schemas[i - 1], name)) continue;
        json::Members properties(*json::find(*now, "properties"));
        while (const auto property = properties.next()) {
          const std::string key = *json::decode_string(property->key);
          if (has(schemas[i - 1], name, key)) continue;
          CAPTURE(name, key, text(kAllRevisions[i]));
          CHECK(find_member(shape, *property) != nullptr);
        }
      }
    }
  }
}

TEST_CASE("the content blocks of the table are those of the schema") {
  const Schemas schemas = read_schemas();
  const auto union_of_blocks = definition(schemas.back(), "ContentBlock");
  REQUIRE(union_of_blocks.has_value());
  std::size_t count = 0;
  json::Elements elements(*json::find(*union_of_blocks, "anyOf"));
  while (const auto element = elements.next()) {
    const std::string reference = *json::find_string(*element, "$ref");
    const std::string name = reference.substr(reference.rfind('/') + 1);
    const auto type = json::find(*definition(schemas.back(), name), "properties", "type", "const");
    const std::string block = R"({"type":)" + std::string(*type) + "}";
    CAPTURE(block);
    const BlockRow* row = find_block(block);
    REQUIRE(row != nullptr);
    ++count;
    for (std::size_t i = 0; i < kRevisions; ++i) {
      CHECK(has(schemas[i], name) == (!row->feature || defines(kAllRevisions[i], *row->feature)));
    }
  }
  REQUIRE(count == 5);
}

TEST_CASE("the modern error codes are those of the schema",
          "[req:errors-reserved-subrange-only-spec-codes]") {
  const Schemas schemas = read_schemas();
  const std::vector<std::pair<const char*, int>> codes = {
      {"HeaderMismatchError", kHeaderMismatch},
      {"MissingRequiredClientCapabilityError", kMissingClientCapability},
      {"UnsupportedProtocolVersionError", kUnsupportedProtocolVersion}};
  for (const auto& [name, code] : codes) {
    CAPTURE(name);
    const auto found = definition(schemas.back(), name);
    REQUIRE(found.has_value());
    CHECK(found->find("\"const\": " + std::to_string(code)) != std::string_view::npos);
  }
}

}  // namespace
}  // namespace mcpx::mcp
