// Content decoder: the same text and verdict however the bytes are split and taken, and never more
// than was asked for. The first byte chooses the coding and seeds the splits.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "fuzz/check.hpp"
#include "http1/content_coding.hpp"

using namespace mcpx;

namespace {

constexpr std::size_t kMost = 1 << 20;  // enough to compare; a bomb goes on

struct Outcome {
  std::string text;
  bool complete = false, failed = false;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome run(http1::ContentCoding coding, std::string_view bytes, unsigned seed) {
  http1::Inflater inflater(coding);
  std::minstd_rand random(seed + 1);
  Outcome out;
  std::string room;
  for (std::size_t at = 0; at < bytes.size() && out.text.size() < kMost;) {
    std::size_t size = bytes.size() - at;
    if (seed == 1) size = 1;
    if (seed > 1) size = std::min<std::size_t>(size, 1 + random() % 40);
    inflater.feed(bytes.substr(at, size));
    at += size;
    while (out.text.size() < kMost) {
      room.resize(seed == 0 ? 65'536 : 1 + random() % 5'000);
      const std::size_t made = inflater.take(room);
      FUZZ_CHECK(made <= room.size());
      if (made == 0) break;
      out.text.append(room, 0, made);
    }
  }
  if (out.text.size() >= kMost) {
    out.text.resize(kMost);
    return out;
  }
  out.complete = inflater.complete();
  out.failed = inflater.failed();
  FUZZ_CHECK(!out.complete || !out.failed);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto coding = data[0] % 2 == 0 ? http1::ContentCoding::gzip : http1::ContentCoding::deflate;
  const Outcome whole = run(coding, bytes, 0);
  FUZZ_CHECK(run(coding, bytes, 1) == whole);
  FUZZ_CHECK(run(coding, bytes, 2U + data[0]) == whole);
  return 0;
}
