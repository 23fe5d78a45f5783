#include <string>

#include "json/grammar.hpp"
#include "json/json.hpp"

namespace mcpx::json {
namespace {

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

Result<void> validate(std::string_view text, const Limits& limits, MemberWatch* watch) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Error("json.empty", "the text is empty");
  }
  if (const auto fault = check_grammar(text, limits.depth, watch)) return to_error(*fault);
  return {};
}

}  // namespace mcpx::json
