// Request decoder: any bytes, split anywhere, give the same verdict, head and body as in one piece;
// a body never passes its limit, and a refusal is final. The first byte seeds the splits.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "fuzz/check.hpp"
#include "http1/decoder.hpp"

using namespace mcpx;

namespace {

constexpr http1::Limits kLimits{2048, 256};

struct Outcome {
  bool done = false, head_done = false;
  unsigned status = 0;
  std::size_t used = 0;
  std::string head, body;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome_of(http1::RequestDecoder& decoder, std::size_t used) {
  Outcome out;
  out.done = decoder.done();
  out.head_done = decoder.head_done();
  if (decoder.refusal()) out.status = decoder.refusal()->status;
  if (!decoder.refusal()) out.used = used;
  if (out.head_done) {
    const http1::RequestHead& head = decoder.head();
    FUZZ_CHECK(!head.target.empty() && head.target.front() == '/');
    out.head = head.method + ' ' + head.target + ' ' + head.authority;
    for (std::size_t i = 0; i < head.fields.size(); ++i) {
      const auto value = head.fields.value_at(i);
      FUZZ_CHECK(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos);
      out.head.append("\n").append(head.fields.name_at(i)).append(":").append(value);
    }
  }
  const PaddedBuffer body = decoder.take_body();
  FUZZ_CHECK(body.size() <= kLimits.body_bytes);
  if (out.done) out.body = body.view();
  return out;
}

Outcome run(http1::RequestDecoder& decoder, std::string_view bytes, unsigned seed) {
  decoder.reset();
  std::minstd_rand random(seed + 1);
  std::size_t used = 0;
  while (used < bytes.size() && !decoder.done() && !decoder.refusal()) {
    std::size_t size = bytes.size() - used;
    if (seed == 1) size = 1;
    if (seed > 1) size = std::min<std::size_t>(size, 1 + random() % 40);
    const std::size_t taken = decoder.feed(bytes.substr(used, size));
    FUZZ_CHECK(taken <= size);
    FUZZ_CHECK(taken == size || decoder.done() || decoder.refusal());
    used += taken;
  }
  FUZZ_CHECK(!(decoder.done() && decoder.refusal()));
  return outcome_of(decoder, used);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  http1::RequestDecoder decoder(kLimits);
  const Outcome whole = run(decoder, bytes, 0);
  FUZZ_CHECK(run(decoder, bytes, 1) == whole);
  FUZZ_CHECK(run(decoder, bytes, 2U + data[0]) == whole);
  return 0;
}
