#include "config/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mcpx::config {
namespace {

// Longer words are cut: the distance is quadratic and nobody means a key of that size.
constexpr std::size_t kLongestWord = 64;

std::string folded(std::string_view word) {
  std::string out;
  for (const char c : word.substr(0, kLongestWord)) {
    if (c == '_' || c == '-') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

}  // namespace

std::size_t edit_distance(std::string_view first, std::string_view second) {
  const std::string a = folded(first), b = folded(second);
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({replace, previous[j] + 1, current[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string_view> known) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    // A word must keep at least one of its letters to be a misspelling.
    if (distance < best_distance && distance < candidate.size()) {
      best_distance = distance;
      best = std::string(candidate);
    }
  }
  if (best || word.size() < 3) return best;
  for (const std::string_view candidate : known) {  // "warn" for "warning"
    if (folded(candidate).rfind(folded(word), 0) == 0) return std::string(candidate);
  }
  return best;
}

std::string suggestion_for(std::string_view word, std::span<const std::string_view> known) {
  if (const auto best = nearest(word, known)) return fmt::format("did you mean '{}'?", *best);
  std::string list;
  for (const std::string_view candidate : known) {
    if (!list.empty()) list += ", ";
    list += candidate;
  }
  return "known here: " + list;
}

}  // namespace mcpx::config
