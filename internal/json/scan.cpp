#include "json/scan.hpp"

#include <cstdint>

namespace mcpx::json {
namespace {

bool ends_scalar(char c) {
  return c == ',' || c == '}' || c == ']' || c == ':' || is_white(c);
}

// From outside strings, `depth` levels deep: behind the bracket that closes the outermost, or end.
const char* skip_to_close(const char* at, const char* end, std::size_t depth) {
  for (;;) {
    at = find_quote_or_bracket(at, end);
    if (at == end) return end;
    const char c = *at++;
    if (c == '"') {
      at = skip_string(at, end);
    } else if ((c | 0x20) == '{') {
      ++depth;
    } else if (--depth == 0) {
      return at;
    }
  }
}

#if defined(__SSE2__)

constexpr std::ptrdiff_t kBlock = 64;

// One bit per byte of a block of 64.
struct Block {
  std::uint64_t quotes = 0, backslashes = 0, opens = 0, closes = 0;

  explicit Block(const char* at) {
    const __m128i bit = _mm_set1_epi8(0x20);
    for (int i = 0; i < 4; ++i) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * i));
      const __m128i folded = _mm_or_si128(bytes, bit);
      quotes |= mask(bytes, '"') << (16 * i);
      backslashes |= mask(bytes, '\\') << (16 * i);
      opens |= mask(folded, '{') << (16 * i);
      closes |= mask(folded, '}') << (16 * i);
    }
  }
  static std::uint64_t mask(__m128i bytes, char c) {
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c))));
  }
};

// The bytes that a backslash before them makes ordinary. Backslashes are rare, so one by one.
std::uint64_t escaped_bytes(std::uint64_t backslashes) {
  std::uint64_t out = 0;
  while (backslashes != 0) {
    const std::uint64_t lowest = backslashes & (~backslashes + 1);
    out |= lowest << 1;
    backslashes &= ~(lowest | lowest << 1);
  }
  return out;
}

// Bit i is the exclusive or of bits 0 to i: set from each opening quote up to its closing one.
std::uint64_t prefix_xor(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2)
    bits ^= bits << shift;
  return bits;
}

std::size_t count(std::uint64_t bits) {
  return static_cast<std::size_t>(__builtin_popcountll(bits));
}

// Steps over one block that begins outside strings. Answers the place behind the bracket that
// closes the outermost container, or else nullptr and moves `at` behind the block and behind the
// string it ends in.
const char* step_block(const char*& at, const char* end, std::size_t& depth) {
  const Block block(at);
  const std::uint64_t escaped = escaped_bytes(block.backslashes);
  const std::uint64_t strings = prefix_xor(block.quotes & ~escaped);
  const std::uint64_t opens = block.opens & ~strings;
  const std::uint64_t closes = block.closes & ~strings;
  if (count(closes) < depth) {
    depth += count(opens) - count(closes);
  } else {
    for (std::uint64_t both = opens | closes; both != 0; both &= both - 1) {
      const std::uint64_t lowest = both & (~both + 1);
      if ((opens & lowest) != 0) {
        ++depth;
      } else if (--depth == 0) {
        return at + __builtin_ctzll(lowest) + 1;
      }
    }
  }
  at += kBlock;
  if ((strings >> 63) == 0) return nullptr;
  // The last byte is in a string; when it is a backslash that counts, so is the next one.
  const bool dangling = ((block.backslashes & ~escaped) >> 63) != 0;
  if (dangling && at < end) ++at;
  at = skip_string(at, end);
  return nullptr;
}

#endif

// `at` is at the opening bracket. A backslash outside strings, which valid text has not, counts as
// one inside; the result is in the span all the same.
const char* skip_container(const char* at, const char* end) {
  std::size_t depth = 0;
#if defined(__SSE2__)
  while (end - at >= kBlock) {
    if (const char* closed = step_block(at, end, depth)) return closed;
  }
#endif
  return skip_to_close(at, end, depth);
}

}  // namespace

const char* skip_value(const char* at, const char* end) {
  if (at == end) return end;
  if (*at == '"') return skip_string(at + 1, end);
  if (*at == '{' || *at == '[') return skip_container(at, end);
  while (at < end && !ends_scalar(*at))
    ++at;
  return at;
}

}  // namespace mcpx::json
