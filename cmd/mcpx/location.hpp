// Where the daemon is: --url, else $MCPX_URL, else its usual Unix socket, else its usual port.
// Thread: any.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace mcpx::cli {

inline constexpr const char* kDefaultUrl = "http://127.0.0.1:7332";

std::string default_url(
    const std::function<std::optional<std::string>(const std::string&)>& environment,
    const std::function<bool(const std::string&)>& is_socket);
bool is_socket(const std::string& path);

}  // namespace mcpx::cli
