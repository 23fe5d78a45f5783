#include "mcp/shapes.hpp"

#include <algorithm>
#include <array>

#include "mcp/error_codes.hpp"

namespace mcpx::mcp {
namespace {

// Grouped by shape, in the order of the enum. Source: schema.json of each revision; the test
// "the table of members agrees with the official schemas" holds every row against them.
constexpr MemberRow kRows[] = {
    {Shape::annotations, "lastModified", Feature::last_modified_annotation},

    {Shape::contents, "_meta", Feature::meta_on_items},

    {Shape::implementation, "title", Feature::title},
    {Shape::implementation, "description", Feature::implementation_details},
    {Shape::implementation, "icons", Feature::icons},
    {Shape::implementation, "websiteUrl", Feature::implementation_details},

    {Shape::meta, kMetaProtocolVersion, Feature::server_info_in_meta},
    {Shape::meta, kMetaClientInfo, Feature::server_info_in_meta},
    {Shape::meta, kMetaClientCapabilities, Feature::server_info_in_meta},
    {Shape::meta, kMetaServerInfo, Feature::server_info_in_meta},
    {Shape::meta, kMetaLogLevel, Feature::server_info_in_meta},
    {Shape::meta, kMetaSubscriptionId, Feature::server_info_in_meta},
    {Shape::meta, kMetaRelatedTask, Feature::related_task_meta},

    {Shape::prompt, "title", Feature::title},
    {Shape::prompt, "icons", Feature::icons},
    {Shape::prompt, "_meta", Feature::meta_on_items},
    {Shape::prompt, "arguments", std::nullopt, Shape::prompt_argument, true},

    {Shape::prompt_argument, "title", Feature::title},

    {Shape::prompt_message, "content", std::nullopt, Shape::content_block},

    {Shape::resource, "title", Feature::title},
    {Shape::resource, "icons", Feature::icons},
    {Shape::resource, "_meta", Feature::meta_on_items},
    {Shape::resource, "annotations", std::nullopt, Shape::annotations},

    {Shape::resource_template, "title", Feature::title},
    {Shape::resource_template, "icons", Feature::icons},
    {Shape::resource_template, "_meta", Feature::meta_on_items},
    {Shape::resource_template, "annotations", std::nullopt, Shape::annotations},

    {Shape::tool, "title", Feature::title},
    {Shape::tool, "icons", Feature::icons},
    {Shape::tool, "_meta", Feature::meta_on_items},
    {Shape::tool, "annotations", Feature::tool_annotations},
    {Shape::tool, "execution", Feature::tool_execution},
    {Shape::tool, "outputSchema", Feature::tool_output_schema, Shape::schema},
    {Shape::tool, "inputSchema", std::nullopt, Shape::schema},

    {Shape::plain_block, "_meta", Feature::meta_on_items},
    {Shape::plain_block, "annotations", std::nullopt, Shape::annotations},

    {Shape::resource_link_block, "icons", Feature::icons},
    {Shape::resource_link_block, "annotations", std::nullopt, Shape::annotations},

    {Shape::embedded_block, "_meta", Feature::meta_on_items},
    {Shape::embedded_block, "annotations", std::nullopt, Shape::annotations},
    {Shape::embedded_block, "resource", std::nullopt, Shape::contents},

    {Shape::notification, "_meta", std::nullopt, Shape::meta},

    {Shape::progress_notification, "_meta", std::nullopt, Shape::meta},
    {Shape::progress_notification, "message", Feature::progress_message},

    {Shape::call_result, "resultType", Feature::result_type},
    {Shape::call_result, "_meta", std::nullopt, Shape::meta},
    {Shape::call_result, "structuredContent", Feature::structured_content, Shape::structured},
    {Shape::call_result, "content", std::nullopt, Shape::content_block, true},

    {Shape::initialize_result, "serverInfo", std::nullopt, Shape::implementation},

    {Shape::list_prompts_result, "resultType", Feature::result_type},
    {Shape::list_prompts_result, "_meta", std::nullopt, Shape::meta},
    {Shape::list_prompts_result, "ttlMs", Feature::cache_hints},
    {Shape::list_prompts_result, "cacheScope", Feature::cache_hints},
    {Shape::list_prompts_result, "prompts", std::nullopt, Shape::prompt, true},

    {Shape::list_resource_templates_result, "resultType", Feature::result_type},
    {Shape::list_resource_templates_result, "_meta", std::nullopt, Shape::meta},
    {Shape::list_resource_templates_result, "ttlMs", Feature::cache_hints},
    {Shape::list_resource_templates_result, "cacheScope", Feature::cache_hints},
    {Shape::list_resource_templates_result, "resourceTemplates", std::nullopt,
     Shape::resource_template, true},

    {Shape::list_resources_result, "resultType", Feature::result_type},
    {Shape::list_resources_result, "_meta", std::nullopt, Shape::meta},
    {Shape::list_resources_result, "ttlMs", Feature::cache_hints},
    {Shape::list_resources_result, "cacheScope", Feature::cache_hints},
    {Shape::list_resources_result, "resources", std::nullopt, Shape::resource, true},

    {Shape::list_tools_result, "resultType", Feature::result_type},
    {Shape::list_tools_result, "_meta", std::nullopt, Shape::meta},
    {Shape::list_tools_result, "ttlMs", Feature::cache_hints},
    {Shape::list_tools_result, "cacheScope", Feature::cache_hints},
    {Shape::list_tools_result, "tools", std::nullopt, Shape::tool, true},

    {Shape::other_result, "resultType", Feature::result_type},
    {Shape::other_result, "_meta", std::nullopt, Shape::meta},

    {Shape::prompt_result, "resultType", Feature::result_type},
    {Shape::prompt_result, "_meta", std::nullopt, Shape::meta},
    {Shape::prompt_result, "messages", std::nullopt, Shape::prompt_message, true},

    {Shape::read_result, "resultType", Feature::result_type},
    {Shape::read_result, "_meta", std::nullopt, Shape::meta},
    {Shape::read_result, "ttlMs", Feature::cache_hints},
    {Shape::read_result, "cacheScope", Feature::cache_hints},
    {Shape::read_result, "contents", std::nullopt, Shape::contents, true},
};
constexpr std::size_t kRowCount = std::size(kRows);

constexpr bool grouped() {
  for (std::size_t i = 1; i < kRowCount; ++i) {
    if (kRows[i].in < kRows[i - 1].in) return false;
  }
  return true;
}
static_assert(grouped(), "rows stand in the order of Shape");

// Where the rows of each shape begin; those of shape s end where those of s + 1 begin.
constexpr std::array<std::size_t, kShapes + 1> group_starts() {
  std::array<std::size_t, kShapes + 1> starts{};
  for (std::size_t shape = 0; shape <= kShapes; ++shape) {
    while (starts[shape] < kRowCount && static_cast<std::size_t>(kRows[starts[shape]].in) < shape) {
      ++starts[shape];
    }
  }
  return starts;
}
constexpr auto kStarts = group_starts();

constexpr std::array<BlockRow, 5> kBlocks = {{
    {"text", std::nullopt, Shape::plain_block},
    {"image", std::nullopt, Shape::plain_block},
    {"audio", Feature::audio_content, Shape::plain_block},
    {"resource_link", Feature::resource_link_content, Shape::resource_link_block},
    {"resource", std::nullopt, Shape::embedded_block},
}};

}  // namespace

std::span<const MemberRow> members_of(Shape shape) {
  const auto index = static_cast<std::size_t>(shape);
  return std::span(kRows).subspan(kStarts[index], kStarts[index + 1] - kStarts[index]);
}

const MemberRow* find_member(Shape shape, const json::Member& member) {
  for (const MemberRow& row : members_of(shape)) {
    if (member.key_is(row.name)) return &row;
  }
  return nullptr;
}

namespace {

bool lacks(Revision to, const std::optional<Feature>& feature) {
  return feature && !defines(to, *feature);
}

using Differing = std::array<std::array<bool, kRevisions>, kShapes>;

bool differs_now(const Differing& table, Shape shape, Revision to) {
  const auto at = static_cast<std::size_t>(to);
  const auto inside = [&](Shape inner) { return table[static_cast<std::size_t>(inner)][at]; };
  if (shape == Shape::structured || shape == Shape::schema) {
    return lacks(to, Feature::structured_content_any);
  }
  if (shape == Shape::content_block) {
    return std::any_of(kBlocks.begin(), kBlocks.end(), [&](const BlockRow& row) {
      return lacks(to, row.feature) || inside(row.shape);
    });
  }
  const auto rows = members_of(shape);
  return std::any_of(rows.begin(), rows.end(), [&](const MemberRow& row) {
    return lacks(to, row.feature) || inside(row.value);
  });
}

// Shapes refer to each other in no particular order, so until nothing changes any more.
Differing differing() {
  Differing table{};
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t shape = 0; shape < kShapes; ++shape) {
      for (const Revision to : kAllRevisions) {
        bool& known = table[shape][static_cast<std::size_t>(to)];
        if (known || !differs_now(table, static_cast<Shape>(shape), to)) continue;
        known = changed = true;
      }
    }
  }
  return table;
}

}  // namespace

