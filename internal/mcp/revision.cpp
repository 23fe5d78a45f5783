#include "mcp/revision.hpp"

namespace mcpx::mcp {
namespace {

using enum Revision;

constexpr std::array<std::string_view, kRevisions> kTexts = {
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"};

// In the order of the enum. Source: schema.json of each revision, and where the schema is silent
// (batches as JSON-RPC arrays, related-task) the pages basic/index and basic/utilities/tasks.
constexpr std::array<FeatureInfo, kFeatures> kFeatureTable = {{
    {Feature::audio_content, "audio content", r2025_03_26, r2026_07_28},
    {Feature::resource_link_content, "resource links in content", r2025_06_18, r2026_07_28},
    {Feature::structured_content, "structuredContent (an object)", r2025_06_18, r2026_07_28},
    {Feature::structured_content_any, "structuredContent and outputSchema of any type", r2026_07_28,
     r2026_07_28},
    {Feature::last_modified_annotation, "annotations.lastModified", r2025_06_18, r2026_07_28},
    {Feature::meta_on_items, "_meta on definitions, blocks and contents", r2025_06_18, r2026_07_28},
    {Feature::result_type, "resultType", r2026_07_28, r2026_07_28},
    {Feature::cache_hints, "ttlMs and cacheScope", r2026_07_28, r2026_07_28},
    {Feature::input_required, "input_required results", r2026_07_28, r2026_07_28},
    {Feature::server_info_in_meta, "protocol keys in _meta", r2026_07_28, r2026_07_28},
    {Feature::related_task_meta, "related-task in _meta", r2025_11_25, r2025_11_25},
    {Feature::title, "title", r2025_06_18, r2026_07_28},
    {Feature::icons, "icons", r2025_11_25, r2026_07_28},
    {Feature::tool_annotations, "tool annotations", r2025_03_26, r2026_07_28},
    {Feature::tool_execution, "tool execution", r2025_11_25, r2025_11_25},
    {Feature::tool_output_schema, "outputSchema", r2025_06_18, r2026_07_28},
    {Feature::implementation_details, "description and websiteUrl of an implementation",
     r2025_11_25, r2026_07_28},
    {Feature::batches, "JSON-RPC batches", r2025_03_26, r2025_03_26},
    {Feature::completions_capability, "completions capability", r2025_03_26, r2026_07_28},
    {Feature::completion_context, "context in completion/complete", r2025_06_18, r2026_07_28},
    {Feature::elicitation, "elicitation", r2025_06_18, r2026_07_28},
    {Feature::progress_message, "message in progress", r2025_03_26, r2026_07_28},
    {Feature::error_without_id, "error responses without id", r2025_11_25, r2026_07_28},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kFeatureTable.size(); ++i) {
    if (static_cast<std::size_t>(kFeatureTable[i].feature) != i) return false;
  }
  return true;
}
static_assert(in_order(), "one row per feature, in the order of the enum");

}  // namespace

std::string_view text(Revision revision) {
  return kTexts[static_cast<std::size_t>(revision)];
}

std::optional<Revision> parse_revision(std::string_view text) {
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    if (kTexts[i] == text) return kAllRevisions[i];
  }
  return std::nullopt;
}

const FeatureInfo& info(Feature feature) {
  return kFeatureTable[static_cast<std::size_t>(feature)];
}

bool defines(Revision revision, Feature feature) {
  const FeatureInfo& row = info(feature);
  return row.first <= revision && revision <= row.last;
}

}  // namespace mcpx::mcp
