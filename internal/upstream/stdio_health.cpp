// A server over stdio that hangs.
#include <fmt/format.h>

#include "upstream/stdio_link.hpp"

namespace mcpx::upstream {
namespace {

// So many requests in a row that time out without a word from the server are worth a question.
constexpr std::size_t kMuteTimeouts = 3;

}  // namespace

// Stopped, or caught in a loop: it neither answers nor ends, so nothing else would ever replace it.
void StdioLink::timed_out(rpc::Number id) {
  give_up(id, "the deadline passed");
  if (quiet_.count(id) == 0 && ++mute_timeouts_ == kMuteTimeouts) {
    tasks_.spawn("proof of life", prove_alive());
  }
}

// Ends it unless it says anything, in answer to this or by itself.
Task<void> StdioLink::prove_alive() {
  const bool modern = facts_.era() == mcp::Era::modern;
  std::string params = "{}";
  if (modern) {
    json::ObjectBuilder object;
    params = object.raw("_meta", plain_meta_).take();
  }
  const std::string_view method = modern ? "server/discover" : "ping";
  const TimePoint deadline = Clock::now() + context_.config.probe_timeout;
  Reply reply = co_await request(method, std::move(params), deadline, OnGiveUp::forget);
  if (reply || mute_timeouts_ == 0 || lost_ || stopped_) co_return;
  condemned_ = Error(
      "upstream.unresponsive",
      fmt::format("server {} hangs: {} requests in a row timed out without a word "
                  "from it, and {} too; it is ended and started anew",
                  context_.config.name, kMuteTimeouts, method),
      fmt::format("see what it does, and its stderr in `mcpx servers {}`", context_.config.name));
  child_->output().close();
}

}  // namespace mcpx::upstream
