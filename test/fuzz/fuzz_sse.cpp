// Event stream parser: the same events however the bytes are split, none over the limit; and what
// the writer makes of any data is one event with that data. The first byte seeds the splits.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/check.hpp"
#include "http1/sse.hpp"

using namespace mcpx;

namespace {

constexpr std::size_t kLimit = 200;

struct Outcome {
  std::vector<std::string> events;
  bool overflowed = false;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome run(std::string_view bytes, unsigned seed) {
  http1::SseParser parser(kLimit);
  std::minstd_rand random(seed + 1);
  Outcome out;
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t size = bytes.size() - at;
    if (seed == 1) size = 1;
    if (seed > 1) size = std::min<std::size_t>(size, 1 + random() % 40);
    parser.feed(bytes.substr(at, size));
    at += size;
    while (const auto event = parser.next()) {
      FUZZ_CHECK(event->data.size() <= kLimit);
      FUZZ_CHECK(!event->type.empty());
      std::string text = event->type + '\n' + event->data + '\n';
      if (event->id) text += "id " + *event->id;
      if (event->retry_ms) text += "retry " + std::to_string(*event->retry_ms);
      out.events.push_back(text);
    }
  }
  out.overflowed = parser.overflowed();
  return out;
}

// CR, CR LF and LF all end a line of data; they come back as LF.
std::string with_line_feeds(std::string_view data) {
  std::string out;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != '\r') {
      out += data[i];
    } else {
      out += '\n';
      if (data.substr(i + 1, 1) == "\n") ++i;
    }
  }
  return out;
}

void check_round_trip(std::string_view data) {
  std::string text;
  http1::append_sse_event(text, data);
  http1::SseParser parser(text.size());
  parser.feed(text);
  const auto event = parser.next();
  FUZZ_CHECK(event && event->data == with_line_feeds(data) && event->type == "message");
  FUZZ_CHECK(!parser.next());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = run(bytes, 0);
  FUZZ_CHECK(run(bytes, 1) == whole);
  FUZZ_CHECK(run(bytes, 2U + data[0]) == whole);
  check_round_trip(bytes);
  return 0;
}
