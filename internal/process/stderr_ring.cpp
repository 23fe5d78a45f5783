#include <algorithm>
#include <string>
#include <string_view>

#include "process/child.hpp"

namespace mcpx::process {
namespace {

// Length of an ANSI escape sequence at the start of `text` (which begins with ESC).
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[1] != '[') return 1;
  std::size_t at = 2;
  while (at < text.size() && (text[at] < '@' || text[at] > '~'))
    ++at;  // up to its final byte
  return std::min(at + 1, text.size());
}

// Length of the well-formed UTF-8 sequence at the start of `text`, or 0. Unicode 15, table 3-7.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t at) -> unsigned {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
  };
  const auto continues = [&byte](std::size_t at) { return (byte(at) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

// The text ends up in JSON error messages and on terminals, so colours and control characters go
// and anything that is not UTF-8 becomes a question mark.
std::string printable(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const char first = text.front();
    std::size_t length = 1;
    if (first == '\x1b') {
      length = escape_length(text);
    } else if (first == '\n' || first == '\t') {
      clean += first;
    } else if (static_cast<unsigned char>(first) < 0x20 || first == '\x7f') {
      // dropped
    } else if ((length = utf8_length(text)) == 0) {
      clean += '?';
      length = 1;
    } else {
      clean.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return clean;
}

}  // namespace

void StderrRing::append(std::string_view bytes) {
  total_ += bytes.size();
  if (bytes.size() >= limit_) {
    text_.assign(bytes.substr(bytes.size() - limit_));
  } else {
    const std::size_t room = limit_ - bytes.size();
    if (text_.size() > room) text_.erase(0, text_.size() - room);
    text_.append(bytes);
  }
}

std::string StderrRing::tail(std::size_t lines) const {
  std::string_view text = text_;
  if (total_ > text_.size()) {  // the first line has lost its beginning, unless it is all there is
    const std::size_t newline = text.find('\n');
    if (newline != std::string_view::npos && newline + 1 < text.size()) {
      text.remove_prefix(newline + 1);
    }
  }
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::size_t from = text.size();
  for (std::size_t i = 0; i < lines; ++i) {
    if (from == 0) break;
    const std::size_t newline = text.rfind('\n', from - 1);
    from = newline == std::string_view::npos ? 0 : newline;
  }
  if (from < text.size() && text[from] == '\n') ++from;
  return printable(lines == 0 ? std::string_view() : text.substr(from));
}

}  // namespace mcpx::process
