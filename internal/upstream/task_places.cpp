#include "upstream/task_places.hpp"

#include <utility>

#include "json/json.hpp"

namespace mcpx::upstream {
namespace {

bool is_of_a_task(mcp::Method method) {
  return method == mcp::Method::tasks_get || method == mcp::Method::tasks_result ||
         method == mcp::Method::tasks_cancel;
}

}  // namespace

void TaskPlaces::note(const call::Call& call, const Reply& reply,
                      const std::shared_ptr<Link>& link) {
  if (call.task.empty() || !reply || reply->kind != rpc::Kind::result) return;
  const auto id = json::find(reply->result, "task", "taskId");
  auto text = id ? json::decode_string(*id) : std::nullopt;
  if (!text || !places_.insert_or_assign(*text, link).second) return;
  order_.push_back(std::move(*text));
  if (order_.size() <= kAtMost) return;
  places_.erase(order_.front());
  order_.pop_front();
}

std::shared_ptr<Link> TaskPlaces::find(const call::Call& call) const {
  if (places_.empty() || !is_of_a_task(call.method)) return nullptr;
  const auto found = places_.find(json::find_string(call.params, "taskId").value_or(""));
  std::shared_ptr<Link> link = found == places_.end() ? nullptr : found->second.lock();
  return link && link->alive() ? link : nullptr;
}

}  // namespace mcpx::upstream
