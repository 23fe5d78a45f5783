#include "http1/head_parser.hpp"

#include <algorithm>
#include <array>
#include <limits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "http1/syntax.hpp"

namespace mcpx::http1 {
namespace {

// Character classes by table: every byte of a head is asked.
enum Class : std::uint8_t { kToken = 1, kText = 2, kVisible = 4 };

constexpr std::array<std::uint8_t, 256> kClasses = [] {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned i = 0; i < classes.size(); ++i) {
    const char c = static_cast<char>(i);
    if (is_token(c)) classes[i] |= kToken;
    if (!is_control(c)) classes[i] |= kText;
    if (i > 0x20 && i != 0x7f) classes[i] |= kVisible;
  }
  return classes;
}();

bool all(std::string_view text, Class wanted) {
  unsigned common = wanted;
  for (const char c : text)
    common &= kClasses[static_cast<unsigned char>(c)];
  return common != 0;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

// The next line without its CR LF.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size() - 1);
  const std::string_view line = text.substr(0, end > 0 ? end - 1 : 0);
  text.remove_prefix(end + 1);
  return line;
}

// "HTTP/1.0" or "HTTP/1.1" as 10 or 11; 0 for anything else.
int version_of(std::string_view text) {
  if (text == "HTTP/1.1") return 11;
  return text == "HTTP/1.0" ? 10 : 0;
}

// The elements of a comma-separated list, trimmed; `use` answers false to stop.
template <class Use>
bool each_element(std::string_view list, Use use) {
  for (;;) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (!use(trimmed(list.substr(0, comma)))) return false;
    if (comma == list.size()) return true;
    list.remove_prefix(comma + 1);
  }
}

std::optional<std::uint64_t> decimal(std::string_view text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  if (text.empty()) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (number > (kMost - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
  }
  return number;
}

// RFC 9110 section 8.6: one number, or a list of the same one.
HeadFault take_content_length(std::string_view value, Head& head) {
  HeadFault fault = HeadFault::none;
  each_element(value, [&](std::string_view element) {
    const auto number = decimal(element);
    if (!number) {
      fault = HeadFault::content_length;
    } else if (head.content_length && *head.content_length != *number) {
      fault = HeadFault::two_content_lengths;
    } else {
      head.content_length = number;
    }
    return fault == HeadFault::none;
  });
  return fault;
}

HeadFault take_connection(std::string_view value, Head& head) {
  const bool tokens = each_element(value, [&](std::string_view option) {
    head.says_close = head.says_close || equals_ignoring_case(option, "close");
    head.says_keep_alive = head.says_keep_alive || equals_ignoring_case(option, "keep-alive");
    return all(option, kToken);
  });
  return tokens ? HeadFault::none : HeadFault::field_value;
}

// What of a field concerns the framing. By length first: most fields are none of these.
HeadFault note(std::string_view name, std::string_view value, Head& head) {
  Facts& facts = head.facts;
  switch (name.size()) {
    case 4:
      if (!equals_ignoring_case(name, "host")) break;
      ++facts.hosts;
      facts.host = value;
      break;
    case 6:
      if (!equals_ignoring_case(name, "expect")) break;
      (equals_ignoring_case(value, "100-continue") ? facts.expects_continue : facts.expects_other) =
          true;
      break;
    case 10:
      if (equals_ignoring_case(name, "connection")) return take_connection(value, head);
      break;
    case 14:
      if (equals_ignoring_case(name, "content-length")) return take_content_length(value, head);
      break;
    case 17:
      if (!equals_ignoring_case(name, "transfer-encoding")) break;
      ++facts.encodings;
      facts.encoding = value;
      break;
    default:
      break;
  }
  return HeadFault::none;
}

// The first control character that is no tab, 16 bytes at a time where SSE2 exists: in a head that
// is legal it is the CR that ends the line.
const char* find_control(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i last = _mm_set1_epi8(0x1f);
  const __m128i tab = _mm_set1_epi8('\t');
  const __m128i del = _mm_set1_epi8(0x7f);
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, last), bytes);
    const __m128i found =
        _mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(bytes, tab), low), _mm_cmpeq_epi8(bytes, del));
    const int mask = _mm_movemask_epi8(found);
    if (mask != 0) return at + __builtin_ctz(static_cast<unsigned>(mask));
  }
