#include "http1/framer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mcpx::http1 {
namespace {

// What is set aside for a body on the word of its Content-Length alone.
constexpr std::size_t kTrustedLength = 1024 * 1024;
constexpr std::size_t kKeptBody = 64 * 1024;

}  // namespace

void HeadScanner::reset() {
  at_ = line_ = lines_ = first_line_ = 0;
}

HeadScanner::Found HeadScanner::scan(std::string_view text) {
  for (;;) {
    // obs-fold: RFC 9112 section 5.2 lets a server refuse it, and parsers disagree on its meaning.
    if (lines_ > 0 && line_ < text.size() && (text[line_] == ' ' || text[line_] == '\t')) {
      return Found::folded;
    }
    const void* hit =
        at_ < text.size() ? std::memchr(text.data() + at_, '\n', text.size() - at_) : nullptr;
    const std::size_t end =
        hit ? static_cast<std::size_t>(static_cast<const char*>(hit) - text.data()) : text.size();
    if (lines_ == 0 && end > first_line_limit_) return Found::line_too_long;
    if (hit ? end >= head_limit_ : end > head_limit_) {
      return lines_ == 0 ? Found::line_too_long : Found::head_too_long;
    }
    at_ = end;
    if (!hit) return Found::more;
    if (end == line_ || text[end - 1] != '\r') return Found::bare_line_feed;
    at_ = end + 1;
    const std::size_t content = end - 1 - line_;
    if (lines_ == 0) first_line_ = content;
    if (content == 0) return lines_ == 0 ? Found::no_line : Found::end;
    ++lines_;
    line_ = at_;
  }
}

Framer::Framer(const Limits& limits, const Terms& terms)
    : limits_(limits), terms_(terms), scanner_(terms.first_line, limits.head_bytes) {}

void Framer::reset_framing() {
  skip_head();
  refusal_.reset();
  phase_ = Phase::head;
  head_done_ = started_ = body_started_ = false;
  skipped_ = 0;
  left_ = 0;
  // A body nobody took is not kept through an idle time.
  if (body_.capacity() > kKeptBody) body_ = PaddedBuffer();
  body_.clear();
}

void Framer::skip_head() {
  scanner_.reset();
  carry_.clear();
}

namespace {

constexpr unsigned kMalformedAnswer = 502;  // what a malformed answer counts as

// What whoever sent the message, or runs mcpx, can do about it.
const char* remedy_for(unsigned status, bool answer) {
  if (answer) {
    return status == 413 ? "raise limits.message in the configuration"
                         : "report this to the server's author";
  }
  switch (status) {
    case 413:
      return "send a smaller body, or raise limits.body in the configuration";
    case 414:
    case 431:
      return "send a shorter head, or raise limits.head or limits.headers in the configuration";
    case 417:
    case 501:
    case 505:
      return "use HTTP/1.1 with Content-Length or Transfer-Encoding: chunked";
    default:
      return "send a well-formed HTTP/1.1 request (RFC 9112)";
  }
}

}  // namespace

void Framer::refuse(unsigned status, const char* code, std::string message) {
  phase_ = Phase::refused;
  const bool answer = terms_.malformed == kMalformedAnswer;
  refusal_ = Refusal{status, Error(code, std::move(message), remedy_for(status, answer))};
}

void Framer::refuse_malformed(std::string_view why) {
  refuse(terms_.malformed, terms_.code,
         std::string("malformed ") + terms_.what + ": " + std::string(why));
}

void Framer::refuse_body() {
  refuse(413, "http.too_large",
         std::string(terms_.what) + " body is larger than " + std::to_string(limits_.body_bytes) +
             " bytes");
}

void Framer::refuse_head(HeadScanner::Found found) {
  using Found = HeadScanner::Found;
  switch (found) {
    case Found::line_too_long:
      return refuse(terms_.line_too_long, "http.too_large",
                    std::string(terms_.what) + " start line is too long");
    case Found::head_too_long:
      return refuse(terms_.head_too_long, "http.too_large",
                    std::string(terms_.what) + " head is larger than " +
                        std::to_string(limits_.head_bytes) + " bytes");
    case Found::folded:
      return refuse_malformed("a header line is folded");
    case Found::bare_line_feed:
      return refuse_malformed("a line does not end in CR LF");
    case Found::no_line:
      return refuse_malformed("the start line is empty");
    case Found::more:
    case Found::end:
      return;
  }
}

