#include "tasks/book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "rpc/message.hpp"

namespace mcpx::tasks {
namespace {

constexpr std::size_t kPage = 100;
// Of all owners together.
constexpr std::size_t kAtMost = 65'536;

std::string error_text(int code, const Error& error) {
  const call::Outcome outcome = call::Outcome::of_failure(code, error);
  return std::string(outcome.error);
}

Told unknown(const std::string& id) {
  const Error error("task.unknown", fmt::format("there is no task '{}'", id.substr(0, 64)),
                    "it may have expired; call the tool again");
  return Told(error_text(rpc::kInvalidParams, error));
}

Told full(const config::Config& config) {
  const Error error("task.limit",
                    fmt::format("there are {} tasks of this caller already", config.tasks.limit),
                    "wait until some are over and expired, or raise tasks.limit");
  return Told(error_text(mcp::kUpstreamFailure, error));
}

Told stopping() {
  return Told(error_text(mcp::kUpstreamFailure, stopped()));
}

Told unheard() {
  const Error error("request.cancelled", "the client was gone when the task asked it something",
                    "ask for the result again");
  return Told(error_text(mcp::kRequestCancelled, error));
}

Told not_kept() {
  const Error error("task.not_kept", "the task could not be written to the store",
                    "see /v1/status and the disk of state_dir, then call again");
  return Told(error_text(mcp::kUpstreamFailure, error));
}

}  // namespace

std::int64_t unix_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<Milliseconds>(now).count();
}

Book::Book(runtime::Shard& home, store::Store* store, Hooks hooks)
    : home_(home),
      store_(store),
      hooks_(std::move(hooks)),
      alarm_(home, [this] { sweep(); }),
      grace_(home, [this] { over_.cancel("mcpx is shutting down"); }),
      tasks_(home) {}
Book::~Book() = default;

JobPtr Book::make(Kind kind, std::string server, Owner owner, Origin origin) {
  auto job = std::make_shared<Job>(home_, kind, std::move(owner), std::move(origin));
  job->state.id = random_id();
  job->state.server = std::move(server);
  job->state.endpoint = job->owner.endpoint;
  job->state.own_uris = job->origin.own_uris;
  job->state.askable = job->origin.askable;
  job->state.created = job->state.updated = unix_now();
  job->state.ttl = hooks_.config().tasks.ttl.count();
  job->state.poll = 1'000;
  if (all_.size() >= tidy_at_) {
    std::erase_if(all_, [](const std::weak_ptr<Job>& one) { return one.expired(); });
    tidy_at_ = std::max<std::size_t>(2 * all_.size(), 64);
  }
  all_.push_back(job);
  return job;
}

JobPtr Book::make(const Made& made) {
  const Kind kind = made.era == mcp::Era::modern ? Kind::modern : Kind::legacy;
  JobPtr job = make(kind, made.server, made.owner, made.origin);
  const std::int64_t longest = hooks_.config().tasks.ttl_max.count();
  job->upstream_id = made.report.id;
  job->state.message = made.report.message;
  job->state.ttl = std::min(made.report.ttl.value_or(longest), longest);
  job->state.poll = made.report.poll.value_or(job->state.poll);
  return job;
}

JobPtr Book::find(const std::string& id, const Owner& owner) const {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || !owner.owns(found->second->owner)) return nullptr;
  return found->second;
}

bool Book::has_room(const Owner& owner) const {
  if (counted_ >= kAtMost) return false;
  const auto theirs = owned_.find(owner.key());
  return (theirs == owned_.end() ? 0 : theirs->second) < hooks_.config().tasks.limit;
}

bool Book::take_place(Job& job) {
  if (!has_room(job.owner)) return false;
  count(job);
  return true;
}

void Book::count(Job& job) {
  job.counted = true;
  ++owned_[job.owner.key()];
  ++counted_;
}

void Book::free_place(Job& job) {
  if (!std::exchange(job.counted, false)) return;
  const auto theirs = owned_.find(job.owner.key());
  if (--theirs->second == 0) owned_.erase(theirs);
  --counted_;
}

