// Shapes: the JSON objects of MCP whose members differ between revisions, as a table.
//
// Only spelling.cpp reads it. A row says which feature a member came with, and which shape its
// value has where that has rows of its own. Members without a row always pass. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "json/json.hpp"
#include "mcp/method.hpp"
#include "mcp/revision.hpp"

namespace mcpx::mcp {

enum class Shape : std::uint8_t {
  // parts
  opaque,
  annotations,
  content_block,
  contents,
  implementation,
  meta,
  prompt,
  prompt_argument,
  prompt_message,
  resource,
  resource_template,
  schema,  // of a tool's input or output
  structured,
  tool,
  // content blocks by type
  plain_block,
  resource_link_block,
  embedded_block,
  // params of notifications
  notification,
  progress_notification,
  // results
  call_result,
  initialize_result,
  list_prompts_result,
  list_resource_templates_result,
  list_resources_result,
  list_tools_result,
  other_result,
  prompt_result,
  read_result,
};
inline constexpr std::size_t kShapes = static_cast<std::size_t>(Shape::read_result) + 1;

struct MemberRow {
  Shape in;
  std::string_view name;
  std::optional<Feature> feature;  // unset: as old as the shape itself
  Shape value = Shape::opaque;
  bool each = false;  // `value` is the shape of each element of an array
};

std::span<const MemberRow> members_of(Shape shape);
const MemberRow* find_member(Shape shape, const json::Member& member);

// Whether a value of that shape can hold anything that `to` does not define, however deep: where it
// cannot, there is nothing to walk.
bool can_differ(Shape shape, Revision to);

struct BlockRow {
  std::string_view type;
  std::optional<Feature> feature;
  Shape shape;
};
// The row of a content block's type; nullptr for types that no revision defines.
const BlockRow* find_block(json::Raw block);

Shape result_shape(Method method);
Shape definition_shape(ListKind kind);

}  // namespace mcpx::mcp
