#include "downstream/task_calls.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "downstream/task_methods.hpp"
#include "json/splice.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/extensions.hpp"
#include "runtime/hop.hpp"
#include "upstream/server.hpp"

namespace mcpx::downstream {
namespace {

// A server of 2026-07-28 that cannot do it without (SEP-2663, "Capability Negotiation").
bool insists(const call::Outcome& outcome) {
  if (outcome.ok() || mcp::era_of(outcome.from) != mcp::Era::modern) return false;
  const auto code = json::find(outcome.error, "code");
  if (!code || json::as_integer(*code) != mcp::kMissingClientCapability) return false;
  return json::find(outcome.error, "data", "requiredCapabilities", "extensions", mcp::kTasks)
      .has_value();
}

std::string with_tasks(std::string_view extensions) {
  const json::Raw own = extensions.empty() ? json::Raw("{}") : json::Raw(extensions);
  return json::Splice(own).set(mcp::kTasks, "{}").text();
}

std::string ttl_wish(Milliseconds ttl) {
  json::ObjectBuilder task;
  return task.integer("ttl", ttl.count()).take();
}

}  // namespace

TaskCall::TaskCall(const Request& request, const EndpointPtr& endpoint,
                   const registry::Target& target)
    : request_(request), endpoint_(endpoint), target_(target) {
  read_wish();
}

bool TaskCall::concerns(const Request& request, const registry::Endpoint& endpoint) {
  return endpoint.tasks && request.method == mcp::Method::tools_call &&
         request.core.tasks != nullptr;
}

void TaskCall::read_wish() {
  if (request_.modern()) {
    if (takes_tasks(request_.client_capabilities)) wish_ = Wish::modern;
    return;
  }
  if (request_.revision != mcp::Revision::r2025_11_25) return;
  const auto task = json::find(request_.message.params, "task");
  const bool told = json::find(endpoint_->capabilities_legacy, "tasks").has_value();
  if (!told || !task || !json::is_object(*task)) return;
  wish_ = Wish::legacy;
  task_ = *task;
}

std::optional<Answer> TaskCall::prepare(call::Call& call) {
  const bool modern_server = target_.server->era() == mcp::Era::modern;
  if (target_.tasks && modern_server) {
    if (wish_ != Wish::none) tell_modern(call);
    return std::nullopt;
  }
  if (auto refusal = prepare_legacy(call)) return refusal;
  const bool retry = json::may_mention(call.params, "requestState");
  races_ = !augmented_ && wish_ == Wish::modern && !retry &&
           request_.core.config().tasks.after.count() > 0;
  return std::nullopt;
}

// A tool that does not say so cannot be one ("Tool-Level Negotiation").
std::optional<Answer> TaskCall::prepare_legacy(call::Call& call) {
  auto support = upstream::TaskSupport::forbidden;
  const auto name = json::decode_string(request_.message.name);
  const upstream::ToolTraits* traits =
      target_.tasks && name ? endpoint_->tool_traits(*name) : nullptr;
  if (traits) support = traits->tasks;
  if (support == upstream::TaskSupport::forbidden) {
    if (wish_ != Wish::legacy) return std::nullopt;
    json::ObjectBuilder data;
    data.string("code", "task.unsupported")
        .string("remedy", "call it without 'task', or a tool with execution.taskSupport");
    return Answer::error(rpc::kMethodNotFound,
                         fmt::format("the tool {} cannot be called as a task", *name), data.take());
  }
  if (wish_ == Wish::none) {
    // A client of its own revision that calls it at its own endpoint has been told.
    const bool knows = !request_.modern() && !request_.endpoint.empty() &&
                       request_.revision == mcp::Revision::r2025_11_25;
    if (support != upstream::TaskSupport::required || knows) return std::nullopt;
    if (request_.modern() && !request_.endpoint.empty()) return needs_tasks();
    task_ = ttl_wish(target_.server->config().call_timeout_max);
  } else if (wish_ == Wish::modern) {
    task_ = ttl_wish(request_.core.config().tasks.ttl);
  }
  call.task = task_;
  augmented_ = true;
  return std::nullopt;
}

void TaskCall::tell_modern(call::Call& call) {
  if (request_.modern()) {
    const bool whole = !request_.endpoint.empty();
    capabilities_ = mcp::carried_capabilities(request_.client_capabilities, whole, true);
    call.caller.client_capabilities =
        capabilities_.empty() ? request_.client_capabilities : json::Raw(capabilities_);
    return;
  }
  extensions_ = with_tasks(call.caller.extensions);
  call.caller.extensions = extensions_;
}

// --- Making it

bool TaskCall::must_declare(const call::Outcome& outcome) const {
  // A modern client at the server's own endpoint hears from it what it should have declared.
  const bool relayed = request_.modern() && !request_.endpoint.empty();
  return wish_ == Wish::none && target_.tasks && !relayed && insists(outcome);
}

void TaskCall::declare(call::Call& call) {
  if (request_.modern()) {
    const json::Raw own = call.caller.client_capabilities;
    const std::string extensions = with_tasks(json::find(own, "extensions").value_or("{}"));
    capabilities_ = mcp::with_extensions(std::string(own), extensions);
    call.caller.client_capabilities = capabilities_;
  } else {
    tell_modern(call);
  }
  call.message = nullptr;  // what it declares is not what its message says
}

Task<std::optional<call::Outcome>> TaskCall::make_call(call::Call& call) {
  const std::shared_ptr<tasks::Book> book = request_.core.tasks;
  const mcp::Askable own = call.caller.askable;
  if (!target_.server->config().roots.empty()) call.caller.askable |= mcp::kAskRoots;
  tasks::Book::Slow slow(call);
  slow.server = target_.server_name;
  slow.owner = owner_of(request_);
  slow.own_uris = target_.own_uris;
  slow.after = request_.core.config().tasks.after;
  slow.wait = wait_of(request_, mcp::Askable{0});
  const auto patience = until_cancelled(request_, slow.wait);
  const std::function<Task<tasks::Book::Raced>()> there = [&book, &slow] {
    return book->call_or_task(slow);
  };
  tasks::Book::Raced raced = co_await runtime::run_on<tasks::Book::Raced>(book->home(), there);
  if (raced.full) {
    races_ = false;
    call.caller.askable = own;
    co_return std::nullopt;
  }
  became_ = std::move(raced.task);
  if (became_) raced.outcome.emplace();
  co_return std::move(raced.outcome);
}

// --- What came of it

tasks::Made TaskCall::made(const call::Call& call, mcp::Era era, tasks::Report report) const {
  tasks::Origin origin(call.caller);
  origin.own_uris = target_.own_uris;
  // What is asked of the server from now on is in the name of somebody who takes tasks.
  if (mcp::era_of(origin.revision) == mcp::Era::modern && !origin.capabilities.empty()) {
    const std::string extensions =
        with_tasks(json::find(origin.capabilities, "extensions").value_or("{}"));
    origin.capabilities = mcp::with_extensions(origin.capabilities, extensions);
  } else {
    origin.extensions = with_tasks(origin.extensions);
  }
  return tasks::Made(target_.server_name, era, std::move(report), owner_of(request_),
                     std::move(origin));
}

Task<std::optional<Answer>> TaskCall::settle(call::Call& call, call::Outcome& outcome) {
  if (became_) co_return Answer::result(created_result(*became_, request_));
  if (!outcome.ok()) co_return std::nullopt;
  const mcp::Era era = mcp::era_of(outcome.from);
  std::optional<tasks::Report> report;
  if (outcome.is_task || (augmented_ && era == mcp::Era::legacy)) {
    report = tasks::read_created(outcome.result, era);
    const bool malformed = outcome.is_task || json::find(outcome.result, "task").has_value();
    if (!report && malformed) {
      const Error error(
          "upstream.bad_frame",
          fmt::format("server {} made a task without an id or a status", target_.server_name),
          "report this to the server's author");
      outcome = call::Outcome::of_failure(mcp::kUpstreamFailure, error, target_.server_name);
      co_return std::nullopt;
    }
  }
  if (report) {
    tasks::Made task = made(call, era, std::move(*report));
    if (wish_ != Wish::none) co_return co_await adopt(std::move(task));
    outcome = co_await see_through(std::move(task), call.caller);
  } else if (wish_ == Wish::legacy) {
    tasks::Made task = made(call, era, tasks::Report());
    co_return co_await adopt_done(std::move(task), outcome);
  }
  co_return std::nullopt;
}

namespace {

Answer created_answer(const tasks::Told& told, const Request& request) {
  if (!told.state) return Answer::error_object(std::string(told.error), 200);
  return Answer::result(created_result(*told.state, request));
}

}  // namespace

Task<std::optional<Answer>> TaskCall::adopt(tasks::Made made) {
  const std::shared_ptr<tasks::Book> book = request_.core.tasks;
  const std::function<Task<tasks::Told>()> there = [&book, &made] {
    return book->adopt(std::move(made));
  };
  const tasks::Told told = co_await runtime::run_on<tasks::Told>(book->home(), there);
  co_return created_answer(told, request_);
}

Task<std::optional<Answer>> TaskCall::adopt_done(tasks::Made made, const call::Outcome& outcome) {
  const std::shared_ptr<tasks::Book> book = request_.core.tasks;
  const std::string result(outcome.result);
  const mcp::Revision from = outcome.from;
  const std::function<Task<tasks::Told>()> there = [&book, &made, &result, from] {
    return book->adopt_done(std::move(made), result, from);
  };
  const tasks::Told told = co_await runtime::run_on<tasks::Told>(book->home(), there);
  co_return created_answer(told, request_);
}

Task<call::Outcome> TaskCall::see_through(tasks::Made made, const call::Caller& caller) {
  const std::shared_ptr<tasks::Book> book = request_.core.tasks;
  const std::shared_ptr<tasks::Wait> wait = wait_of(request_, caller.askable);
  wait->asker = caller.asker;
  const auto patience = until_cancelled(request_, wait);
  const std::function<Task<call::Outcome>()> there = [&book, &made, &wait] {
    return book->see_through(std::move(made), wait);
  };
  call::Outcome outcome = co_await runtime::run_on<call::Outcome>(book->home(), there);
  co_return outcome;
}

}  // namespace mcpx::downstream
