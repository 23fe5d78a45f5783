// LineFramer: newline-delimited JSON out of a byte stream, with a cap.
//
// A line over the cap (without its line end) is not kept: an IdScanner reads its top-level "id" as
// the bytes pass by, so that only its own request fails (case C14), whatever the member order.
// Blank lines are skipped. A trailing CR is dropped. Pure. Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/padded_buffer.hpp"

namespace mcpx::rpc {

// Finds the raw "id" token at depth 1 of an object, fed in pieces of any size, in constant memory.
// For text that parse() would take it finds what parse() finds; on other text it is best effort.
class IdScanner {
 public:
  void feed(std::string_view bytes);
  // The raw token; empty while not seen, and when it is no legal id or stands there twice.
  const std::string& id() const { return id_; }
  // Tells a request or notification from a response.
  bool has_method() const { return has_method_; }
  void reset() { *this = IdScanner(); }

 private:
  enum class State { before_key, key, before_value, value, skip, done };
  enum class Member { other, id };

  void step(char c);
  void string_byte(char c);
  void between_members(char c);
  void begin_token(State state);
  void keep(char c);
  void finish_key();
  void finish_value();
  bool collecting() const;

  // Escapes can make a 300-character id six times as long.
  static constexpr std::size_t kTokenLimit = 4096;
  State state_ = State::skip;
  Member member_ = Member::other;
  std::size_t depth_ = 0;
  bool in_string_ = false, escaped_ = false;
  bool overflow_ = false, id_seen_ = false, has_method_ = false;
  std::string token_, id_;
};

struct OversizedLine {
  std::size_t size = 0;
  std::string id;           // raw token, or empty
  bool has_method = false;  // a request or notification, so the id is the sender's own
};
using Line = std::variant<PaddedBuffer, OversizedLine>;

class LineFramer {
 public:
  explicit LineFramer(std::size_t line_limit) : limit_(line_limit) {}
  void feed(std::string_view bytes);
  // The next line, or nullopt when more bytes are needed. Call until nullopt after each feed.
  std::optional<Line> next();
  // Bytes of an unfinished line held now; at the end of the stream they are a truncated line.
  std::size_t pending() const;
  // Memory held for lines; small again once a long line was handed out or skipped.
  std::size_t capacity() const { return buffer_.capacity(); }

 private:
  void compact();
  void skip(std::string_view bytes);
  void finish_oversized();

  std::size_t limit_;
  std::string buffer_;
  std::size_t at_ = 0;       // start of what has not been handed out
  std::size_t scanned_ = 0;  // up to here there is no line end
  // While oversized_, the bytes of the current line go to the scanner and not into the buffer.
  bool oversized_ = false, ends_with_cr_ = false;
  std::size_t oversized_bytes_ = 0;
  IdScanner scanner_;
  std::optional<OversizedLine> finished_;  // comes before everything in the buffer
};

}  // namespace mcpx::rpc
