// Scanning primitives shared by the walkers here and the framing in rpc: find the next byte that
// matters, 16 bytes at a time where SSE2 exists. No function reads outside [at, end), whatever the
// bytes are; all of them answer a pointer in [at, end]. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mcpx::json {

inline bool is_white(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

inline const char* skip_white(const char* at, const char* end) {
  while (at < end && is_white(*at))
    ++at;
  return at;
}

inline std::string_view trimmed(std::string_view text) {
  const char* begin = skip_white(text.data(), text.data() + text.size());
  const char* end = text.data() + text.size();
  while (end > begin && is_white(end[-1]))
    --end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

// The next quote or backslash: what matters inside a string.
inline const char* find_quote_or_backslash(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const int mask = _mm_movemask_epi8(
        _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
    if (mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
  }
#endif
  while (at < end && *at != '"' && *at != '\\')
    ++at;
  return at;
}

// The next quote, brace or bracket: what matters between strings when only the depth counts.
inline const char* find_quote_or_bracket(const char* at, const char* end) {
#if defined(__SSE2__)
  // '[' | 0x20 is '{' and ']' | 0x20 is '}'; no other bytes become those two.
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i bit = _mm_set1_epi8(0x20);
  const __m128i open = _mm_set1_epi8('{');
  const __m128i close = _mm_set1_epi8('}');
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i folded = _mm_or_si128(bytes, bit);
    const __m128i brackets =
        _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close));
    const int mask = _mm_movemask_epi8(_mm_or_si128(brackets, _mm_cmpeq_epi8(bytes, quote)));
    if (mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
  }
#endif
  while (at < end && *at != '"' && (*at | 0x20) != '{' && (*at | 0x20) != '}')
    ++at;
  return at;
}

// `at` is behind the opening quote; answers the place behind the closing one.
inline const char* skip_string(const char* at, const char* end) {
  for (;;) {
    at = find_quote_or_backslash(at, end);
    if (at == end) return end;
    if (*at == '"') return at + 1;
    if (end - at < 2) return end;
    at += 2;
  }
}

// The place behind the value that starts at `at` (which is not white space).
const char* skip_value(const char* at, const char* end);

}  // namespace mcpx::json
