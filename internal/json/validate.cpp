#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>

#include "json/grammar.hpp"
#include "json/json.hpp"

namespace mcpx::json {
namespace {

// simdjson keeps about 14 bytes of working memory per byte of the largest document it has seen;
// what a document above this needed is given back afterwards.
constexpr std::size_t kKeptCapacity = 256 * 1024;
constexpr std::size_t kSmallestCapacity = 4 * 1024;

// One per thread: making a parser costs more than parsing a small message. Nothing of the parsed
// document leaves this file, so reuse invalidates nobody's views.
struct DomParser {
  simdjson::dom::parser parser;

  // Capacities are powers of two, so that slowly growing messages do not reallocate each time.
  bool prepare(std::size_t size, std::size_t depth) {
    const bool fits = parser.capacity() >= size && parser.doc.capacity() >= size;
    if (fits && parser.max_depth() == depth) return true;
    const std::size_t capacity =
        std::max({std::bit_ceil(size), kSmallestCapacity, parser.capacity()});
    return !parser.allocate(capacity, depth) && !parser.doc.allocate(capacity);
  }
  void trim() {
    if (parser.capacity() > kKeptCapacity) parser = simdjson::dom::parser();
  }
};

// False means only "not sure": the grammar decides.
bool accepted_by_simdjson(const PaddedBuffer& text, std::size_t depth) {
  static_assert(PaddedBuffer::kPadding >= simdjson::SIMDJSON_PADDING);
  thread_local DomParser dom;
  // simdjson refuses at its max_depth already, so one more than the levels allowed.
  if (!dom.prepare(text.size(), depth + 1)) return false;
  const bool ok = !dom.parser.parse(text.data(), text.size(), false).error();
  dom.trim();
  return ok;
}

Error to_error(const Fault& fault) {
  const std::string where = " at byte " + std::to_string(fault.offset);
  switch (fault.kind) {
    case Fault::Kind::utf8:
      return Error("json.utf8", "invalid UTF-8" + where);
    case Fault::Kind::depth:
      return Error("json.depth", "JSON nested too deep" + where);
    case Fault::Kind::syntax:
      break;
  }
  return Error("json.syntax", "invalid JSON" + where + ": " + fault.what);
}

}  // namespace

Result<void> validate(const PaddedBuffer& text, const Limits& limits) {
  if (text.view().find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Error("json.empty", "the text is empty");
  }
  if (accepted_by_simdjson(text, limits.depth)) return {};
  if (const auto fault = check_grammar(text.view(), limits.depth)) return to_error(*fault);
  return {};
}

}  // namespace mcpx::json
