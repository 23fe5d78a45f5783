#include "downstream/task_methods.hpp"

#include <functional>
#include <utility>

#include "base/digest.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/extensions.hpp"
#include "mcp/spelling.hpp"
#include "registry/uri_map.hpp"
#include "runtime/hop.hpp"
#include "runtime/timer.hpp"

namespace mcpx::downstream {
namespace {

// How long a client without a connection may take to come back to the stream of its tasks/result.
constexpr Milliseconds kStaysAway{300'000};

// --- Spelling

std::string spelled_result(const tasks::State& state, mcp::Revision to) {
  std::string mapped;
  if (state.endpoint.empty()) {
    mapped = registry::expose_result_uris(mcp::Method::tools_call, state.outcome, state.server,
                                          state.own_uris);
  }
  mcp::ResultContext context;
  context.from = state.from;
  context.to = to;
  std::string text;
  mcp::append_result_for(text, mcp::Method::tools_call,
                         mapped.empty() ? json::Raw(state.outcome) : json::Raw(mapped), context);
  return text;
}

std::string spelled_error(const tasks::State& state, mcp::Revision to) {
  std::string mapped;
  if (state.endpoint.empty()) {
    mapped = registry::expose_error_uris(state.outcome, state.server, state.own_uris);
  }
  mcp::ErrorContext context;
  context.from = state.from;
  context.to = to;
  std::string text;
  mcp::append_error_for(text, mcp::Method::tools_call,
                        mapped.empty() ? json::Raw(state.outcome) : json::Raw(mapped), context);
  return text;
}

std::string spelled_questions(const tasks::State& state) {
  mcp::QuestionContext context;
  context.to = mcp::kLatestModern;
  context.askable = state.askable;
  if (state.endpoint.empty()) context.server = state.server;
  json::ObjectBuilder requests;
  for (const tasks::Question& question : state.questions) {
    const auto kind = mcp::question_kind(question.method, question.params);
    json::ObjectBuilder one;
    one.string("method", question.method);
    one.raw("params",
            kind ? mcp::question_params_for(*kind, question.params, context) : question.params);
    requests.raw(question.key, one.take());
  }
  return requests.take();
}

std::string modern_task(json::ObjectBuilder head, const tasks::State& state) {
  tasks::Inlined inlined;
  if (state.status == tasks::Status::completed) {
    inlined.result = spelled_result(state, mcp::kLatestModern);
  } else if (state.status == tasks::Status::failed) {
    inlined.error = spelled_error(state, mcp::kLatestModern);
  } else if (state.status == tasks::Status::input_required) {
    inlined.requests = spelled_questions(state);
  }
  return tasks::modern_task(std::move(head), state, inlined);
}

Answer acknowledged() {
  return Answer::result(R"({"resultType":"complete"})");
}

Answer task_answer(const Request& request, const tasks::State& state) {
  if (!request.modern()) return Answer::result(tasks::legacy_task(state));
  json::ObjectBuilder head;
  head.string("resultType", "complete");
  return Answer::result(modern_task(std::move(head), state));
}

// What the call would have been answered with ("Result Retrieval"), and whose it is.
Answer result_answer(const Request& request, const tasks::State& state) {
  if (state.status == tasks::Status::completed) {
    return Answer::result(
        tasks::with_related_task(spelled_result(state, request.revision), state.id));
  }
  if (state.status == tasks::Status::failed) {
    return Answer::error_object(spelled_error(state, request.revision), 200);
  }
  const Error error("task.cancelled", "the task was cancelled", "call the tool again");
  const call::Outcome outcome = call::Outcome::of_failure(mcp::kRequestCancelled, error);
  return Answer::error_object(std::string(outcome.error), 200);
}

Answer refusal_of(const tasks::Told& told, const Request& request) {
  std::string text;
  mcp::ErrorContext context;
  context.to = request.revision;
  mcp::append_error_for(text, request.method, told.error, context);
  return Answer::error_object(std::move(text), 200);
}

// --- Requests

using At = std::function<Task<tasks::Told>(tasks::Book&)>;

// At the book, wherever that is.
Task<tasks::Told> at_book(Core& core, At at) {
  const std::shared_ptr<tasks::Book> book = core.tasks;
  const std::function<Task<tasks::Told>()> there = [&book, &at] { return at(*book); };
  tasks::Told told = co_await runtime::run_on<tasks::Told>(book->home(), there);
  co_return told;
}

Task<Answer> get_task(Request& request, std::string id) {
  const tasks::Owner owner = owner_of(request);
  const At at = [&id, &owner](tasks::Book& book) { return book.get(id, owner); };
  const tasks::Told told = co_await at_book(request.core, at);
  if (!told.state) co_return refusal_of(told, request);
  co_return task_answer(request, *told.state);
}

Task<Answer> update_task(Request& request, std::string id) {
  const tasks::Owner owner = owner_of(request);
  const auto responses = json::find(request.message.params, "inputResponses");
  if (!responses || !json::is_object(*responses)) {
    co_return Answer::error(rpc::kInvalidParams,
                            "Invalid params: 'inputResponses' must be an object");
  }
  const std::string raw(*responses);
  const At at = [&id, &owner, &raw](tasks::Book& book) { return book.update(id, owner, raw); };
  const tasks::Told told = co_await at_book(request.core, at);
  if (!told.state) co_return refusal_of(told, request);
  co_return acknowledged();
}

Task<Answer> cancel_task(Request& request, std::string id) {
  const tasks::Owner owner = owner_of(request);
  const At at = [&id, &owner](tasks::Book& book) { return book.cancel(id, owner); };
  const tasks::Told told = co_await at_book(request.core, at);
  if (!told.state) co_return refusal_of(told, request);
  if (request.modern()) co_return acknowledged();
  co_return task_answer(request, *told.state);
}

Task<Answer> task_result(Request& request, std::string id) {
  const tasks::Owner owner = owner_of(request);
  const std::shared_ptr<tasks::Wait> wait = wait_of(request, request.askable);
  const auto patience = until_cancelled(request, wait);
  // It waits for as long as the task takes, and can be made again: it does not keep its place for a
  // client that stays away.
  runtime::Watchdog away(runtime::Shard::current(), [book = request.core.tasks, wait] {
    book->home().post([book, wait] { book->give_up(*wait); });
  });
  runtime::CancelSource::Subscription gone;
  if (request.gone) {
    gone = request.gone->subscribe(
        [&away](const std::string&) { away.set(Clock::now() + kStaysAway); });
  }
  const At at = [&id, &owner, &wait](tasks::Book& book) { return book.result(id, owner, wait); };
  const tasks::Told told = co_await at_book(request.core, at);
  if (request.cancel && request.cancel->cancelled()) co_return Answer::silence();
  if (!told.state) co_return refusal_of(told, request);
  co_return result_answer(request, *told.state);
}

using Page = std::optional<tasks::Book::Page>;
Task<Page> list_there(tasks::Book& book, const tasks::Owner& owner, const std::string& cursor) {
  co_return book.list(owner, cursor);
}

Task<Answer> list_tasks(Request& request) {
  const tasks::Owner owner = owner_of(request);
  const auto sent = json::find(request.message.params, "cursor");
  const bool text = !sent || *sent == "null" || json::is_string(*sent);
  // One that is no text is nobody's.
  const std::string cursor = text ? json::decode_string(sent.value_or("")).value_or("") : "?";
  const std::shared_ptr<tasks::Book> book = request.core.tasks;
  const std::function<Task<Page>()> there = [&book, &owner, &cursor] {
    return list_there(*book, owner, cursor);
  };
  const Page page = co_await runtime::run_on<Page>(book->home(), there);
  if (!page) {
    json::ObjectBuilder data;
    data.string("code", "list.cursor").string("remedy", "list again from the start");
    co_return Answer::error(rpc::kInvalidParams, "Invalid params: unknown cursor", data.take());
  }
  std::string list = "[";
  for (const tasks::State& state : page->tasks) {
    if (list.size() > 1) list += ',';
    list += tasks::legacy_task(state);
  }
  json::ObjectBuilder result;
  result.raw("tasks", list + "]");
  if (!page->next.empty()) result.string("nextCursor", page->next);
  co_return Answer::result(result.take());
}

bool has_tasks(const registry::Endpoint& endpoint, const Request& request) {
  if (request.modern()) return endpoint.tasks;
  return json::find(endpoint.capabilities_legacy, "tasks").has_value();
}

// --- What is told unasked

void tell(Core& core, const tasks::State& state, const tasks::Owner& owner) {
  if (owner.legacy()) {
    if (owner.session_id.empty()) return;  // it is not known since a restart
    std::string text;
    rpc::append_notification(text, "notifications/tasks/status", tasks::legacy_task(state));
    for (runtime::Shard* shard : core.shards) {
      shard->post([own = core.shared_from_this(), shard, id = owner.session_id, text] {
        const SessionPtr session = own->sessions.find(id);
        if (session) own->local(*shard).streams.say(*session, text);
      });
    }
    return;
  }
  if (core.task_streams.load(std::memory_order_relaxed) == 0) return;
  const auto params =
      std::make_shared<const std::string>(modern_task(json::ObjectBuilder(), state));
  for (runtime::Shard* shard : core.shards) {
    shard->post([own = core.shared_from_this(), shard, id = state.id, params] {
      own->local(*shard).streams.publish_task(id, *params);
    });
  }
}

}  // namespace

std::shared_ptr<tasks::Book> make_book(Core& core, store::Store* store) {
  tasks::Book::Hooks hooks;
  hooks.server = [&core](std::string_view name) -> std::shared_ptr<upstream::Server> {
    const auto snapshot = core.registry.current();
    if (!snapshot) return nullptr;
    for (const auto& server : snapshot->servers) {
      if (server->name() == name) return server;
    }
    return nullptr;
  };
  hooks.config = [&core]() -> const config::Config& { return core.config(); };
  hooks.changed = [&core](const tasks::State& state, const tasks::Owner& owner) {
    tell(core, state, owner);
  };
  return std::make_shared<tasks::Book>(*core.shards.front(), store, std::move(hooks));
}

bool takes_tasks(json::Raw client_capabilities) {
  return json::may_mention(client_capabilities, "extensions") &&
         mcp::extension_settings(client_capabilities, mcp::kTasks).has_value();
}

std::string tasks_required() {
  return R"({"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}})";
}