bool can_differ(Shape shape, Revision to) {
  static const Differing table = differing();
  return table[static_cast<std::size_t>(shape)][static_cast<std::size_t>(to)];
}

const BlockRow* find_block(json::Raw block) {
  const auto type = json::find_string(block, "type");
  if (!type) return nullptr;
  for (const BlockRow& row : kBlocks) {
    if (row.type == *type) return &row;
  }
  return nullptr;
}

Shape result_shape(Method method) {
  switch (method) {
    case Method::tools_call:
      return Shape::call_result;
    case Method::prompts_get:
      return Shape::prompt_result;
    case Method::resources_read:
      return Shape::read_result;
    case Method::tools_list:
      return Shape::list_tools_result;
    case Method::prompts_list:
      return Shape::list_prompts_result;
    case Method::resources_list:
      return Shape::list_resources_result;
    case Method::resources_templates_list:
      return Shape::list_resource_templates_result;
    case Method::initialize:
      return Shape::initialize_result;
    default:
      return Shape::other_result;
  }
}

Shape definition_shape(ListKind kind) {
  switch (kind) {
    case ListKind::tools:
      return Shape::tool;
    case ListKind::prompts:
      return Shape::prompt;
    case ListKind::resources:
      return Shape::resource;
    case ListKind::resource_templates:
      return Shape::resource_template;
    case ListKind::skills:
      break;  // no revision of MCP, but the extension, says what is in one
  }
  return Shape::opaque;
}

}  // namespace mcpx::mcp
