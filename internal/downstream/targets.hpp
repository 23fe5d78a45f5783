// Where a request that names a tool, prompt or resource goes, or what to tell a caller who named
// something that is not there. Pure over a snapshot. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "downstream/answer.hpp"
#include "downstream/dispatch.hpp"
#include "registry/snapshot.hpp"

namespace mcpx::downstream {

// A target and what the hop replaces in params to reach it.
struct Resolved {
  registry::Target target;
  std::string_view member;  // "name", "uri" or "ref"; empty: nothing to replace
  std::string value;        // raw JSON
};
// The answer to give instead when there is no target.
using Resolution = std::variant<Resolved, Answer>;

Resolution resolve(const registry::Endpoint& endpoint, const Request& request);

}  // namespace mcpx::downstream
