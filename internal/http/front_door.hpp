// The checks every request passes before its handler sees it (case C70): a web page must not reach
// the daemon through the user's browser, neither directly (Origin) nor by a name that was re-bound
// to this machine (Host). Pure. Thread: any.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http1/message.hpp"

namespace mcpx::http {

// "localhost", 127.0.0.0/8 and "[::1]", without a port. Other spellings of the same machine
// ("127.1", "localhost.") are not accepted: no client needs them, and each is one more to get
// wrong.
bool is_loopback_host(std::string_view host);

// Why the request must be answered 403, or nothing.
std::optional<Error> check_front_door(const http1::RequestHead& head,
                                      std::span<const std::string> allowed_hosts,
                                      std::span<const std::string> allowed_origins);

// The origin of a request that came in because it is listed, or empty. Its page may read the answer
// (CORS); pages of loopback origins, which nobody chose, may not.
std::string_view listed_origin(const http1::RequestHead& head,
                               std::span<const std::string> allowed_origins);

}  // namespace mcpx::http
