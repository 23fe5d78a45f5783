// The revisions of MCP as data: what exists in which. Read by code and by docs/protocol.md.
// Pure. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mcpx::mcp {

enum class Revision : std::uint8_t { r2024_11_05, r2025_03_26, r2025_06_18, r2025_11_25, r2026_07_28 };
inline constexpr std::size_t kRevisions = 5;
inline constexpr std::array<Revision, kRevisions> kAllRevisions = {
    Revision::r2024_11_05, Revision::r2025_03_26, Revision::r2025_06_18, Revision::r2025_11_25,
    Revision::r2026_07_28};
inline constexpr Revision kLatestLegacy = Revision::r2025_11_25;
inline constexpr Revision kLatestModern = Revision::r2026_07_28;
// What a Streamable HTTP request without MCP-Protocol-Version is taken for.
inline constexpr Revision kAssumedWithoutHeader = Revision::r2025_03_26;

enum class Era : std::uint8_t { legacy, modern };

std::string_view text(Revision revision);               // "2025-11-25"
std::optional<Revision> parse_revision(std::string_view text);
constexpr Era era_of(Revision r) { return r == Revision::r2026_07_28 ? Era::modern : Era::legacy; }

// What a revision defines; one row each in revision.cpp, from first to last revision.
enum class Feature : std::uint8_t {
  audio_content, batches, completions_capability, elicitation, icons, input_required,
  resource_link_content, result_type, cache_hints, structured_content, structured_content_any,
  title, tool_annotations, tool_execution, tool_output_schema, meta_on_definitions,
  progress_message, completion_context, resource_size, server_info_in_meta, parse_error_without_id,
  instructions_in_discover, implementation_description,
};
bool defines(Revision revision, Feature feature);

}  // namespace mcpx::mcp
