// The endpoint event of HTTP+SSE (2024-11-05 basic/transports): where a client is told to POST.
// Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace mcpx::upstream {

// The request target that the event's data names, resolved against the URL of the stream. Another
// origin is refused: the credentials of this server are not for it. Error: upstream.handshake.
Result<std::string> endpoint_target(const std::string& stream_url, std::string_view data);

}  // namespace mcpx::upstream
