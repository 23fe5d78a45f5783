// HeadScanner finds the end of a message head; Framer cuts a byte stream into a head and a body.
//
// Together they are what both decoders share. Internal to http1. Pure. Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/padded_buffer.hpp"
#include "http1/chunked.hpp"
#include "http1/decoder.hpp"

namespace mcpx::http1 {

// Every byte is looked at once, however the head is split. Each verdict depends on the bytes alone,
// not on the split, and comes with the first byte that makes it sure.
class HeadScanner {
 public:
  enum class Found { more, end, bare_line_feed, folded, line_too_long, head_too_long, no_line };

  HeadScanner(std::size_t first_line_limit, std::size_t head_limit)
      : first_line_limit_(first_line_limit), head_limit_(head_limit) {}

  void reset();
  // `text` is the head from its first byte on; on `end`, size() of its bytes are the head.
  Found scan(std::string_view text);
  std::size_t size() const { return at_; }
  std::size_t first_line() const { return first_line_; }  // its size, without the line end

 private:
  std::size_t first_line_limit_, head_limit_;
  std::size_t at_ = 0;    // searched so far
  std::size_t line_ = 0;  // where the current line starts
  std::size_t lines_ = 0;
  std::size_t first_line_ = 0;
};

class Framer {
 public:
  // How to speak of a refusal: a server answers the status, a client names the code.
  struct Terms {
    const char* code;        // of what is malformed
    const char* what;        // "request" or "response"
    std::size_t first_line;  // limit of the start line
    unsigned malformed, line_too_long, head_too_long;
  };

  Framer(const Limits& limits, const Terms& terms);
  virtual ~Framer() = default;

  std::size_t feed(std::string_view bytes);
  PaddedBuffer take_body();

  bool head_done() const { return head_done_; }
  bool done() const { return phase_ == Phase::done; }
  bool started() const { return started_; }
  bool body_started() const { return body_started_; }
  const Refusal* refusal() const { return refusal_ ? &*refusal_ : nullptr; }

 protected:
  enum class Phase { head, fixed, chunked, until_close, done, refused };

  // The complete head. Calls one of begin_*(), skip_head() or refuse().
  virtual void on_head(std::string_view text, std::size_t first_line) = 0;
  // True when `c` can be the first byte of a message.
  virtual bool can_start(char c) const = 0;

  void begin_fixed(std::uint64_t size);
  void begin_chunked();
  void begin_until_close();
  void skip_head();  // another head follows (1xx)
  void refuse(unsigned status, const char* code, std::string message);
  void refuse_malformed(std::string_view why);
  void refuse_body();

  void reset_framing();
  Phase phase() const { return phase_; }
  void finish() { phase_ = Phase::done; }
  std::size_t body_limit() const { return limits_.body_bytes; }
  std::size_t field_limit() const { return limits_.fields; }

  // A request's body is taken whole, so a size beyond the limit is refused when it is announced.
  bool refuse_announced_ = true;
  bool head_done_ = false;
  std::size_t blank_lines_ = 0;  // CR LF tolerated before the start line, in bytes

 private:
  std::size_t feed_head(std::string_view bytes);
  std::size_t skip_blank(std::string_view bytes);
  std::size_t feed_body(std::string_view bytes);
  bool append(std::string_view data);
  void refuse_head(HeadScanner::Found found);

  Limits limits_;
  Terms terms_;
  HeadScanner scanner_;
  std::string carry_;  // the head so far, when it came in pieces
  PaddedBuffer body_;
  ChunkedDecoder chunked_;
  std::uint64_t left_ = 0;
  std::size_t skipped_ = 0;
  std::optional<Refusal> refusal_;
  Phase phase_ = Phase::head;
  bool started_ = false;
  bool body_started_ = false;
};

}  // namespace mcpx::http1
