#include "rpc/line_framer.hpp"

#include <cstring>
#include <utility>

namespace mcpx::rpc {
namespace {

// Memory an idle framer may keep; what a longer line needed is given back.
constexpr std::size_t kKept = 64 * 1024;

std::string_view without_cr(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

void LineFramer::feed(std::string_view bytes) {
  if (oversized_) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    skip(part);
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    finish_oversized();
  }
  buffer_ += bytes;
}

std::optional<Line> LineFramer::next() {
  if (finished_) return std::exchange(finished_, std::nullopt);
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end == std::string::npos) break;
    const std::string_view whole = std::string_view(buffer_).substr(at_, end - at_);
    const std::string_view line = without_cr(whole);
    at_ = scanned_ = end + 1;
    if (line.size() > limit_) {
      skip(whole);
      finish_oversized();
      return std::exchange(finished_, std::nullopt);
    }
    if (!is_blank(line)) return Line(PaddedBuffer(line));
  }
  compact();
  return std::nullopt;
}

// Called when no whole line is left: moves the beginning of the next one to the front. That part
// came with the last feed, or nothing was handed out since it was moved, so the cost stays linear.
void LineFramer::compact() {
  if (at_ > 0) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  // A carriage return at the end may belong to the line end.
  if (without_cr(buffer_).size() > limit_) {
    oversized_ = true;
    skip(buffer_);
    buffer_.clear();
  }
  scanned_ = buffer_.size();
  if (buffer_.capacity() > kKept && buffer_.size() <= kKept / 2) {
    std::string smaller;
    smaller.reserve(kKept / 2);
    smaller = buffer_;
    buffer_ = std::move(smaller);
  }
}

void LineFramer::skip(std::string_view bytes) {
  if (bytes.empty()) return;
  scanner_.feed(bytes);
  oversized_bytes_ += bytes.size();
  ends_with_cr_ = bytes.back() == '\r';
}

void LineFramer::finish_oversized() {
  OversizedLine line;
  line.size = oversized_bytes_ - (ends_with_cr_ ? 1 : 0);
  line.id = scanner_.id();
  line.has_method = scanner_.has_method();
  finished_ = std::move(line);
  scanner_.reset();
  oversized_ = ends_with_cr_ = false;
  oversized_bytes_ = 0;
}

std::size_t LineFramer::pending() const {
  return oversized_ ? oversized_bytes_ : buffer_.size() - at_;
}

}  // namespace mcpx::rpc
