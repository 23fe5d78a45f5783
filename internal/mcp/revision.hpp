// The revisions of MCP as data: what exists in which. Read by code and by docs/protocol.md.
// Pure. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mcpx::mcp {

enum class Revision : std::uint8_t {
  r2024_11_05,
  r2025_03_26,
  r2025_06_18,
  r2025_11_25,
  r2026_07_28
};
inline constexpr std::size_t kRevisions = 5;
inline constexpr std::array<Revision, kRevisions> kAllRevisions = {
    Revision::r2024_11_05, Revision::r2025_03_26, Revision::r2025_06_18, Revision::r2025_11_25,
    Revision::r2026_07_28};
inline constexpr Revision kLatestLegacy = Revision::r2025_11_25;
inline constexpr Revision kLatestModern = Revision::r2026_07_28;
// What a Streamable HTTP request without MCP-Protocol-Version is taken for.
inline constexpr Revision kAssumedWithoutHeader = Revision::r2025_03_26;

enum class Era : std::uint8_t { legacy, modern };

std::string_view text(Revision revision);  // "2025-11-25"
std::optional<Revision> parse_revision(std::string_view text);
constexpr Era era_of(Revision r) {
  return r == Revision::r2026_07_28 ? Era::modern : Era::legacy;
}

// What a revision defines. One row each in revision.cpp, checked against the official schemas.
enum class Feature : std::uint8_t {
  // content and results
  audio_content,             // AudioContent
  resource_link_content,     // ResourceLink
  structured_content,        // CallToolResult.structuredContent, an object
  structured_content_any,    // ... of any JSON type, and an outputSchema of any type
  last_modified_annotation,  // Annotations.lastModified
  meta_on_items,             // _meta on definitions, content blocks and resource contents
  result_type,               // Result.resultType
  cache_hints,               // ttlMs and cacheScope
  input_required,            // InputRequiredResult in place of requests from the server
  server_info_in_meta,       // io.modelcontextprotocol/* keys on requests and results
  related_task_meta,         // _meta of the tasks that 2025-11-25 had in its core
  // definitions
  title,  // on tools, prompts, arguments, resources, implementations
  icons,  // on the same, and on resource links
  tool_annotations,
  tool_execution,
  tool_output_schema,
  implementation_details,  // description, icons and websiteUrl of an Implementation
  // exchanges
  batches,
  completions_capability,
  completion_context,
  elicitation,
  progress_message,
  error_without_id,  // an error response whose request could not be read has no id
};
inline constexpr std::size_t kFeatures = static_cast<std::size_t>(Feature::error_without_id) + 1;

struct FeatureInfo {
  Feature feature;
  std::string_view name;  // as docs/protocol.md shows it
  Revision first, last;
};
const FeatureInfo& info(Feature feature);
bool defines(Revision revision, Feature feature);

}  // namespace mcpx::mcp
