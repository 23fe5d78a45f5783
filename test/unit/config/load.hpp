// Loading a text with a made-up environment, for the tests of `config`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace mcpx::test {

inline config::Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

inline config::LoadResult load(const std::string& text,
                               std::map<std::string, std::string> variables = {}) {
  return config::load_text(text, "mcpx.yaml", environment_of(std::move(variables)));
}

// The problems as shown, one a line; empty when the text loads.
inline std::string problems_of(const config::LoadResult& result) {
  std::string out;
  if (result.has_value()) return out;
  for (const config::Problem& problem : result.error())
    out += problem.text() + "\n";
  return out;
}

}  // namespace mcpx::test
