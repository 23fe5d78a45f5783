// How a task of a server goes on: a modern one is asked again and again, a legacy one is waited for
// with tasks/result, on whose stream it asks.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "tasks/book.hpp"

namespace mcpx::tasks {
namespace {

// Between two polls of a server that does not say how often it wants to be asked: this, growing to
// that; and the bounds of what is taken from one that does.
constexpr std::int64_t kFirstRest = 250, kLongestRest = 2'000;
constexpr std::int64_t kShortest = 50, kLongest = 30'000;

// Of one poll: somebody may wait for it, and what is known is good enough.
constexpr Milliseconds kPatience{10'000};

// The server said it, not mcpx about the server: that may pass.
bool is_servers_own(const call::Outcome& outcome) {
  const auto code = json::find(outcome.error, "code");
  const auto number = code ? json::as_integer(*code) : std::nullopt;
  return number && *number != mcp::kUpstreamFailure && *number != mcp::kRequestCancelled;
}

// It does not know the task, or no tasks at all: a restart of it, most likely.
bool says_unknown(const call::Outcome& outcome) {
  const auto code = json::find(outcome.error, "code");
  const auto number = code ? json::as_integer(*code) : std::nullopt;
  return number == rpc::kInvalidParams || number == rpc::kMethodNotFound;
}

std::string id_params(const Job& job) {
  json::ObjectBuilder params;
  return params.string("taskId", job.upstream_id).take();
}

// Only of what its client has declared may a server ask (SEP-2663, "Input Requests").
bool may_ask(const State& state, const Question& question) {
  const auto kind = mcp::question_kind(question.method, question.params);
  if (!kind) return false;
  const mcp::Askable needed = mcp::needed_for(*kind, question.params);
  return (state.askable & needed) == needed;
}

Error asks_too_much(const State& state) {
  return Error(
      "upstream.bad_frame",
      fmt::format("server {} asks for what the client of its task has not declared", state.server),
      "report this to the server's author");
}

Error lost(const State& state) {
  return Error("task.lost", fmt::format("server {} does not know this task any more", state.server),
               "it was restarted, or has dropped it; call the tool again");
}

}  // namespace

void Book::drive(const JobPtr& job) {
  if (job->kind == Kind::modern) tasks_.spawn("task", drive_modern(job));
  if (job->kind == Kind::legacy) tasks_.spawn("task", drive_legacy(job));
}

Task<call::Outcome> Book::ask_server(JobPtr job, mcp::Method method, std::string params,
                                     TimePoint deadline) {
  const std::shared_ptr<upstream::Server> server = hooks_.server(job->state.server);
  if (!server) {
    const Error error(
        "task.server_gone",
        fmt::format("server {} is not in the configuration any more", job->state.server),
        "call the tool again where it is now");
    co_return call::Outcome::of_failure(mcp::kUpstreamFailure, error);
  }
  call::Call call;
  call.method = method;
  call.method_name = mcp::info(method).name;
  call.params = params;
  call.deadline = deadline;
  job->origin.describe(call.caller);
  call.caller.asker = asker_of(job);
  call.caller.shard = &home_;
  call.caller.cancel = method == mcp::Method::tasks_result ? &job->cancel : &over_;
  call::Outcome outcome = co_await server->call(call);
  if (over_.cancelled() && !outcome.ok() && !is_servers_own(outcome)) {
    co_return call::Outcome::of_failure(mcp::kUpstreamFailure, stopped(), server->name());
  }
  co_return outcome;
}

Task<void> Book::cancel_at_server(JobPtr job) {
  if (job->kind == Kind::own) co_return;
  std::string params = id_params(*job);
  const call::Outcome outcome =
      co_await ask_server(job, mcp::Method::tasks_cancel, std::move(params), kNever);
  if (!outcome.ok()) log::debug("server {} did not cancel a task", job->state.server);
}

Task<void> Book::rest(JobPtr job, std::size_t polls) {
  std::int64_t time = kFirstRest << std::min<std::size_t>(polls, 3);
  time = std::min(time, kLongestRest);
  if (job->state.poll > 0) time = std::clamp(job->state.poll, kShortest, kLongest);
  if (polls == 0) time = std::min(time, kFirstRest);
  // A server that nobody asks for longer than that is stopped, and its task lost.
  const std::shared_ptr<upstream::Server> server = hooks_.server(job->state.server);
  if (server && server->config().idle_stop) {
    time = std::clamp<std::int64_t>(server->config().idle_stop->count() / 2, kShortest, time);
  }
  const TimePoint until = Clock::now() + Milliseconds(time);
  co_await job->pause.sleep_until(until);
}

Task<void> Book::drive_modern(JobPtr job) {
  for (std::size_t polls = 0; !job->over() && !closing_; ++polls) {
    co_await rest(job, polls);
    if (!job->over() && !closing_) co_await poll(job);
  }
}

Task<void> Book::poll(JobPtr job) {
  const std::uint64_t number = ++job->asked;
  std::string params = id_params(*job);
  const TimePoint soon = Clock::now() + kPatience;
  const call::Outcome outcome =
      co_await ask_server(job, mcp::Method::tasks_get, std::move(params), soon);
  if (job->over() || job->ending || number < job->heard) co_return;
  job->heard = number;
  co_await take_report(job, outcome);
}

Task<void> Book::take_report(JobPtr job, const call::Outcome& outcome) {
  if (!outcome.ok()) {
    const bool gone = json::find_string(json::find(outcome.error, "data").value_or("{}"), "code") ==
                      "task.server_gone";
    if (gone || (is_servers_own(outcome) && says_unknown(outcome))) {
      co_await fail(job, lost(job->state));
    }
    co_return;
  }
  std::optional<Report> report = read_report(outcome.result, mcp::era_of(outcome.from));
  if (!report || report->id != job->upstream_id) {
    log::debug("server {} answered tasks/get with no task", job->state.server);
    co_return;
  }
  const bool modern = mcp::era_of(outcome.from) == mcp::Era::modern;
  State& state = job->state;
  if (report->poll) state.poll = *report->poll;
  if (modern && is_over(report->status)) {
    if (report->outcome.empty() && report->status != Status::cancelled) {
      const Error error(
          "upstream.bad_frame",
          fmt::format("server {} says that a task is over, but not with what", state.server),
          "report this to the server's author");
      co_return co_await fail(job, error);
    }
    co_return co_await finish(job, report->status, std::move(report->outcome), outcome.from,
                              std::move(report->message));
  }
  if (!modern && report->status == Status::cancelled) {
    co_return co_await finish(job, Status::cancelled, std::string(), outcome.from,
                              std::move(report->message));
  }
  if (!modern) co_return;  // the rest says tasks/result
  // What nobody is to know of is answered where it is asked.
  const bool allowed =
      !job->kept || std::all_of(report->questions.begin(), report->questions.end(),
                                [&state](const Question& one) { return may_ask(state, one); });
  if (!allowed) {
    tasks_.spawn("cancel task", cancel_at_server(job));
    const Error error = asks_too_much(state);
    co_return co_await fail(job, error);
  }
  const bool same = state.status == report->status && state.message == report->message &&
                    state.questions == report->questions;
  state.status = report->status;
  state.message = std::move(report->message);
  state.questions = std::move(report->questions);
  if (!same) publish(*job);
}

// Waiting for the result is all that a legacy server needs to be asked: it answers when the task is
// over, and asks on the stream of this request meanwhile.
Task<void> Book::drive_legacy(JobPtr job) {
  // The servers of a daemon that has just started are on their way.
  for (std::size_t tries = job->restored ? 1 : 0; !job->over() && !closing_; ++tries) {
    if (tries > 0) co_await rest(job, tries);
    if (job->over() || closing_) break;
    const std::int64_t left = std::max<std::int64_t>(job->expires() - unix_now(), 0);
    const TimePoint deadline = Clock::now() + Milliseconds(left);
    std::string params = id_params(*job);
    call::Outcome outcome =
        co_await ask_server(job, mcp::Method::tasks_result, std::move(params), deadline);
    if (job->over() || closing_) break;
    if (outcome.ok() || is_servers_own(outcome)) {
      co_await settle_legacy(job, std::move(outcome));
    } else {
      co_await poll(job);  // which hears of a server that is gone for good
    }
  }
}

// An error may be what the call came to, what became of one that was cancelled, or that there is no
// such task.
Task<void> Book::settle_legacy(JobPtr job, call::Outcome outcome) {
  if (!outcome.ok()) {
    co_await poll(job);
    if (job->over() || job->ending) co_return;
    co_return co_await finish(job, Status::failed, std::string(outcome.error), outcome.from,
                              json::find_string(outcome.error, "message").value_or(""));
  }
  if (!json::is_object(outcome.result)) {
    const Error error("upstream.bad_frame",
                      fmt::format("server {} gave a result that is no object", job->state.server),
                      "report this to the server's author");
    co_return co_await fail(job, error);
  }
  std::string result = with_related_task(outcome.result, "");
  co_await finish(job, Status::completed, std::move(result), outcome.from, std::string());
}

}  // namespace mcpx::tasks
