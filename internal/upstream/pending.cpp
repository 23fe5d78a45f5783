#include "upstream/pending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace mcpx::upstream {

Pending::Pending(runtime::Shard& shard, std::string server, OnTimeout on_timeout)
    : server_(std::move(server)),
      on_timeout_(std::move(on_timeout)),
      watchdog_(shard, [this] { sweep(); }) {}

rpc::Number Pending::add(TimePoint deadline, const call::Call* call) {
  const rpc::Number id = ++last_id_;
  auto entry = std::make_unique<Entry>();
  entry->deadline = deadline;
  entry->call = call;
  entries_.emplace(id, std::move(entry));
  if (call) ++calls_;
  if (deadline < watchdog_.deadline()) watchdog_.set(deadline);
  return id;
}

Task<Reply> Pending::wait(rpc::Number id) {
  const auto found = entries_.find(id);
  MCPX_CHECK(found != entries_.end());
  Entry& entry = *found->second;  // erased only below
  Reply reply = co_await entry.reply.wait();
  if (entry.call) --calls_;
  entries_.erase(id);
  co_return reply;
}

bool Pending::answer(rpc::Number id, Reply reply) {
  const auto found = entries_.find(id);
  return found != entries_.end() && found->second->reply.set(std::move(reply));
}

void Pending::answer_all(const Error& error) {
  for (auto& [id, entry] : entries_)
    entry->reply.set(error);
}

const call::Call* Pending::call_of(rpc::Number id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second->call;
}

const call::Call* Pending::only_call() const {
  if (calls_ != 1) return nullptr;
  for (const auto& [id, entry] : entries_) {
    if (entry->call) return entry->call;
  }
  return nullptr;
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

}  // namespace mcpx::upstream
