#include "downstream/dispatch.hpp"

#include <fmt/core.h>

#include <functional>
#include <optional>
#include <utility>

#include "ask/modern.hpp"
#include "ask/rounds.hpp"
#include "ask/urls.hpp"
#include "downstream/completion.hpp"
#include "downstream/param_headers.hpp"
#include "downstream/render.hpp"
#include "downstream/subscribe.hpp"
#include "downstream/substitute.hpp"
#include "downstream/targets.hpp"
#include "downstream/task_calls.hpp"
#include "downstream/task_methods.hpp"
#include "json/splice.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/extensions.hpp"
#include "mcp/spelling.hpp"
#include "registry/uri_map.hpp"
#include "upstream/server.hpp"

namespace mcpx::downstream {

Answer method_not_found(const Request& request) {
  return Answer::error(rpc::kMethodNotFound,
                       fmt::format("Method not found: {}", request.message.method), {},
                       request.modern() ? 404 : 200);
}

Answer no_catalogue() {
  json::ObjectBuilder data;
  data.string("code", "registry.starting").string("remedy", "try again in a moment");
  return Answer::error(rpc::kInternalError, "mcpx is still reading what its servers offer",
                       data.take());
}

namespace {

const std::string& advertised(const registry::Endpoint& endpoint, const Request& request) {
  return request.modern() ? endpoint.capabilities_modern : endpoint.capabilities_legacy;
}

// Whether the endpoint has the method at all, whatever it is called with.
bool routes(const registry::Endpoint& endpoint, const Request& request) {
  switch (request.method) {
    case mcp::Method::skills_get:
      return mcp::offers(advertised(endpoint, request), mcp::ListKind::skills);
    case mcp::Method::resources_directory_read:
      return mcp::offers_directories(advertised(endpoint, request));
    case mcp::Method::foreign:
      // Of an extension that its server advertises, maybe: the server knows. Never of the tasks
      // extension, whose ids are ours.
      return !endpoint.aggregate() && !request.message.method.starts_with("tasks/") &&
             mcp::declares_others(advertised(endpoint, request));
    default:
      return true;
  }
}

// --- Lists

std::optional<mcp::ListKind> list_of(mcp::Method method) {
  for (const mcp::ListKind kind : mcp::kAllLists) {
    if (mcp::info(kind).method == method) return kind;
  }
  return std::nullopt;
}

// The list of a server that has never been ready: why it is not (case C04), not an empty list.
Task<Answer> not_ready(upstream::Server& server) {
  const upstream::Status status = co_await server.status();
  if (!status.error) co_return no_catalogue();
  const call::Outcome outcome =
      call::Outcome::of_failure(mcp::kUpstreamFailure, *status.error, status.name);
  co_return Answer::error_object(std::string(outcome.error), 200);
}

// A method behind a capability that is not advertised is not there: what the schema says of
// MethodNotFoundError, and what the server behind a pass-through endpoint would say. A legacy
// client of /mcp may have been told of a capability that has gone since; it gets an empty list.
bool withheld(const registry::Endpoint& endpoint, const Request& request, mcp::ListKind kind) {
  if (!endpoint.ready) return false;
  const bool told_once = !request.modern() && request.endpoint.empty();
  if (told_once && mcp::info(mcp::info(kind).method).extension.empty()) return false;
  return !mcp::offers(advertised(endpoint, request), kind);
}

// An empty one, or null, is what some clients write for none.
bool is_cursor(json::Raw sent) {
  return sent != "null" && sent != R"("")";
}

Answer unknown_cursor() {
  json::ObjectBuilder data;
  data.string("code", "list.cursor")
      .string("remedy", "list again from the start, without a cursor");
  return Answer::error(rpc::kInvalidParams, "Invalid params: unknown cursor", data.take());
}

bool shows_apps(const Request& request) {
  if (request.session) return request.session->apps;
  return mcp::extension_settings(request.client_capabilities, mcp::kApps).has_value();
}

Task<Answer> list(Request& request, mcp::ListKind kind) {
  std::string cursor;
  const auto sent = json::find(request.message.params, "cursor");
  if (sent && is_cursor(*sent)) {
    auto text = json::is_string(*sent) ? json::decode_string(*sent) : std::nullopt;
    if (!text) co_return unknown_cursor();
    cursor = std::move(*text);
  }
  std::string name(request.endpoint);
  EndpointPtr endpoint = co_await endpoint_when_listed(request.core, std::move(name));
  if (endpoint && registry::Registry::stale(*endpoint, kind)) {
    co_await request.core.registry.renew(endpoint, kind);
    endpoint = endpoint_now(request.core, request.endpoint);
  }
  if (!endpoint) co_return no_catalogue();
  if (endpoint->server && !endpoint->ready) co_return co_await not_ready(*endpoint->server);
  if (withheld(*endpoint, request, kind)) co_return method_not_found(request);
  registry::Profile profile = endpoint->profiles().of(request.client_info);
  profile.apps = shows_apps(request);
  registry::Rendered page = endpoint->page(kind, request.revision, profile, cursor);
  if (!page) co_return unknown_cursor();
  if (request.modern()) page = registry::Registry::aged(*endpoint, std::move(page), kind);
  co_return Answer::shared(std::move(page));
}

// --- Calls

}  // namespace

Answer spell_error(const call::Outcome& outcome, const Request& request,
                   const registry::Target& target) {
  std::string mapped;
  if (request.endpoint.empty()) {
    mapped = registry::expose_error_uris(outcome.error, target.server_name, target.own_uris);
  }
  const auto uri = json::decode_string(request.message.uri);
  mcp::ErrorContext context;
  context.from = outcome.from;
  context.to = request.revision;
  if (uri) context.uri = *uri;
  std::string text;
  mcp::append_error_for(text, request.method, mapped.empty() ? outcome.error : json::Raw(mapped),
                        context);
  unsigned status = 200;
  if (request.modern()) {
    const auto code = json::find(text, "code");
    const auto number = code ? json::as_integer(*code) : std::nullopt;
    status = mcp::http_status_for(static_cast<int>(number.value_or(rpc::kInternalError)),
                                  request.revision);
  }
  return Answer::error_object(std::move(text), status);
}

namespace {

Answer spell(call::Outcome outcome, const Request& request, const registry::Target& target) {
  if (!outcome.ok()) return spell_error(outcome, request, target);
  // On the aggregating endpoint a URI must lead back to its server.
  std::string mapped;
  if (request.endpoint.empty()) {
    mapped = registry::expose_result_uris(request.method, outcome.result, target.server_name,
                                          target.own_uris);
  }
  // What append_result_for() would only copy is written from where it lies.
  if (mapped.empty() && mcp::passes_whole(outcome.from, request.revision)) {
    return Answer::forwarded(std::move(outcome));
  }
  mcp::ResultContext context;
  context.from = outcome.from;
  context.to = request.revision;
  context.server_info = request.core.server_info;
  std::string text;
  mcp::append_result_for(text, request.method, mapped.empty() ? outcome.result : json::Raw(mapped),
                         context);
  return Answer::result(std::move(text));
}

// Extensions that an endpoint does not carry are not declared to its server, which would use them.
// Empty when the client's capabilities are to be passed on as they are. A session's were looked at
// when it was opened.
std::string narrowed_capabilities(const Request& request) {
  if (request.session) return {};
  return mcp::carried_capabilities(request.client_capabilities, !request.endpoint.empty());
}

}  // namespace

void describe_caller(call::Caller& caller, const Request& request) {
  caller.revision = request.revision;
  if (request.session) caller.session = request.session->id;
  caller.principal = request.principal;
  caller.client_info = request.client_info;
  caller.client_capabilities = request.client_capabilities;
  if (request.session) caller.extensions = request.session->extensions;
  caller.progress_token = request.progress_token;
  caller.log_level = request.log_level;
  caller.passes_through = !request.endpoint.empty();
  caller.sink = request.sink;
  caller.asker = request.asker;
  caller.askable = request.askable;
  caller.cancel = request.cancel;
  caller.shard = &runtime::Shard::current();
  caller.request_id = request.request_id;
}

bool may_still_come(const Request& request) {
  return request.endpoint.empty() && !request.core.settled.load(std::memory_order_relaxed);
}

namespace {

ask::Modern modern_call(const Request& request, const EndpointPtr& endpoint,
                        upstream::Server& server, const call::Call& call) {
  ask::Modern modern(server, call);
  modern.holds = endpoint;
  modern.endpoint = request.endpoint;
  modern.names_server = request.endpoint.empty();
  modern.limits = request.core.config().ask;
  modern.states = &request.core.local(runtime::Shard::current()).states;
  modern.store = request.core.store;
  modern.desks = request.core.desks;
  return modern;
}

// Arguments that the tool's schema asks to see mirrored must be, and say the same.
std::optional<Answer> check_mirrored(const Request& request, const registry::Endpoint& endpoint) {
  if (!request.fields || request.method != mcp::Method::tools_call) return std::nullopt;
  const auto name = json::decode_string(request.message.name);
  const upstream::ToolTraits* traits = name ? endpoint.tool_traits(*name) : nullptr;
  if (!traits || traits->mirrored.empty()) return std::nullopt;
  const json::Raw arguments = json::find(request.message.params, "arguments").value_or("{}");
  const auto wrong = mismatched_param(*request.fields, traits->mirrored, arguments);
  if (!wrong) return std::nullopt;
  return Answer::error(mcp::kHeaderMismatch, "Header mismatch: " + *wrong, {}, 400);
}

std::function<std::optional<call::Call>(const call::Call&, const call::Outcome&)> declaring(
    TaskCall& tasks) {
  return [&tasks](const call::Call& made, const call::Outcome& outcome) {
    std::optional<call::Call> again;
    if (tasks.must_declare(outcome)) tasks.declare(again.emplace(made));
    return again;
  };
}

// A call on whose way something may be asked: of the caller, or of who stands in for it. `call` is
// not used any more after it. `tasks` (null: none) sees to what became a task all the same.
Task<call::Outcome> call_asking(const Request& request, const EndpointPtr& endpoint,
                                upstream::Server& server, call::Call& call,
                                TaskCall* tasks = nullptr) {
  Substitute substitute(request, call, server.name());
  const std::size_t rounds = request.core.config().ask.rounds;
  if (request.modern() && ask::may_ask(call)) {
    substitute.declare(call.caller);
    ask::Modern modern = modern_call(request, endpoint, server, call);
    modern.otherwise = substitute.asker();
    modern.otherwise_askable = substitute.askable();
    modern.before_otherwise = substitute.remembering(server.name(), call);
    if (tasks) modern.again = declaring(*tasks);
    call::Outcome answered = co_await ask::call_modern(modern);
    if (tasks) co_await tasks->settle(call, answered);
    co_return answered;
  }
  substitute.stand_in(call.caller);
  if (!server.config().roots.empty()) call.caller.askable |= mcp::kAskRoots;
  call::Outcome outcome = co_await server.call(call);
  if (tasks && tasks->must_declare(outcome)) {
    tasks->declare(call);
    outcome = co_await server.call(call);
  }
  if ((substitute.askable() & mcp::kAskUrl) && ask::asks_for_urls(outcome)) {
    co_await ask::call_after_visits(server, call, outcome, rounds);
  }
  if (ask::needs_input(outcome)) {
    ask::BeforeRound remember = substitute.remembering(server.name(), call);
    co_await ask::answer_in_rounds(server, call, outcome, rounds, std::move(remember));
  }
  if (tasks) co_await tasks->settle(call, outcome);
  co_return outcome;
}

// What came back asks for input though nothing was expected to: a legacy client is asked on the
// wire, a modern one gets to make its call again.
Task<void> take_input(const Request& request, const EndpointPtr& endpoint, upstream::Server& server,
                      call::Call& call, call::Outcome& outcome) {
  if (!request.modern()) {
    co_await ask::answer_in_rounds(server, call, outcome, request.core.config().ask.rounds);
    co_return;
  }
  const ask::Modern modern = modern_call(request, endpoint, server, call);
  outcome = ask::with_own_state(modern, std::move(outcome));
}

// What a call came to, as its caller is told.
Answer answer_of(const Request& request, const registry::Target& target, call::Outcome outcome) {
  if (request.modern()) {
    ask::translate_urls(outcome);
  } else if (request.session && ask::asks_for_urls(outcome)) {
    expect_completions(request.core, *target.server, request.session->shared_from_this(),
                       outcome.error);
  }
  if (request.cancel && request.cancel->cancelled()) return Answer::silence();
  return spell(std::move(outcome), request, target);
}

Task<call::Outcome> call_plainly(upstream::Server& server, call::Call& call, TaskCall& tasks) {
  if (!server.config().roots.empty()) call.caller.askable |= mcp::kAskRoots;
  call::Outcome outcome = co_await server.call(call);
  if (tasks.must_declare(outcome)) {
    tasks.declare(call);
    outcome = co_await server.call(call);
  }
  co_return outcome;
}

// A call where calls may become tasks. What such a task asks is for its client: nobody stands in.
Task<Answer> forward_with_tasks(const Request& request, const EndpointPtr& endpoint,
                                const registry::Target& target, call::Call& call) {
  TaskCall tasks(request, endpoint, target);
  if (auto refusal = tasks.prepare(call)) co_return *std::move(refusal);
  upstream::Server& server = *target.server;
  std::optional<call::Outcome> raced;
  if (tasks.makes_call()) raced = co_await tasks.make_call(call);
  const bool may_ask = request.modern() && !raced && ask::may_ask(call);
  call::Outcome outcome;
  if (!tasks.wanted() && (may_ask || Substitute::stands_in(request))) {
    outcome = co_await call_asking(request, endpoint, server, call, &tasks);
    co_return answer_of(request, target, std::move(outcome));
  }
  if (may_ask) {
    const ask::Modern modern = modern_call(request, endpoint, server, call);
    outcome = co_await ask::call_modern(modern);
  } else {
    if (raced) {
      outcome = std::move(*raced);
    } else {
      outcome = co_await call_plainly(server, call, tasks);
    }
    const bool asks = request.modern() ? outcome.needs_input : ask::needs_input(outcome);
    if (asks) co_await take_input(request, endpoint, server, call, outcome);
  }
  std::optional<Answer> task = co_await tasks.settle(call, outcome);
  if (task) co_return *std::move(task);
  co_return answer_of(request, target, std::move(outcome));
}

Task<Answer> forward(Request& request) {
  std::string name(request.endpoint);
  EndpointPtr endpoint = endpoint_now(request.core, name);
  if (!endpoint || !endpoint->ready) {
    endpoint = co_await endpoint_when_ready(request.core, std::move(name));
  }
  if (!endpoint) co_return no_catalogue();
  if (!routes(*endpoint, request)) co_return method_not_found(request);
  Resolution resolution = resolve(*endpoint, request);
  if (std::holds_alternative<Answer>(resolution) && may_still_come(request)) {
    std::string all;
    endpoint = co_await endpoint_when_listed(request.core, std::move(all));
    if (!endpoint) co_return no_catalogue();
    resolution = resolve(*endpoint, request);
  }
  if (auto* refusal = std::get_if<Answer>(&resolution)) co_return std::move(*refusal);
  Resolved& found = std::get<Resolved>(resolution);
  if (auto mismatch = check_mirrored(request, *endpoint)) co_return *std::move(mismatch);

  call::Call call;
  call.method = request.method;
  call.method_name = request.message.method;
  call.params = request.message.params;
  call.message = &request.message;
  call.target_member = found.member;
  call.target_value = std::move(found.value);
  describe_caller(call.caller, request);
  const std::string carried = narrowed_capabilities(request);
  if (!carried.empty()) call.caller.client_capabilities = carried;
  if (TaskCall::concerns(request, *endpoint)) {
    co_return co_await forward_with_tasks(request, endpoint, found.target, call);
  }
  upstream::Server& server = *found.target.server;
  const bool may_ask = request.modern() && ask::may_ask(call);
  call::Outcome outcome;
  if (may_ask || Substitute::stands_in(request)) {
    outcome = co_await call_asking(request, endpoint, server, call);
  } else {
    if (!server.config().roots.empty()) call.caller.askable |= mcp::kAskRoots;
    outcome = co_await server.call(call);
    const bool asks = request.modern() ? outcome.needs_input : ask::needs_input(outcome);
    if (asks) co_await take_input(request, endpoint, server, call, outcome);
  }
  co_return answer_of(request, found.target, std::move(outcome));
}

// --- What mcpx answers itself

Task<Answer> set_log_level(const Request& request) {
  const auto level = json::find_string(request.message.params, "level");
  const auto index = level ? Session::level_index(*level) : std::nullopt;
  if (!index) {
    co_return Answer::error(rpc::kInvalidParams,
                            "Invalid params: 'level' must be one of debug, info, notice, warning, "
                            "error, critical, alert, emergency");
  }
  request.session->live.log_level.store(*index);
  SessionPtr session = request.session->shared_from_this();
  co_await request.core.sessions.changed(std::move(session));
  co_return Answer::result("{}");
}

Task<Answer> discover(Request& request) {
  std::string name(request.endpoint);
  const EndpointPtr endpoint = co_await endpoint_when_ready(request.core, std::move(name));
  if (!endpoint) co_return no_catalogue();
  co_return Answer::result(discover_result(*endpoint, request.core.server_info, Clock::now()));
}

Task<Answer> answered(Answer answer) {
  co_return answer;
}

}  // namespace

Task<Answer> dispatch(Request& request) {
  const bool nobody_knows = request.method == mcp::Method::foreign && request.endpoint.empty();
  if (nobody_knows) return answered(method_not_found(request));
  if (const auto kind = list_of(request.method)) return list(request, *kind);
  switch (request.method) {
    case mcp::Method::tools_call:
    case mcp::Method::prompts_get:
    case mcp::Method::resources_read:
    case mcp::Method::completion_complete:
    case mcp::Method::skills_get:
    case mcp::Method::resources_directory_read:
    case mcp::Method::foreign:
      return forward(request);
    case mcp::Method::server_discover:
      return discover(request);
    case mcp::Method::ping:
      return answered(Answer::result("{}"));
    case mcp::Method::logging_set_level:
      return set_log_level(request);
    case mcp::Method::tasks_get:
    case mcp::Method::tasks_cancel:
    case mcp::Method::tasks_result:
    case mcp::Method::tasks_list:
    case mcp::Method::tasks_update:
      return serve_tasks(request);
    case mcp::Method::resources_subscribe:
      return subscribe(request);
    case mcp::Method::resources_unsubscribe:
      return unsubscribe(request);
    default:
      return answered(method_not_found(request));
  }
}

}  // namespace mcpx::downstream