void Book::publish(Job& job) {
  // How it ended is in the store already, with the time of that.
  if (!is_over(job.state.status)) job.state.updated = unix_now();
  job.wake();
  if (job.kept) hooks_.changed(job.state, job.owner);
}

// --- Calls that a server made tasks of

Task<Told> Book::adopt(Made made) {
  if (closing_) co_return stopping();
  const JobPtr job = make(made);
  if (!take_place(*job)) {
    tasks_.spawn("cancel task", cancel_at_server(job));
    co_return full(hooks_.config());
  }
  const bool kept = co_await keep(job);
  if (!kept) {
    tasks_.spawn("cancel task", cancel_at_server(job));
    co_return not_kept();
  }
  log::debug("task {} of server {} is '{}' there", job->state.id, made.server, made.report.id);
  drive(job);
  co_return Told(job->state);
}

Task<Told> Book::adopt_done(Made made, std::string result, mcp::Revision from) {
  if (closing_) co_return stopping();
  const JobPtr job = make(Kind::own, made.server, made.owner, made.origin);
  if (!take_place(*job)) co_return full(hooks_.config());
  const bool kept = co_await keep(job);
  if (!kept) co_return not_kept();
  // It begins as every task does ("Task Status Lifecycle"); what came of it is there to be asked
  // for.
  Told begun(job->state);
  co_await finish(job, Status::completed, std::move(result), from, std::string());
  co_return begun;
}

Task<call::Outcome> Book::see_through(Made made, std::shared_ptr<Wait> wait) {
  const JobPtr job = make(made);
  const std::shared_ptr<upstream::Server> server = hooks_.server(made.server);
  if (server) job->state.ttl = server->config().call_timeout_max.count();
  runtime::Watchdog patience(home_, [job] {
    job->gone = true;
    job->wake();
  });
  patience.set(Clock::now() + Milliseconds(job->state.ttl));
  drive(job);
  co_await wait_for(job, wait);
  if (!is_over(job->state.status)) {
    const bool late = job->gone;
    remove(job);
    if (closing_ || wait->interrupted) {
      co_return call::Outcome::of_failure(mcp::kUpstreamFailure, stopped(), made.server);
    }
    tasks_.spawn("cancel task", cancel_at_server(job));
    const Error error =
        late ? Error("upstream.timeout",
                     fmt::format("the task of server {} took longer than a call may", made.server),
                     "raise call_timeout_max for this server")
             : Error("request.cancelled", "the caller cancelled the request");
    co_return call::Outcome::of_failure(late ? mcp::kUpstreamFailure : mcp::kRequestCancelled,
                                        error, made.server);
  }
  const State& state = job->state;
  if (state.status == Status::completed) {
    co_return call::Outcome::of_result(state.outcome, state.from);
  }
  if (state.status == Status::failed) {
    co_return call::Outcome::of_error(state.outcome, state.from);
  }
  const Error cancelled("task.cancelled",
                        fmt::format("server {} cancelled the task of this call", made.server),
                        "call again");
  co_return call::Outcome::of_failure(mcp::kUpstreamFailure, cancelled, made.server);
}

// --- Requests

Task<Told> Book::get(std::string id, Owner owner) {
  const JobPtr job = find(id, owner);
  if (!job) co_return unknown(id);
  if (job->kind == Kind::modern && !job->over()) co_await poll(job);
  co_return co_await told(job);
}

Task<Told> Book::peek(std::string id, Owner owner) {
  const JobPtr job = find(id, owner);
  if (!job) co_return unknown(id);
  co_return co_await told(job);
}

