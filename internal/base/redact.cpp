#include "base/redact.hpp"

#include <algorithm>
#include <utility>

namespace mcpx {
namespace {

// The secret inside a JSON string, which is how servers repeat what they were sent. Some escape the
// slash too.
std::string in_json(std::string_view secret, bool with_slash) {
  constexpr std::string_view kShort = "b\bf\fn\nr\rt\t";
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char c : secret) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || (c == '/' && with_slash)) {
      out += {'\\', c};
    } else if (const auto at = kShort.find(c); byte < 0x20 && at != std::string_view::npos) {
      out += {'\\', kShort[at - 1]};
    } else if (byte < 0x20) {
      out.append("\\u00") += {kHex[byte >> 4U], kHex[byte & 15U]};
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Redactor::Redactor(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const std::string& s) { return s.size() < kMinimumLength; });
  const std::size_t plain = secrets_.size();
  for (std::size_t i = 0; i < plain; ++i) {
    for (const bool with_slash : {false, true}) {
      std::string escaped = in_json(secrets_[i], with_slash);
      if (escaped != secrets_[i]) secrets_.push_back(std::move(escaped));
    }
  }
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
