// Command lines: long options, `--name value` or `--name=value`, and what is left. Pure.
// Thread: any.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace mcpx::cli {

struct Option {
  std::string_view name;         // without the dashes
  std::string_view placeholder;  // of its value; empty for a flag
  std::string_view help;
};

struct Parsed {
  std::map<std::string, std::vector<std::string>, std::less<>> options;
  std::vector<std::string> rest;

  bool has(std::string_view name) const { return options.find(name) != options.end(); }
  // The last one given wins.
  std::optional<std::string> value(std::string_view name) const;
  std::vector<std::string> values(std::string_view name) const;
};

// `-h` is --help; `--` ends the options; "-" is no option. Options may stand after positionals.
// Error: cli.usage, with a suggestion.
Result<Parsed> parse_args(std::span<const std::string> args, std::span<const Option> known);

// Whole seconds, 0 to a day.
Result<long> parse_seconds(std::string_view option, std::string_view text);

}  // namespace mcpx::cli
