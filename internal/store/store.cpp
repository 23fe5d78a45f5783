#include "store/store.hpp"

#include <algorithm>
#include <array>

#include "log/log.hpp"
#include "store/database.hpp"
#include "store/worker.hpp"

namespace mcpx::store {
namespace {

struct PrunedTable {
  const char* select;
  const char* remove;
};
constexpr std::array kPruned = {
    PrunedTable{"SELECT DISTINCT server FROM eras", "DELETE FROM eras WHERE server = ?1"},
    PrunedTable{"SELECT server FROM catalogues", "DELETE FROM catalogues WHERE server = ?1"},
};

Result<void> prune(Database& database, const PrunedTable& table,
                   const std::vector<std::string>& servers) {
  std::vector<std::string> gone;
  {
    Query known = database.query(table.select);
    while (true) {
      const Result<bool> found = known.step();
      if (!found) return found.error();
      if (!*found) break;
      std::string server = known.text(0);
      const bool kept = std::find(servers.begin(), servers.end(), server) != servers.end();
      if (!kept) gone.push_back(std::move(server));
    }
  }
  for (const std::string& server : gone) {
    Result<void> removed = database.query(table.remove).bind(server).run();
    if (!removed) return removed;
  }
  return {};
}

}  // namespace

std::string_view text(State state) {
  switch (state) {
    case State::opening:
      return "opening";
    case State::disk:
      return "disk";
    case State::memory:
      return "memory";
  }
  return "";
}

std::unique_ptr<Store> Store::open(Options options) {
  return std::unique_ptr<Store>(new Store(std::move(options)));
}

Store::Store(Options options)
    : options_(std::move(options)),
      worker_(Worker::start(options_.state_dir, options_.queue_jobs, options_.queue_bytes)) {}

Store::~Store() {
  if (!worker_) return;
  worker_->finish(nullptr);
  worker_->join();
}

Task<Status> Store::opened(Milliseconds at_most) {
  // The first job is done when the file is open.
  std::function<Result<bool>(Database&)> nothing = [](Database&) { return Result<bool>(true); };
  const Result<bool> open = co_await ask<bool>(Kind::read, std::move(nothing), 0, at_most);
  Status now = status();
  if (!open && now.state == State::opening) {
    now.message = "the disk has not answered yet";
    log::warning("store: {} is not open yet; start-up goes on without it", now.path);
  }
  co_return now;
}

Status Store::status() const {
  return worker_ ? worker_->status() : Status();
}

Task<Result<void>> Store::keep_only(std::vector<std::string> servers) {
  return write([servers = std::move(servers)](Database& database) -> Result<void> {
    for (const PrunedTable& table : kPruned) {
      if (Result<void> pruned = prune(database, table, servers); !pruned) return pruned;
    }
    return {};
  });
}

Task<void> Store::close(TimePoint deadline) {
  if (!worker_) co_return;
  auto pending = std::make_shared<Pending<bool>>(runtime::Shard::current());
  worker_->finish([pending] { pending->origin.post([pending] { pending->answer.set(true); }); });
  const auto left = std::chrono::ceil<Milliseconds>(deadline - Clock::now());
  const Result<bool> closed = co_await wait<bool>(std::move(pending), left);
  if (closed) {
    worker_->join();
  } else {
    log::error("store: not closed in time; what was not yet written may be lost");
    worker_->abandon();
  }
  worker_.reset();
}

Task<Result<void>> Store::write(std::function<Result<void>(Database&)> work, std::size_t bytes,
                                Durability durability) {
  const Kind kind = durability == Durability::power ? Kind::durable_write : Kind::write;
  return ask_write(kind, std::move(work), bytes, options_.write_timeout);
}

Task<Result<void>> Store::write_within(Milliseconds at_most,
                                       std::function<Result<void>(Database&)> work,
                                       std::size_t bytes) {
  return ask_write(Kind::write, std::move(work), bytes, at_most);
}

Task<Result<void>> Store::ask_write(Kind kind, std::function<Result<void>(Database&)> work,
                                    std::size_t bytes, Milliseconds at_most) {
  std::function<Result<bool>(Database&)> job = [work = std::move(work)](Database& database) {
    const Result<void> done = work(database);
    return done ? Result<bool>(true) : Result<bool>(done.error());
  };
  const Result<bool> done = co_await ask<bool>(kind, std::move(job), bytes, at_most);
  if (!done) co_return done.error();
  co_return Result<void>();
}

void Store::post(std::function<Result<void>(Database&)> work) {
  const Result<void> queued = submit(Kind::write, 0, std::move(work), nullptr);
  if (!queued) log::warning("store: a write is dropped: {}", queued.error().text());
}

Result<void> Store::submit(Kind kind, std::size_t bytes, Work work, Done done) {
  Job job;
  job.writes = kind != Kind::read;
  job.durable = kind == Kind::durable_write;
  job.bytes = bytes;
  job.work = std::move(work);
  job.done = std::move(done);
  if (!worker_) return Error("store.closed", "the store is closed");
  return worker_->submit(std::move(job));
}

Error Store::slow() {
  return Error("store.slow", "the state directory's disk does not answer",
               "see whether it is full or failing, or set `state_dir` to another");
}

}  // namespace mcpx::store
