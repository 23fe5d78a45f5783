// Server-Sent Events, both ways. Pure. Thread: any.
//
// The parser accepts what the field sends (case C37): CR, LF and CRLF, a BOM, comments, multi-line
// data, empty data, `retry:`, events without `event:`. What we write always says `event: message`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mcpx::http1 {

struct SseEvent {
  std::string type = "message";
  std::string data;
  std::optional<std::string> id;
  std::optional<unsigned> retry_ms;
};

class SseParser {
 public:
  explicit SseParser(std::size_t event_limit) : limit_(event_limit) {}
  void feed(std::string_view bytes);
  // The next complete event that has data, an id or a retry. Call until nullopt.
  std::optional<SseEvent> next();
  bool overflowed() const { return overflowed_; }  // one event grew past the limit

 private:
  bool take_line(std::string& line);
  void apply(std::string_view line);

  std::string pending_;
  std::size_t at_ = 0;
  std::size_t limit_;
  SseEvent event_;
  bool has_data_ = false, touched_ = false, first_ = true, overflowed_ = false;
};

// `data` is one line of JSON: embedded line ends would be split into several data lines.
void append_sse_event(std::string& out, std::string_view data, std::string_view id = {});
inline constexpr std::string_view kSseKeepAlive = ": keep-alive\n\n";

}  // namespace mcpx::http1