#endif
  while (at < end && !is_control(*at))
    ++at;
  return at;
}

HeadFault read_fields(std::string_view text, std::size_t limit, Head& head, Fields& fields) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && *at != '\r') {
    const char* const name_begin = at;
    while (at < end && (kClasses[static_cast<unsigned char>(*at)] & kToken) != 0)
      ++at;
    if (at == name_begin || at == end || *at != ':') return HeadFault::field_name;
    const std::string_view name = between(name_begin, at);
    const char* const value_begin = ++at;
    at = find_control(at, end);
    if (end - at < 2 || at[0] != '\r' || at[1] != '\n') return HeadFault::field_value;
    const std::string_view value = trimmed(between(value_begin, at));
    at += 2;
    if (fields.size() == limit) return HeadFault::too_many_fields;
    fields.add(name, value);
    if (const HeadFault fault = note(name, value, head); fault != HeadFault::none) return fault;
  }
  return end - at == 2 ? HeadFault::none : HeadFault::field_value;
}

}  // namespace

std::string_view describe(HeadFault fault) {
  switch (fault) {
    case HeadFault::method:
      return "the method is not a token";
    case HeadFault::target:
      return "the target is empty or holds a space or control character";
    case HeadFault::version:
      return "the version is not HTTP/1.1";
    case HeadFault::status:
      return "the status is not a number";
    case HeadFault::reason:
      return "the reason holds a control character";
    case HeadFault::field_name:
      return "a header name is not a token";
    case HeadFault::field_value:
      return "a header value holds a control character";
    case HeadFault::content_length:
      return "Content-Length is not one number";
    case HeadFault::two_content_lengths:
      return "Content-Length is given twice, differently";
    case HeadFault::too_many_fields:
      return "too many header fields";
    case HeadFault::none:
      break;
  }
  return "the head cannot be read";
}

HeadFault read_request_head(std::string_view text, std::size_t limit, Head& head, Fields& fields) {
  const std::string_view line = take_line(text);
  const std::size_t method_end = std::min(line.find(' '), line.size());
  head.method = line.substr(0, method_end);
  if (head.method.empty() || !all(head.method, kToken)) return HeadFault::method;
  const std::string_view rest = line.substr(std::min(method_end + 1, line.size()));
  const std::size_t target_end = std::min(rest.find(' '), rest.size());
  head.target = rest.substr(0, target_end);
  if (head.target.empty() || !all(head.target, kVisible)) return HeadFault::target;
  head.version = version_of(rest.substr(std::min(target_end + 1, rest.size())));
  if (head.version == 0) return HeadFault::version;
  return read_fields(text, limit, head, fields);
}

HeadFault read_response_head(std::string_view text, std::size_t limit, Head& head, Fields& fields) {
  constexpr std::size_t kVersion = std::string_view("HTTP/1.1").size();
  const std::string_view line = take_line(text);
  head.version = version_of(line.substr(0, kVersion));
  if (head.version == 0) return HeadFault::version;
  const std::string_view rest = line.substr(kVersion);
  const bool number = rest.size() >= 4 && rest[0] == ' ' && is_digit(rest[1]) &&
                      is_digit(rest[2]) && is_digit(rest[3]);
  if (!number || (rest.size() > 4 && rest[4] != ' ')) return HeadFault::status;
  head.status = (rest[1] - '0') * 100 + (rest[2] - '0') * 10 + (rest[3] - '0');
  head.reason = rest.substr(std::min<std::size_t>(5, rest.size()));
  if (!all(head.reason, kText)) return HeadFault::reason;
  return read_fields(text, limit, head, fields);
}

}  // namespace mcpx::http1
