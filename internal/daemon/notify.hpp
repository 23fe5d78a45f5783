// sd_notify without libsystemd: one datagram to $NOTIFY_SOCKET, if there is one.
// Thread: any.
#pragma once

#include <string_view>

namespace mcpx::daemon {

// "READY=1", "STOPPING=1", "STATUS=...". Silent when not run by a service manager.
void notify_service_manager(std::string_view state);

}  // namespace mcpx::daemon