Answer needs_tasks() {
  return Answer::error(mcp::kMissingClientCapability, "Missing required client capability",
                       tasks_required(), 400);
}

tasks::Owner owner_of(const Request& request) {
  tasks::Owner owner;
  owner.principal = request.principal;
  owner.endpoint = request.endpoint;
  if (request.session) {
    owner.session = sha256_hex(request.session->id);
    owner.session_id = request.session->id;
  }
  return owner;
}

std::string created_result(const tasks::State& state, const Request& request) {
  if (!request.modern()) {
    json::ObjectBuilder result;
    return result.raw("task", tasks::legacy_task(state)).take();
  }
  json::ObjectBuilder head;
  head.string("resultType", "task");
  // What else there is to it says tasks/get.
  return tasks::modern_task(std::move(head), state, tasks::Inlined());
}

std::shared_ptr<tasks::Wait> wait_of(const Request& request, mcp::Askable askable) {
  auto wait = std::make_shared<tasks::Wait>();
  wait->asker = request.asker;
  wait->askable = askable;
  wait->shard = &runtime::Shard::current();
  return wait;
}

runtime::CancelSource::Subscription until_cancelled(const Request& request,
                                                    const std::shared_ptr<tasks::Wait>& wait) {
  if (!request.cancel) return {};
  return request.cancel->subscribe([book = request.core.tasks, wait](const std::string&) {
    book->home().post([book, wait] { book->give_up(*wait); });
  });
}

