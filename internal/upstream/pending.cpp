#include "upstream/pending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "json/json.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::upstream {

Pending::Pending(runtime::Shard& shard, std::string server, OnTimeout on_timeout)
    : server_(std::move(server)),
      on_timeout_(std::move(on_timeout)),
      watchdog_(shard, [this] { sweep(); }) {}

rpc::Number Pending::add(TimePoint deadline, Relay* relay) {
  const rpc::Number id = ++last_id_;
  auto entry = std::make_unique<Entry>();
  entry->deadline = deadline;
  entry->relay = relay;
  entries_.emplace(id, std::move(entry));
  if (relay) ++calls_;
  if (deadline < watchdog_.deadline()) watchdog_.set(deadline);
  return id;
}

Task<Reply> Pending::wait(rpc::Number id) {
  const auto found = entries_.find(id);
  MCPX_CHECK(found != entries_.end());
  Entry& entry = *found->second;  // erased only below
  Reply reply = co_await entry.reply.wait();
  if (entry.relay) --calls_;
  entries_.erase(id);
  co_return reply;
}

// What was held back for the caller goes out before its answer does.
bool Pending::settle(Entry& entry, Reply reply) {
  if (entry.reply.is_set()) return false;
  if (entry.relay) entry.relay->finish();
  return entry.reply.set(std::move(reply));
}

bool Pending::answer(rpc::Number id, Reply reply) {
  const auto found = entries_.find(id);
  return found != entries_.end() && settle(*found->second, std::move(reply));
}

void Pending::answer_all(const Error& error) {
  for (auto& [id, entry] : entries_)
    settle(*entry, error);
}

// The watchdog may wake for the earlier deadline: sweep() looks at what is there then.
void Pending::extend(rpc::Number id, TimePoint until) {
  const auto found = entries_.find(id);
  if (found != entries_.end()) found->second->deadline = std::max(found->second->deadline, until);
}

Relay* Pending::relay_of(rpc::Number id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second->relay;
}

Relay* Pending::only_relay() const {
  return relay_of(only_call());
}

rpc::Number Pending::only_call() const {
  return calls_ == 1 ? oldest_call() : 0;
}

rpc::Number Pending::oldest_call() const {
  rpc::Number oldest = 0;
  for (const auto& [id, entry] : entries_) {
    if (entry->relay && (oldest == 0 || id < oldest)) oldest = id;
  }
  return oldest;
}

void Pending::follow_relay(rpc::Number id) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || !found->second->relay) return;
  Entry& entry = *found->second;
  entry.deadline = entry.relay->deadline();
  if (entry.deadline < watchdog_.deadline()) watchdog_.set(entry.deadline);
}

void Pending::sweep() {
  const TimePoint now = Clock::now();
  TimePoint next = kNever;
  std::vector<rpc::Number> expired;
  for (const auto& [id, entry] : entries_) {
    if (entry->reply.is_set()) continue;
    if (entry->deadline <= now) {
      expired.push_back(id);
    } else {
      next = std::min(next, entry->deadline);
    }
  }
  if (next != kNever) watchdog_.set(next);
  for (const rpc::Number id : expired) {
    on_timeout_(id);
    answer(id, Error("upstream.timeout",
                     fmt::format("server {} did not answer within the time allowed", server_),
                     "raise call_timeout for this server, or look at what it is doing"));
  }
}

rpc::Number Pending::call_of_task(json::Raw params) const {
  const auto named = json::find(params, "_meta", mcp::kMetaRelatedTask, "taskId");
  const auto id = named ? json::decode_string(*named) : std::nullopt;
  if (!id) return 0;
  for (const auto& [number, entry] : entries_) {
    if (!entry->relay) continue;
    const call::Call& call = entry->relay->call();
    if (call.method == mcp::Method::tasks_result &&
        json::find_string(call.params, "taskId") == id) {
      return number;
    }
  }
  return 0;
}

}  // namespace mcpx::upstream
