// LineFramer: newline-delimited JSON out of a byte stream, with a cap.
//
// A line over the cap is not kept: an IdScanner reads its top-level "id" and "method" as the bytes
// pass by, so that only its own request fails (case C14), whatever the member order.
// Blank lines are skipped. A trailing CR is dropped. Pure. Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/padded_buffer.hpp"

namespace mcpx::rpc {

// Finds the raw "id" token at depth 1 of an object, fed in pieces of any size.
class IdScanner {
 public:
  void feed(std::string_view bytes);
  const std::string& id() const { return id_; }  // raw token; empty if not (yet) seen
  void reset() { *this = IdScanner(); }

 private:
  void step(char c);
  void finish_token();

  static constexpr std::size_t kTokenLimit = 512;
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false, expect_key_ = false, reading_id_ = false;
  std::string token_, id_;
};

struct OversizedLine {
  std::size_t size = 0;
  std::string id;  // raw token, or empty
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

 private:
  std::size_t limit_;
  std::string buffer_;
  std::size_t at_ = 0;        // start of what has not been handed out
  std::size_t scanned_ = 0;   // up to here there is no line end
  bool oversized_ = false;
  std::size_t oversized_bytes_ = 0;
  IdScanner scanner_;
};

}  // namespace mcpx::rpc
