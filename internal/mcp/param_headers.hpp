// Mcp-Param-*: which arguments of a tool are mirrored into header fields, and how one is written.
//
// A property of the inputSchema asks for it with `x-mcp-header`. One bad annotation makes the whole
// tool definition invalid (2026-07-28 basic/transports/streamable-http, "Schema Extension"). The
// client side sends by this, the server side checks by it. Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.hpp"

namespace mcpx::mcp {

struct MirroredParam {
  std::string field;              // "Mcp-Param-Region"
  std::vector<std::string> path;  // of the argument, from the root of `arguments`
};

struct ParamHeaders {
  std::vector<MirroredParam> params;  // none when there is a problem
  std::string problem;                // why the annotations are invalid; empty if they are not
};

ParamHeaders read_param_headers(json::Raw input_schema);

// The argument that is mirrored, raw; nullopt when it is absent, null (which counts as absent), or
// of a type that no field can carry.
std::optional<json::Raw> mirrored_argument(json::Raw arguments, const MirroredParam& param);

// The value to send for it, encoded; nullopt: no field.
std::optional<std::string> mirrored_value(json::Raw arguments, const MirroredParam& param);

}  // namespace mcpx::mcp
