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

// Feed bytes as they come, then take events until there is none: what is fed and not taken is held,
// so the caller's read size bounds it. An event that the stream's end cuts off is not delivered.
class SseParser {
 public:
  explicit SseParser(std::size_t event_limit) : limit_(event_limit) {}
  void feed(std::string_view bytes);
  // The next complete event that has data, an id or a retry. Call until nullopt.
  std::optional<SseEvent> next();
  // One event grew past the limit. The rest of the stream is not read.
  bool overflowed() const { return overflowed_; }

 private:
  bool skip_mark();
  bool take_line(std::string_view& line);
  void apply(std::string_view line);
  bool finish_event(SseEvent& out);
  std::size_t find(char c, std::size_t& from) const;
  void overflow();
  void compact();

  std::string pending_;  // bytes fed; those before at_ are read
  std::size_t at_ = 0;
  std::size_t cr_ = 0, lf_ = 0;  // no CR (LF) lies between at_ and here: no byte is searched twice
  std::size_t limit_;
  SseEvent event_;
  bool has_data_ = false;
  bool first_ = true;      // a byte order mark may still come
  bool after_cr_ = false;  // a LF now belongs to the CR before it
  bool overflowed_ = false;
};

// `data` is one line of JSON: embedded line ends would be split into several data lines.
void append_sse_event(std::string& out, std::string_view data, std::string_view id = {});
// An event with an id and no data: it gives the client a place to resume from, after `retry_ms`.
void append_sse_priming(std::string& out, std::string_view id, unsigned retry_ms);
inline constexpr std::string_view kSseKeepAlive = ": keep-alive\n\n";

}  // namespace mcpx::http1
