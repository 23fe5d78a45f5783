// What an endpoint advertises: never a member whose methods are not routed there (design section
// 5). Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/json.hpp"

namespace mcpx::registry {

// A server's own capabilities, as far as its pass-through endpoint carries them.
std::string passed_capabilities(json::Raw own);
// Those of the aggregating endpoint. Besides what it offers whatever its servers do at the moment
// (they come and go, and a legacy client asks once) the extensions that one of `servers` has: those
// are asked for by few, and by most of them per request.
// `subscribe`: resources can be subscribed to at one of them, or may be at one not heard of yet.
std::string merged_capabilities(const std::vector<std::string_view>& servers, bool subscribe);

// The same with tasks among them: as the extension (SEP-2663), and as 2025-11-25 has them.
std::string with_tasks_extension(json::Raw capabilities);
std::string with_tasks_capability(json::Raw capabilities);

}  // namespace mcpx::registry
