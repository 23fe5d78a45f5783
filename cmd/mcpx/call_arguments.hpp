// The arguments of a tool call, from JSON or from K=V words. Pure. Thread: any.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace mcpx::cli {

// The text, if it is one JSON object. Error: cli.usage.
Result<std::string> checked_arguments(std::string text);

// Whether a word could mean text or JSON ("7", "true"), which only the schema can tell.
bool needs_schema(std::span<const std::string> pairs);

// K=V by the type that schema.properties.K.type gives; without one V is JSON if it is a number, a
// boolean, null, an array or an object, and text otherwise. K:=JSON is JSON. Error: cli.usage.
Result<std::string> arguments_from_pairs(std::span<const std::string> pairs,
                                         const boost::json::object& schema);

// The inputSchema of a tool in a reply of /v1/tools; empty when it is not there.
boost::json::object find_input_schema(const std::string& tools_reply, std::string_view tool);

}  // namespace mcpx::cli
