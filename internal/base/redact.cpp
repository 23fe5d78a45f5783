#include "base/redact.hpp"

#include <algorithm>
#include <utility>

namespace mcpx {

Redactor::Redactor(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const std::string& s) { return s.size() < kMinimumLength; });
  std::sort(secrets_.begin(), secrets_.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  secrets_.erase(std::unique(secrets_.begin(), secrets_.end()), secrets_.end());
}

std::string Redactor::operator()(std::string_view text) const {
  std::string out(text);
  for (const std::string& secret : secrets_) {
    for (std::size_t at = out.find(secret); at != std::string::npos;
         at = out.find(secret, at + kMask.size())) {
      out.replace(at, secret.size(), kMask);
    }
  }
  return out;
}

}  // namespace mcpx
