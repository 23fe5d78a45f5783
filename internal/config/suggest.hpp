// "did you mean": the nearest known word. Pure. Thread: any.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mcpx::config {

// Insertions, deletions, replacements and swaps of neighbours, counted over the words without case,
// '_' and '-', so that startTimeout is next to start_timeout.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `known`, if it is near enough to be what was meant.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> known);

// "did you mean 'x'?", or the list of what is known.
std::string suggestion_for(std::string_view word, std::span<const std::string_view> known);

}  // namespace mcpx::config