std::size_t Framer::feed(std::string_view bytes) {
  std::size_t used = 0;
  // More than one head when a response is preceded by interim ones.
  while (phase_ == Phase::head && used < bytes.size())
    used += feed_head(bytes.substr(used));
  if (phase_ != Phase::head) used += feed_body(bytes.substr(used));
  return used;
}

std::size_t Framer::skip_blank(std::string_view bytes) {
  // RFC 9112 section 2.2: an empty line before a request is ignored; old clients send one after a
  // body. A CR here is a blank line's or nothing legal's, so each byte can be judged alone.
  std::size_t used = 0;
  while (used < bytes.size() && skipped_ < blank_lines_ &&
         bytes[used] == (skipped_ % 2 == 0 ? '\r' : '\n')) {
    ++used;
    ++skipped_;
  }
  return used;
}

std::size_t Framer::feed_head(std::string_view bytes) {
  std::size_t blank = 0;
  if (carry_.empty()) {
    blank = skip_blank(bytes);
    if (blank == bytes.size()) return blank;
    bytes.remove_prefix(blank);
    started_ = true;
    // Refused at once: a peer that speaks TLS or nonsense may never send a line end.
    if (skipped_ % 2 != 0 || !can_start(bytes.front())) {
      refuse_malformed("the first byte is not of HTTP/1.1");
      return blank;
    }
  }
  std::string_view text = bytes;
  const std::size_t before = carry_.size();
  if (before != 0) {
    carry_.append(bytes);
    text = carry_;
  }
  const auto found = scanner_.scan(text);
  if (found == HeadScanner::Found::more) {
    if (before == 0) carry_.assign(bytes);
    return blank + bytes.size();
  }
  if (found != HeadScanner::Found::end) {
    refuse_head(found);
    return blank + bytes.size();
  }
  const std::size_t used = scanner_.size() - before;
  on_head(text.substr(0, scanner_.size()), scanner_.first_line());
  return blank + used;
}

void Framer::begin_fixed(std::uint64_t size) {
  head_done_ = true;
  if (refuse_announced_ && size > limits_.body_bytes) return refuse_body();
  left_ = size;
  phase_ = size == 0 ? Phase::done : Phase::fixed;
  if (size != 0) {
    body_.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(size, kTrustedLength)));
  }
}

void Framer::begin_chunked() {
  head_done_ = true;
  chunked_.reset();
  phase_ = Phase::chunked;
}

void Framer::begin_until_close() {
  head_done_ = true;
  phase_ = Phase::until_close;
}

bool Framer::append(std::string_view data) {
  if (data.size() > limits_.body_bytes - body_.size()) {
    refuse_body();
    return false;
  }
  if (!data.empty()) body_.append(data);
  return true;
}

std::size_t Framer::feed_body(std::string_view bytes) {
  if (bytes.empty()) return 0;
  body_started_ = true;
  std::size_t used = 0;
  switch (phase_) {
    case Phase::fixed:
      used = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
      if (!append(bytes.substr(0, used))) return used;
      left_ -= used;
      if (left_ == 0) phase_ = Phase::done;
      return used;
    case Phase::chunked:
      while (used < bytes.size() && phase_ == Phase::chunked) {
        const auto step = chunked_.step(bytes.substr(used));
        used += step.consumed;
        if (chunked_.error()) {
          refuse_malformed(chunked_.error());
        } else if (refuse_announced_ &&
                   chunked_.announced() > limits_.body_bytes - body_.size() - step.data.size()) {
          refuse_body();
        } else if (append(step.data) && chunked_.done()) {
          phase_ = Phase::done;
        }
      }
      return used;
    case Phase::until_close:
      append(bytes);
      return bytes.size();
    case Phase::head:
    case Phase::done:
    case Phase::refused:
      break;
  }
  return 0;
}

PaddedBuffer Framer::take_body() {
  return std::exchange(body_, PaddedBuffer());
}

}  // namespace mcpx::http1
