// Glob patterns: '*' is any run of characters, '?' is one. Pure. Thread: any.
#pragma once

#include <string_view>

namespace mcpx::config {

bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace mcpx::config