// What nobody has asked, or has an answer to already, is ignored; so is what is no answer.
Task<Told> Book::update(std::string id, Owner owner, std::string responses) {
  const JobPtr job = find(id, owner);
  if (!job) co_return unknown(id);
  if (job->over()) co_return Told(job->state);
  if (job->kind == Kind::modern) {
    json::ObjectBuilder params;
    params.string("taskId", job->upstream_id).raw("inputResponses", responses);
    std::string text = params.take();
    const call::Outcome outcome =
        co_await ask_server(job, mcp::Method::tasks_update, std::move(text), kNever);
    if (!outcome.ok()) co_return Told(std::string(outcome.error));
    job->pause.cancel();
    co_return Told(job->state);
  }
  json::Members members(responses);
  while (const auto member = members.next()) {
    const std::string key = json::decode_string(member->key).value_or("");
    for (Open* open : job->open) {
      if (open->key != key || !mcp::is_answer(open->question.kind, member->value)) continue;
      open->answer.set(call::Response::of_result(
          mcp::answer_for(open->question.kind, open->question.params, member->value)));
    }
  }
  co_return Told(job->state);
}

Task<Told> Book::cancel(std::string id, Owner owner) {
  const JobPtr job = find(id, owner);
  if (!job) co_return unknown(id);
  if (job->over()) {
    if (!owner.legacy()) co_return Told(job->state);
    const Error error("task.over",
                      fmt::format("the task is over already: {}", text(job->state.status)),
                      "ask for its result");
    co_return Told(error_text(rpc::kInvalidParams, error));
  }
  call::Outcome outcome;
  if (job->kind != Kind::own) {
    json::ObjectBuilder params;
    std::string text = params.string("taskId", job->upstream_id).take();
    outcome = co_await ask_server(job, mcp::Method::tasks_cancel, std::move(text), kNever);
    // In the extension the server decides what becomes of it; it may even complete.
    const bool cooperative = job->kind == Kind::modern && !owner.legacy();
    if (cooperative || (job->kind == Kind::legacy && !outcome.ok())) {
      job->pause.cancel();
      if (!outcome.ok()) co_return Told(std::string(outcome.error));
      co_return Told(job->state);
    }
  }
  co_await finish(job, Status::cancelled, std::string(), mcp::kLatestModern,
                  "the task was cancelled by request");
  // Or it has ended otherwise just now, and that is on its way to the store.
  runtime::Waiter change;
  const Watch watch(*job, change);
  while (!job->over()) {
    co_await change.wait();
  }
  co_return Told(job->state);
}

Task<Told> Book::result(std::string id, Owner owner, std::shared_ptr<Wait> wait) {
  const JobPtr job = find(id, owner);
  if (!job) co_return unknown(id);
  co_await wait_for(job, wait);
  if ((closing_ || wait->interrupted) && !job->over()) co_return stopping();
  if (!job->over()) co_return unheard();
  if (job->gone) co_return unknown(id);
  co_return co_await told(job);
}

std::optional<Book::Page> Book::list(const Owner& owner, const std::string& cursor) const {
  std::vector<const Job*> theirs;
  for (const auto& [id, job] : jobs_) {
    if (owner.owns(job->owner)) theirs.push_back(job.get());
  }
  std::sort(theirs.begin(), theirs.end(), [](const Job* a, const Job* b) {
    return std::pair(a->state.created, a->state.id) < std::pair(b->state.created, b->state.id);
  });
  auto at = theirs.begin();
  if (!cursor.empty()) {
    at = std::find_if(at, theirs.end(), [&](const Job* job) { return job->state.id == cursor; });
    if (at == theirs.end()) return std::nullopt;
  }
  Page page;
  for (; at != theirs.end() && page.tasks.size() < kPage; ++at) {
    State state = (*at)->state;
    state.outcome = (*at)->tool_failed ? R"({"isError":true})" : "";
    page.tasks.push_back(std::move(state));
  }
  if (at != theirs.end()) page.next = (*at)->state.id;
  return page;
}

// --- The end

void Book::shut_down() {
  if (!std::exchange(closing_, true)) {
    grace_.set(Clock::now() + hooks_.config().shutdown_grace);
  }
  for (const std::weak_ptr<Job>& weak : all_) {
    const JobPtr job = weak.lock();
    if (!job) continue;
    job->pause.cancel();
    job->cancel.cancel("mcpx is shutting down");
    job->wake();
  }
}

Task<void> Book::join() {
  shut_down();
  alarm_.clear();
  grace_.clear();
  over_.cancel("mcpx is shutting down");
  co_await tasks_.join();
}

}  // namespace mcpx::tasks
