// Policy: what becomes of a question that no connected client can answer, by the configuration.
// Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "call/ask.hpp"
#include "config/config.hpp"
#include "mcp/asking.hpp"

namespace mcpx::broker {

// An answer that nobody has to be asked for.
struct Decided {
  Decided() = default;
  call::Response response;
  std::string action;   // accept, decline, cancel, error
  std::string surface;  // "rule" or "policy"
  std::string by;       // which
};

std::string_view text(mcp::QuestionKind kind);

// What may be asked of clients that declared `askable`, if the broker stands in for them.
mcp::Askable stands_in_for(const config::Broker& config, bool passes_through);

// The response that `action` (accept, decline, cancel) is to such a question.
call::Response response_for(mcp::QuestionKind kind, std::string_view params,
                            std::string_view action, std::string_view content);

// Whether somebody is there who answers: then `broker.policy`, which is for when nobody is, is not
// looked at; the rules are.
enum class Attended : bool { no, yes };

// nullopt: somebody is to be asked. `target` is what was called; may be empty.
std::optional<Decided> decide(const config::Broker& config, const call::Question& question,
                              std::string_view target, Attended attended = Attended::no);

}  // namespace mcpx::broker
