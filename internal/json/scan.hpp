// Scanning primitives shared by the walkers here and the framing in rpc: find the next byte that
// matters, 16 bytes at a time where SSE2 exists. No function reads outside [at, end), whatever the
// bytes are; all of them answer a pointer in [at, end]. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <cstring>
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

// Skips blocks of 64 bytes as long as skip_plain() would skip all of each, if the processor can do
// that faster than skip_plain() itself; else nothing.
const char* skip_plain_blocks(const char* at, const char* end);
inline constexpr std::ptrdiff_t kLongText = 64;

// The next byte of a string that is more than one plain ASCII character: a quote, a backslash, a
// control character, or a byte of a longer UTF-8 sequence.
inline const char* skip_plain(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i space = _mm_set1_epi8(' ');  // as signed bytes, those from 0x80 on are below it too
  const auto marks = [&](const char* from) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i either =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
    return _mm_or_si128(either, _mm_cmplt_epi8(bytes, space));
  };
  unsigned steps = 0;
  while (end - at >= 16) {
    const int mask = _mm_movemask_epi8(marks(at));
    if (mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
    at += 16;
    if (end - at >= kLongText && (++steps & 3) == 0) at = skip_plain_blocks(at, end);
  }
#endif
  while (at < end && *at != '"' && *at != '\\' && static_cast<signed char>(*at) >= ' ')
    ++at;
  return at;
}

// The next place where a quote and then `word` (not empty) stand; nullptr when there is none.
inline const char* find_quoted(const char* at, const char* end, std::string_view word) {
  const auto there = [&](const char* quote) {
    return static_cast<std::size_t>(end - quote) > word.size() &&
           std::memcmp(quote + 1, word.data(), word.size()) == 0;
  };
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i first = _mm_set1_epi8(word.front());
  while (end - at > 16) {
    const __m128i quotes =
        _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), quote);
    if (_mm_movemask_epi8(quotes) == 0) {  // inside a longer string: to its end by memchr
      at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
      if (at == nullptr) return nullptr;
      continue;
    }
    const __m128i after = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 1));
    const __m128i both = _mm_and_si128(quotes, _mm_cmpeq_epi8(after, first));
    auto mask = static_cast<unsigned>(_mm_movemask_epi8(both));
    for (; mask != 0; mask &= mask - 1) {
      const char* found = at + __builtin_ctz(mask);
      if (there(found)) return found;
    }
    at += 16;
  }
#endif
  for (; at < end; ++at) {
    if (*at == '"' && there(at)) return at;
  }
  return nullptr;
}

// The same as skip_string() from any place in a string, by memchr, which uses what the processor
// has: a quote ends the string unless an odd number of backslashes stands before it.
inline const char* skip_long_string(const char* at, const char* end) {
  const char* const begin = at;
  while (at < end) {
    const auto left = static_cast<std::size_t>(end - at);
    const auto* quote = static_cast<const char*>(std::memchr(at, '"', left));
    if (quote == nullptr) return end;
    const char* slash = quote;
    while (slash > begin && slash[-1] == '\\')
      --slash;
    at = quote + 1;
    if ((quote - slash) % 2 == 0) return at;
  }
  return end;
}

// `at` is behind the opening quote; answers the place behind the closing one.
inline const char* skip_string(const char* at, const char* end) {
  constexpr std::ptrdiff_t kNear = 32;
  for (;;) {
    const char* const near = end - at > kNear ? at + kNear : end;
    at = find_quote_or_backslash(at, near);
    if (at == near) return skip_long_string(at, end);
    if (*at == '"') return at + 1;
    if (end - at < 2) return end;
    at += 2;
  }
}

// The place behind the value that starts at `at` (which is not white space).
const char* skip_value(const char* at, const char* end);

}  // namespace mcpx::json
