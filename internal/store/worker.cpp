#include "store/worker.hpp"

#include <fmt/core.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "log/log.hpp"
#include "store/database.hpp"
#include "store/open.hpp"

namespace mcpx::store {
namespace {

constexpr std::size_t kBatch = 256;  // jobs in one transaction

// One job within the transaction: all of it or nothing.
Result<void> perform_one(Database& database, const Job& job) {
  if (!job.writes) return job.work(database);
  if (Result<void> begun = database.execute("SAVEPOINT job"); !begun) return begun;
  Result<void> done = job.work(database);
  // After a failure of the disk there may be no transaction left to go back in.
  if (!done && !database.in_transaction()) return done;
  const char* end = done ? "RELEASE job" : "ROLLBACK TO job; RELEASE job";
  const Result<void> ended = database.execute(end);
  return done && !ended ? ended : done;
}

}  // namespace

Worker::Worker(std::size_t queue_jobs, std::size_t queue_bytes)
    : queue_jobs_(queue_jobs), queue_bytes_(queue_bytes) {}

std::shared_ptr<Worker> Worker::start(const std::string& state_dir, std::size_t queue_jobs,
                                      std::size_t queue_bytes) {
  std::shared_ptr<Worker> worker(new Worker(queue_jobs, queue_bytes));
  worker->status_.with([&](Status& status) {
    if (!state_dir.empty()) status.path = state_dir + "/" + kDatabaseName;
  });
  worker->thread_ = std::thread([worker, state_dir] { worker->run(state_dir); });
  return worker;
}

Result<void> Worker::submit(Job job) {
  return queue_.change([&](Queue& queue) -> Result<void> {
    if (queue.finishing) return Error("store.closed", "the store is closed");
    const bool full = queue.jobs.size() >= queue_jobs_ ||
                      (!queue.jobs.empty() && queue.bytes + job.bytes > queue_bytes_);
    if (full) {
      return Error("store.overloaded",
                   fmt::format("{} jobs wait for the state directory's disk", queue.jobs.size()),
                   "see whether that disk is slow or failing");
    }
    queue.bytes += job.bytes;
    queue.jobs.push_back(std::move(job));
    return {};
  });
}

void Worker::finish(std::function<void()> finished) {
  queue_.change([&](Queue& queue) {
    queue.finishing = true;
    queue.finished = std::move(finished);
  });
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

void Worker::abandon() {
  queue_.with([](Queue& queue) { queue.abandoned = true; });
  thread_.detach();
}

void Worker::run(const std::string& state_dir) {
  ::pthread_setname_np(::pthread_self(), "mcpx-store");
  {
    Opened opened = open_store(state_dir);
    notice_ = opened.status.message;
    status_.with([&](Status& status) { status = opened.status; });
    while (true) {
      std::vector<Job> batch = next_batch();
      if (batch.empty()) break;
      if (opened.database) {
        perform(*opened.database, batch);
      } else {
        answer(batch, {batch.size(), Error("store.failed", "there is no memory for a store")});
      }
    }
    if (opened.database && opened.status.state == State::disk) {
      const Result<std::string> moved = opened.database->word("PRAGMA wal_checkpoint(TRUNCATE)");
      if (!moved) log::warning("store: {}", moved.error().text());
    }
  }
  queue_.with([](Queue& queue) {
    if (queue.finished && !queue.abandoned) queue.finished();
    queue.finished = nullptr;
  });
}

// Empty at the end.
std::vector<Job> Worker::next_batch() {
  const auto ready = [](const Queue& queue) { return !queue.jobs.empty() || queue.finishing; };
  return queue_.when(ready, [](Queue& queue) {
    std::vector<Job> batch;
    while (!queue.jobs.empty() && batch.size() < kBatch) {
      queue.bytes -= queue.jobs.front().bytes;
      batch.push_back(std::move(queue.jobs.front()));
      queue.jobs.pop_front();
    }
    return batch;
  });
}

// IMMEDIATE: a transaction that becomes a writer later fails at once when another process writes.
Result<void> Worker::begin(Database& database, const std::vector<Job>& batch) {
  const bool durable =
      std::any_of(batch.begin(), batch.end(), [](const Job& job) { return job.durable; });
  if (durable_ != durable) {  // cannot be set inside the transaction
    Result<void> set =
        database.execute(durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    if (!set) return set;
    durable_ = durable;
  }
  return database.execute("BEGIN IMMEDIATE");
}

void Worker::perform(Database& database, std::vector<Job>& batch) {
  const bool writes =
      std::any_of(batch.begin(), batch.end(), [](const Job& job) { return job.writes; });
  // Set when nothing of the batch is kept: no job of it may be acknowledged then.
  std::optional<Error> lost;
  if (writes) {
    if (Result<void> begun = begin(database, batch); !begun) lost = begun.error();
  }
  std::vector<Result<void>> outcomes;
  for (const Job& job : batch) {
    if (lost) break;
    outcomes.push_back(perform_one(database, job));
    const Result<void>& outcome = outcomes.back();
    if (!outcome) note_failure(outcome.error());
    if (writes && !database.in_transaction()) lost = outcome.error();
  }
  if (writes && !lost) {
    if (Result<void> committed = database.execute("COMMIT"); !committed) lost = committed.error();
  }
  if (lost) {
    note_failure(*lost);
    if (database.in_transaction()) static_cast<void>(database.execute("ROLLBACK"));
    outcomes.assign(batch.size(), *lost);
  }
  const bool all_well = std::all_of(outcomes.begin(), outcomes.end(),
                                    [](const Result<void>& one) { return one.has_value(); });
  if (writes && all_well) note_success();
  answer(batch, outcomes);
}

void Worker::answer(const std::vector<Job>& batch, const std::vector<Result<void>>& outcomes) {
  queue_.with([&](const Queue& queue) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].done && !queue.abandoned) batch[i].done(outcomes[i]);
    }
  });
}

void Worker::note_failure(const Error& error) {
  if (failing_ == error.message) return;  // one line however often it happens
  failing_ = error.message;
  log::error("store: {}", error.text());
  status_.with([&](Status& status) { status.message = error.text(); });
}

void Worker::note_success() {
  if (failing_.empty()) return;
  failing_.clear();
  log::info("store: works again");
  status_.with([&](Status& status) { status.message = notice_; });
}

}  // namespace mcpx::store
