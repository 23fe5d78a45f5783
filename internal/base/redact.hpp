// Redactor: the set of secret values of a configuration, and their removal from text.
//
// Every text that leaves the daemon for a human (log lines, error messages, stderr of a child,
// /v1 replies) passes through one. Immutable once built; shared as a snapshot. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mcpx {

class Redactor {
 public:
  static constexpr std::string_view kMask = "[redacted]";
  // Shorter values would blank out ordinary words; they are ignored.
  static constexpr std::size_t kMinimumLength = 4;

  Redactor() = default;
  explicit Redactor(std::vector<std::string> secrets);

  std::string operator()(std::string_view text) const;
  bool empty() const { return secrets_.empty(); }

 private:
  std::vector<std::string> secrets_;  // longest first, so that a secret holding another goes whole
};

}  // namespace mcpx
