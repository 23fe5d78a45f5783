// Where the daemon is: --url, else $MCPX_URL, else its usual Unix socket, else its usual port. And
// what it is shown to let us in.
// Thread: any.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace mcpx::cli {

inline constexpr const char* kDefaultUrl = "http://127.0.0.1:7332";

std::string default_url(
    const std::function<std::optional<std::string>(const std::string&)>& environment,
    const std::function<bool(const std::string&)>& is_socket);
bool is_socket(const std::string& path);

// The token to show at `url`: the one in `file`, else $MCPX_TOKEN, else the one in the file that
// $MCPX_TOKEN_FILE names; empty when there is none. A Unix socket is the user's own and gets one
// only from `file`. Error: cli.token.
Result<std::string> token_for(
    const std::string& url, const std::optional<std::string>& file,
    const std::function<std::optional<std::string>(const std::string&)>& environment);

}  // namespace mcpx::cli
