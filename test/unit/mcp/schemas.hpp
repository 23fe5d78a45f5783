// The official schemas of the five revisions, as text: those of test/schemas, or of the directory
// that MCPX_SPEC_DIR names.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "json/json.hpp"
#include "mcp/revision.hpp"

namespace mcpx::mcp {

using Schemas = std::array<std::string, kRevisions>;

inline Schemas read_schemas() {
  const char* given = std::getenv("MCPX_SPEC_DIR");
  const std::string directory = given && *given ? given : MCPX_SOURCE_DIR "/test/schemas";
  Schemas schemas;
  for (std::size_t i = 0; i < kRevisions; ++i) {
    const std::string path = directory + "/" + std::string(text(kAllRevisions[i])) + "/schema.json";
    std::ifstream file(path);
    std::stringstream content;
    content << file.rdbuf();
    schemas[i] = content.str();
    INFO(path);
    REQUIRE(json::is_object(schemas[i]));
  }
  return schemas;
}

inline std::optional<json::Raw> definition(const std::string& schema, std::string_view name) {
  const auto old_style = json::find(schema, "definitions", name);
  return old_style ? old_style : json::find(schema, "$defs", name);
}

}  // namespace mcpx::mcp
