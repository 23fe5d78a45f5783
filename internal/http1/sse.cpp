#include "http1/sse.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace mcpx::http1 {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";  // U+FEFF

// The reconnection time: digits only, or the line says nothing. More than fits is the most we hold.
std::optional<unsigned> parse_retry(std::string_view text) {
  if (text.empty()) return std::nullopt;
  constexpr unsigned kMost = std::numeric_limits<unsigned>::max();
  unsigned value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<unsigned>(c - '0');
    value = value > (kMost - digit) / 10 ? kMost : value * 10 + digit;
  }
  return value;
}

}  // namespace

void SseParser::feed(std::string_view bytes) {
  if (overflowed_) return;
  compact();
  pending_.append(bytes);
}

// Drops what was read, but only when that is most of the buffer, so that bytes move O(1) times.
void SseParser::compact() {
  if (at_ == 0 || at_ < pending_.size() - at_) return;
  pending_.erase(0, at_);
  cr_ -= std::min(cr_, at_);
  lf_ -= std::min(lf_, at_);
  at_ = 0;
}

void SseParser::overflow() {
  overflowed_ = true;
  pending_ = std::string();
  event_ = SseEvent();
  at_ = cr_ = lf_ = 0;
}

// One byte order mark at the very start is skipped. False while it is not yet clear.
bool SseParser::skip_mark() {
  const std::size_t seen = std::min(pending_.size(), kMark.size());
  if (pending_.compare(0, seen, kMark.substr(0, seen)) == 0) {
    if (seen < kMark.size()) return false;
    at_ = kMark.size();
  }
  first_ = false;
  return true;
}

std::size_t SseParser::find(char c, std::size_t& from) const {
  from = std::max(from, at_);
  if (from < pending_.size()) {
    const void* hit = std::memchr(pending_.data() + from, c, pending_.size() - from);
    from = hit ? static_cast<std::size_t>(static_cast<const char*>(hit) - pending_.data())
               : pending_.size();
  }
  return from;
}

// A CR ends its line at once, not when the byte after it is known: an event must not wait for the
// next one. A LF that turns out to follow is dropped.
bool SseParser::take_line(std::string_view& line) {
  if (after_cr_ && at_ < pending_.size()) {
    if (pending_[at_] == '\n') ++at_;
    after_cr_ = false;
  }
  const std::size_t end = std::min(find('\r', cr_), find('\n', lf_));
  if (end - at_ + event_.data.size() > limit_) {
    overflow();
    return false;
  }
  if (end == pending_.size()) return false;
  line = std::string_view(pending_).substr(at_, end - at_);
  after_cr_ = pending_[end] == '\r';
  at_ = end + 1;
  return true;
}

void SseParser::apply(std::string_view line) {
  if (line.front() == ':') return;
  const auto colon = line.find(':');
  const auto name = line.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  if (name == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (name == "event") {
    event_.type = value.empty() ? std::string_view("message") : value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) event_.id = std::string(value);
  } else if (name == "retry") {
    if (const auto retry = parse_retry(value)) event_.retry_ms = retry;
  }
}

bool SseParser::finish_event(SseEvent& out) {
  const bool says_something = has_data_ || event_.id || event_.retry_ms;
  has_data_ = false;
  out = std::exchange(event_, SseEvent());
  return says_something;
}

std::optional<SseEvent> SseParser::next() {
  if (overflowed_ || (first_ && !skip_mark())) return std::nullopt;
  std::string_view line;
  while (take_line(line)) {
    if (!line.empty()) {
      apply(line);
      continue;
    }
    SseEvent event;
    if (finish_event(event)) return event;
  }
  return std::nullopt;
}

void append_sse_event(std::string& out, std::string_view data, std::string_view id) {
  out.append("event: message\n");
  constexpr std::string_view kForbidden("\r\n\0", 3);
  if (!id.empty() && id.find_first_of(kForbidden) == std::string_view::npos) {
    out.append("id: ").append(id) += '\n';
  }
  for (;;) {
    const auto end = data.find_first_of("\r\n");
    out.append("data: ").append(data.substr(0, end)) += '\n';
    if (end == std::string_view::npos) break;
    data.remove_prefix(data.substr(end, 2) == "\r\n" ? end + 2 : end + 1);
  }
  out += '\n';
}

void append_sse_priming(std::string& out, std::string_view id, unsigned retry_ms) {
  out.append("event: message\nid: ").append(id);
  out.append("\nretry: ").append(std::to_string(retry_ms)).append("\ndata: \n\n");
}

}  // namespace mcpx::http1
