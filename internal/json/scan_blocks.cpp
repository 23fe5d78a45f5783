#include "json/scan.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mcpx::json {

#if defined(__x86_64__)
namespace {

__attribute__((target("avx2"))) const char* skip_with_avx2(const char* at, const char* end) {
  const __m256i quote = _mm256_set1_epi8('"');
  const __m256i backslash = _mm256_set1_epi8('\\');
  const __m256i space = _mm256_set1_epi8(' ');  // as signed bytes: also those from 0x80 on
  for (; end - at >= 64; at += 64) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32));
    const __m256i quotes =
        _mm256_or_si256(_mm256_cmpeq_epi8(low, quote), _mm256_cmpeq_epi8(high, quote));
    const __m256i slashes =
        _mm256_or_si256(_mm256_cmpeq_epi8(low, backslash), _mm256_cmpeq_epi8(high, backslash));
    const __m256i others =
        _mm256_or_si256(_mm256_cmpgt_epi8(space, low), _mm256_cmpgt_epi8(space, high));
    const __m256i marks = _mm256_or_si256(_mm256_or_si256(quotes, slashes), others);
    if (_mm256_movemask_epi8(marks) != 0) break;
  }
  return at;
}

const bool has_avx2 = __builtin_cpu_supports("avx2");

}  // namespace
#endif

const char* skip_plain_blocks(const char* at, const char* end) {
#if defined(__x86_64__)
  if (has_avx2) return skip_with_avx2(at, end);
#endif
  static_cast<void>(end);
  return at;
}

}  // namespace mcpx::json
