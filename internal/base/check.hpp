// MCPX_CHECK: a broken invariant of our own ends the process with a message. Never applied to what
// a peer sent. Thread: any.
#pragma once

namespace mcpx {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}  // namespace mcpx

#define MCPX_CHECK(expression) \
  ((expression) ? static_cast<void>(0) : ::mcpx::check_failed(#expression, __FILE__, __LINE__))
