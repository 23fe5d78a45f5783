// The RFC 8259 grammar and nothing else: no number is converted, no string decoded, so that valid
// text with numbers beyond every machine type or with lone surrogate escapes passes.
// Linear, no recursion, no memory but a byte per level. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "json/json.hpp"

namespace mcpx::json {

struct Fault {
  enum class Kind { syntax, utf8, depth };
  Kind kind = Kind::syntax;
  std::size_t offset = 0;  // of the first byte that does not fit
  const char* what = "";   // "expected ':' after a key"
};

// nullopt: the text is one JSON document, at most `depth` levels deep. An empty array or
// object is a leaf and no level.
std::optional<Fault> check_grammar(std::string_view text, std::size_t depth,
                                   MemberWatch* watch = nullptr);

}  // namespace mcpx::json
