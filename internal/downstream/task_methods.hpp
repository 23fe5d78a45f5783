// The methods of tasks, of either era, and what clients are told of tasks unasked. Thread: the
// request's shard, except where they say otherwise.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "downstream/dispatch.hpp"
#include "tasks/book.hpp"

namespace mcpx::store {
class Store;
}

namespace mcpx::downstream {

// The tasks of all endpoints. The first shard.
std::shared_ptr<tasks::Book> make_book(Core& core, store::Store* store);

Task<Answer> serve_tasks(Request& request);

// True for a request of 2026-07-28 that says its client takes tasks, and the answer to one that
// does not and needs to (SEP-2663, "Capability Negotiation").
bool takes_tasks(json::Raw client_capabilities);
std::string tasks_required();  // raw data of -32021
Answer needs_tasks();

// Whose a task would be that this request makes or asks for.
tasks::Owner owner_of(const Request& request);
// A task as the answer to the call that became it, in the caller's vocabulary.
std::string created_result(const tasks::State& state, const Request& request);
// Ends the wait when the client cancels, or with the subscription.
runtime::CancelSource::Subscription until_cancelled(const Request& request,
                                                    const std::shared_ptr<tasks::Wait>& wait);
std::shared_ptr<tasks::Wait> wait_of(const Request& request, mcp::Askable askable);

// Of a subscriptions/listen: those of the ids that its client may be told of.
Task<std::vector<std::string>> known_tasks(Core& core, tasks::Owner owner,
                                           std::vector<std::string> ids);
// The raw params of the notification of a task that is over; empty for another.
Task<std::string> finished_task(Core& core, tasks::Owner owner, std::string id);

}  // namespace mcpx::downstream
