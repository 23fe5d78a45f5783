// Lists that are read again because somebody needs them as they are now: one that is stale before
// it is shown, the tools for a call whose header fields its server refused.
#include <algorithm>

#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "runtime/hop.hpp"
#include "upstream/lifecycle.hpp"

namespace mcpx::upstream {

// A server that is down, or backing off, is not asked on behalf of somebody who waits.
bool Lifecycle::can_read(TimePoint by) const {
  return !stopping_ && link_ && link_->alive() && (relist_at_ == kNever || relist_at_ <= by);
}

// Shares the reading with all who wait for the same list.
Task<bool> Lifecycle::read_again(mcp::ListKind kind, TimePoint deadline) {
  if (!renewal_.awaited(kind)) {
    dirty_[static_cast<std::size_t>(kind)] = true;
    event_.wake();
  }
  co_return co_await renewal_.wait(kind, deadline);
}

// --- Stale lists

// What a server announces is fresh until it does, whatever its ttlMs.
TimePoint Lifecycle::fresh_until(mcp::ListKind kind) const {
  if (!catalogue || (link_ && link_->covers(kind))) return kNever;
  return catalogue->list(kind).fresh_until;
}

void Lifecycle::freshen() {
  for (std::size_t i = 0; i < mcp::kListKinds; ++i) {
    const auto kind = static_cast<mcp::ListKind>(i);
    renewal_.announce(kind, link_ && link_->covers(kind));
    renewal_.set(kind, fresh_until(kind));
  }
}

void Lifecycle::settle_lists(const std::vector<mcp::ListKind>& kinds, bool read) {
  for (const mcp::ListKind kind : kinds)
    renewal_.settle(kind, fresh_until(kind), read);
}

Task<bool> Lifecycle::renew(mcp::ListKind kind, TimePoint deadline) {
  if (!renewal_.stale(kind, Clock::now())) co_return true;  // somebody else had it read
  if (can_read(deadline)) co_return co_await read_again(kind, deadline);
  renewal_.set(kind, Clock::now() + kBetweenRenewals);
  co_return false;
}

// A tool that had to be left out, and why (2026-07-28 server/tools asks for a warning); once.
void Lifecycle::log_remarks(const std::shared_ptr<const Catalogue>& before) const {
  for (const std::string& remark : catalogue->remarks) {
    const bool known = before && std::find(before->remarks.begin(), before->remarks.end(),
                                           remark) != before->remarks.end();
    if (!known) log::warning("server {}: {}", config.name, remark);
  }
}

// --- Header fields that do not fit

// The tool's schema asks for other fields than it did when it was listed (2026-07-28
// basic/transports/streamable-http, "Client Behavior").
bool Lifecycle::fields_refused(const call::Call& call, const Answered& answered) const {
  if (!config.is_http() || call.method != mcp::Method::tools_call) return false;
  if (mcp::era_of(answered.from) == mcp::Era::legacy) return false;
  if (!answered.reply || answered.reply->kind != rpc::Kind::error) return false;
  if (call.caller.cancel && call.caller.cancel->cancelled()) return false;
  const auto code = json::find(answered.reply->error, "code");
  return code && json::as_integer(*code) == mcp::kHeaderMismatch;
}

// True when there is a list that the call was not made by. From any shard; what it learnt is in
// this shard's view by the time it is back.
Task<bool> Lifecycle::learn_fields(std::shared_ptr<const Catalogue> used, TimePoint deadline) {
  const std::function<Task<bool>()> at_home = [this, used, deadline] {
    return relist_tools(used, deadline);
  };
  co_return co_await runtime::run_on<bool>(home, at_home);
}

Task<bool> Lifecycle::relist_tools(std::shared_ptr<const Catalogue> used, TimePoint deadline) {
  if (catalogue && catalogue != used) co_return true;
  const TimePoint now = Clock::now();
  if (!can_read(deadline) || (!learning_ && now < learn_again_at_)) co_return false;
  learning_ = true;
  learn_again_at_ = now + kBetweenRenewals;
  const TimePoint until = std::min(deadline, now + config.list_timeout);
  const bool read = co_await read_again(mcp::ListKind::tools, until);
  learning_ = false;
  co_return read;
}

}  // namespace mcpx::upstream
