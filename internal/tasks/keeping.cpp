// What is kept of tasks: before a handle is given out, before anybody hears how a task ended, and
// until it expires.
#include <fmt/format.h>

#include <utility>

#include "json/json.hpp"
#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "store/store.hpp"
#include "tasks/book.hpp"

namespace mcpx::tasks {
namespace {

// Longer outcomes are in the store alone, and read when they are asked for.
constexpr std::size_t kOutcomeHere = 4 * 1024;
// In the column of the status: the outcome is not read to know this.
constexpr std::string_view kToolFailed = "tool_failed";
// How an end that the store did not take is offered again.
constexpr int kTries = 3;
constexpr Milliseconds kBetween{500};

}  // namespace

store::TaskRow Book::row_of(const Job& job, const State& state, bool tool_failed) const {
  store::TaskRow row;
  row.id = state.id;
  row.principal = job.owner.principal;
  row.session = job.owner.session;
  row.endpoint = job.owner.endpoint;
  row.server = state.server;
  row.kind = text(job.kind);
  row.upstream_id = job.upstream_id;
  row.caller = job.origin.text();
  row.status = tool_failed ? kToolFailed : text(state.status);
  row.message = state.message;
  row.created_at = state.created;
  row.updated_at = state.updated;
  row.ttl_ms = state.ttl;
  row.poll_ms = state.poll;
  row.expires_at = job.expires();
  row.revision = mcp::text(state.from);
  row.outcome = state.outcome;
  return row;
}

// From here on the task is there (SEP-2663: "until the task is durably created").
Task<bool> Book::keep(JobPtr job) {
  if (store_) {
    store::TaskRow row = row_of(*job, job->state, false);
    const Result<void> done = co_await store_->tasks().put(std::move(row));
    if (!done) {
      // It may still be written, late: then this is, after it.
      store_->tasks().drop(job->state.id);
      free_place(*job);
      co_return false;
    }
  }
  job->kept = true;
  jobs_.emplace(job->state.id, job);
  ring_by(job->expires());
  co_return true;
}

Task<bool> Book::keep_end(const Job& job, const State& ended) {
  runtime::Timer pause(home_);
  for (int tries = 1;; ++tries) {
    store::TaskRow row = row_of(job, ended, job.tool_failed);
    const Result<void> done = co_await store_->tasks().put(std::move(row));
    if (done) co_return true;
    if (tries == kTries || closing_) break;
    co_await pause.sleep_for(kBetween);
  }
  log::warning("task {}: how it ended is not in the store; it is known until mcpx stops", ended.id);
  co_return false;
}

// Nobody hears of the end before it is kept.
Task<void> Book::finish(JobPtr job, Status status, std::string outcome, mcp::Revision from,
                        std::string message) {
  if (job->over() || job->ending) co_return;
  job->ending = true;
  State ended = job->state;
  ended.status = status;
  ended.message = std::move(message);
  ended.questions.clear();
  ended.outcome = std::move(outcome);
  ended.from = from;
  ended.updated = unix_now();
  job->tool_failed = status == Status::completed && json::find(ended.outcome, "isError") == "true";
  bool stored = false;
  if (job->kept && store_) {
    stored = co_await keep_end(*job, ended);
  }
  job->state = std::move(ended);
  publish(*job);
  if (stored && job->state.outcome.size() > kOutcomeHere) {
    job->outcome_in_store = true;
    job->state.outcome = std::string();  // its memory with it
  }
  job->cancel.cancel("the task is over");
  job->pause.cancel();
}

Task<void> Book::fail(JobPtr job, Error error) {
  const call::Outcome outcome =
      call::Outcome::of_failure(mcp::kUpstreamFailure, error, job->state.server);
  std::string text(outcome.error);
  co_await finish(job, Status::failed, std::move(text), outcome.from, error.message);
}

Task<Told> Book::told(JobPtr job) {
  Told told(job->state);
  if (!job->outcome_in_store) co_return told;
  std::string id = job->state.id;
  Result<std::string> outcome = co_await store_->tasks().outcome(std::move(id));
  if (!outcome || outcome->empty()) {
    const Error error("task.not_kept", "what came of the task cannot be read from the store",
                      "see /v1/status and the disk of state_dir, then ask again");
    const call::Outcome failure = call::Outcome::of_failure(mcp::kUpstreamFailure, error);
    co_return Told(std::string(failure.error));
  }
  told.state->outcome = std::move(*outcome);
  co_return told;
}

// --- After a restart

Task<void> Book::restore() {
  if (!store_) co_return;
  const Result<std::vector<store::TaskRow>> rows = co_await store_->tasks().load(unix_now());
  if (!rows) co_return;  // the store has logged why
  for (const store::TaskRow& row : *rows)
    restore_one(row);
}

void Book::restore_one(const store::TaskRow& row) {
  Owner owner{row.principal, row.endpoint, row.session, std::string()};
  const Kind kind = row.kind == text(Kind::modern)   ? Kind::modern
                    : row.kind == text(Kind::legacy) ? Kind::legacy
                                                     : Kind::own;
  const auto job = std::make_shared<Job>(home_, kind, std::move(owner), Origin::read(row.caller));
  State& state = job->state;
  state.id = row.id;
  state.server = row.server;
  state.endpoint = row.endpoint;
  state.own_uris = job->origin.own_uris;
  state.askable = job->origin.askable;
  job->tool_failed = row.status == kToolFailed;
  state.status =
      job->tool_failed ? Status::completed : parse_status(row.status).value_or(Status::working);
  state.message = row.message;
  state.created = row.created_at;
  state.updated = row.updated_at;
  state.ttl = row.ttl_ms;
  state.poll = row.poll_ms;
  state.from = mcp::parse_revision(row.revision).value_or(mcp::kLatestModern);
  job->upstream_id = row.upstream_id;
  job->kept = true;
  job->outcome_in_store = job->over() && state.status != Status::cancelled;
  jobs_.emplace(state.id, job);
  all_.push_back(job);
  count(*job);
  ring_by(job->expires());
  job->restored = true;
  if (job->over()) return;
  if (kind != Kind::own) return drive(job);
  // The call went with the daemon that made it; whether the server did it nobody knows.
  const Error error("task.interrupted",
                    fmt::format("mcpx was restarted while this call to server {} ran, and cannot "
                                "know whether it was done",
                                state.server),
                    "check, then call the tool again");
  tasks_.spawn("interrupted", fail(job, error));
}

// --- Until they expire

void Book::remove(const JobPtr& job) {
  const bool over = is_over(job->state.status);
  job->gone = true;
  job->pause.cancel();
  job->cancel.cancel("the task has expired");
  job->wake();
  free_place(*job);
  if (!job->kept) return;
  if (!over) tasks_.spawn("cancel task", cancel_at_server(job));
  if (store_) store_->tasks().drop(job->state.id);
  jobs_.erase(job->state.id);
}

// Nobody else can ask for them. Before the servers hear of the end of the session, whose instances
// have the tasks.
void Book::end_session(std::string_view session_id) {
  std::vector<JobPtr> theirs;
  for (const auto& [id, job] : jobs_) {
    if (job->owner.principal.empty() && job->owner.session_id == session_id) theirs.push_back(job);
  }
  for (const JobPtr& job : theirs)
    remove(job);
}

void Book::sweep() {
  const std::int64_t now = unix_now();
  std::vector<JobPtr> expired;
  for (const auto& [id, job] : jobs_) {
    if (job->expires() <= now) {
      expired.push_back(job);
    } else {
      ring_by(job->expires());
    }
  }
  for (const JobPtr& job : expired)
    remove(job);
}

// The first of them decides; sweep() asks again for the rest.
void Book::ring_by(std::int64_t expires) {
  if (closing_) return;
  const std::int64_t left = std::max<std::int64_t>(expires - unix_now(), 0);
  const TimePoint when = Clock::now() + Milliseconds(left);
  if (when < alarm_.deadline()) alarm_.set(when);
}

}  // namespace mcpx::tasks