Task<Answer> serve_tasks(Request& request) {
  std::string name(request.endpoint);
  const EndpointPtr endpoint = co_await endpoint_when_ready(request.core, std::move(name));
  if (!endpoint) co_return no_catalogue();
  if (!request.core.tasks || !has_tasks(*endpoint, request)) co_return method_not_found(request);
  if (request.modern() && !takes_tasks(request.client_capabilities)) {
    co_return needs_tasks();
  }
  if (request.method == mcp::Method::tasks_list) co_return co_await list_tasks(request);
  auto id = json::decode_string(request.message.task_id);
  if (!id) {
    co_return Answer::error(rpc::kInvalidParams, "Invalid params: 'taskId' must be a string");
  }
  switch (request.method) {
    case mcp::Method::tasks_get:
      co_return co_await get_task(request, std::move(*id));
    case mcp::Method::tasks_update:
      co_return co_await update_task(request, std::move(*id));
    case mcp::Method::tasks_cancel:
      co_return co_await cancel_task(request, std::move(*id));
    case mcp::Method::tasks_result:
      co_return co_await task_result(request, std::move(*id));
    default:
      co_return method_not_found(request);
  }
}

namespace {

using Ids = std::vector<std::string>;
// On the book's shard.
Task<Ids> known_there(tasks::Book& book, const tasks::Owner& owner, const Ids& ids) {
  Ids known;
  for (const std::string& id : ids) {
    if (book.knows(id, owner)) known.push_back(id);
  }
  co_return known;
}

}  // namespace

Task<Ids> known_tasks(Core& core, tasks::Owner owner, Ids ids) {
  const std::shared_ptr<tasks::Book> book = core.tasks;
  const std::function<Task<Ids>()> there = [&book, &owner, &ids] {
    return known_there(*book, owner, ids);
  };
  co_return co_await runtime::run_on<Ids>(book->home(), there);
}

Task<std::string> finished_task(Core& core, tasks::Owner owner, std::string id) {
  const At at = [&id, &owner](tasks::Book& book) { return book.peek(id, owner); };
  const tasks::Told told = co_await at_book(core, at);
  if (!told.state || !tasks::is_over(told.state->status)) co_return std::string();
  co_return modern_task(json::ObjectBuilder(), *told.state);
}

}  // namespace mcpx::downstream
