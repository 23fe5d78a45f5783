// Response decoder: as for requests, and with the body taken as it comes a stream of any length
// holds no more than the limit. The first byte seeds the splits.
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
  bool done = false, head_done = false, refused = false;
  std::size_t used = 0;
  std::string head, body;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

enum class Taking { at_end, as_it_comes };

Outcome run(http1::ResponseDecoder& decoder, std::string_view bytes, unsigned seed, Taking taking) {
  decoder.reset();
  std::minstd_rand random(seed + 1);
  Outcome out;
  std::size_t used = 0;
  while (used < bytes.size() && !decoder.done() && !decoder.refusal()) {
    std::size_t size = bytes.size() - used;
    if (seed == 1) size = 1;
    if (seed > 1) size = std::min<std::size_t>(size, 1 + random() % 40);
    const std::size_t taken = decoder.feed(bytes.substr(used, size));
    FUZZ_CHECK(taken <= size);
    FUZZ_CHECK(taken == size || decoder.done() || decoder.refusal());
    used += taken;
    if (taking == Taking::as_it_comes) {
      const PaddedBuffer part = decoder.take_body();
      FUZZ_CHECK(part.size() <= kLimits.body_bytes);
      out.body += part.view();
    }
  }
  decoder.end_of_stream();
  FUZZ_CHECK(decoder.done() || decoder.refusal() || !decoder.started());
  const PaddedBuffer rest = decoder.take_body();
  FUZZ_CHECK(rest.size() <= kLimits.body_bytes);
  out.body += rest.view();
  out.done = decoder.done();
  out.head_done = decoder.head_done();
  out.refused = decoder.refusal() != nullptr;
  if (!out.refused) out.used = used;
  if (!out.done) out.body.clear();
  if (out.head_done) {
    const http1::ResponseHead& head = decoder.head();
    FUZZ_CHECK(head.status >= 200 && head.status <= 599);
    out.head = std::to_string(head.status) + ' ' + head.reason;
    for (std::size_t i = 0; i < head.fields.size(); ++i) {
      out.head.append("\n").append(head.fields.name_at(i)).append(":");
      out.head.append(head.fields.value_at(i));
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  http1::ResponseDecoder decoder(kLimits);
  const Outcome whole = run(decoder, bytes, 0, Taking::at_end);
  FUZZ_CHECK(run(decoder, bytes, 1, Taking::at_end) == whole);
  FUZZ_CHECK(run(decoder, bytes, 2U + data[0], Taking::at_end) == whole);
  const Outcome streamed = run(decoder, bytes, 2U + data[0], Taking::as_it_comes);
  if (whole.done) FUZZ_CHECK(streamed == whole);
  return 0;
}
