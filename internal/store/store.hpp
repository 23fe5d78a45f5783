// Store: what mcpx remembers across restarts, in one SQLite file behind a thread of its own.
//
//   auto store = store::Store::open(options);         // returns at once
//   co_await store->opened(2s);                       // as long as start-up may wait for a disk
//   auto row = co_await store->eras().find(digest);   // from any shard
//   co_await store->close(deadline);
//
// Opening never fails and never blocks: a damaged file is set aside and a new one made; where even
// that is impossible (no space, read-only, another daemon has the directory, a file of a newer
// mcpx) the store works in memory and its status says why. Reads and writes are jobs in a bounded
// queue; the thread does what has queued up in one transaction and answers when it is committed.
// The store logs its own failures, so a caller may go on without what it could not read or keep.
// Errors: store.failed, store.damaged, store.overloaded, store.slow, store.closed.
// Thread: open() startup; the rest any shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"
#include "runtime/timer.hpp"
#include "store/catalogues.hpp"
#include "store/children.hpp"
#include "store/eras.hpp"
#include "store/questions.hpp"
#include "store/seals.hpp"
#include "store/sessions.hpp"
#include "store/tasks.hpp"

namespace mcpx::store {

class Database;
class Worker;

enum class State : std::uint8_t { opening, disk, memory };
std::string_view text(State state);

struct Status {
  std::string path;  // of the file; empty when none is configured
  State state = State::opening;
  std::string message;  // why in memory, what was set aside, or what failed last; may be empty
};

struct Options {
  std::string state_dir;  // empty: in memory, without a warning
  std::size_t queue_jobs = 4096;
  std::size_t queue_bytes = 64u << 20;
  // A disk that hangs must not hang who asks; what a read would have told can be learned anew.
  Milliseconds read_timeout{2'000};
  Milliseconds write_timeout{10'000};
};

// What an acknowledged write survives: a crash of mcpxd (cheap), or a power cut too (one fsync,
// shared by all that are committed together).
enum class Durability : std::uint8_t { crash, power };

class Store {
 public:
  static std::unique_ptr<Store> open(Options options);
  ~Store();  // closes, and waits for that, if close() was not called
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Waits until it is decided where the store is, but no longer than `at_most`.
  Task<Status> opened(Milliseconds at_most);
  Status status() const;

  Eras& eras() { return eras_; }
  Catalogues& catalogues() { return catalogues_; }
  Children& children() { return children_; }
  Sessions& sessions() { return sessions_; }
  Seals& seals() { return seals_; }
  Questions& questions() { return questions_; }
  Tasks& tasks() { return tasks_; }
  // Drops what is known of servers that are not in `servers`.
  Task<Result<void>> keep_only(std::vector<std::string> servers);

  // Does what is queued, refuses what comes, moves the log into the file. At the deadline it leaves
  // the thread to itself: then what was not acknowledged may be lost.
  Task<void> close(TimePoint deadline);

  // For the repositories. `work` runs on the store's thread.
  template <class T>
  Task<Result<T>> read(std::function<Result<T>(Database&)> work) {
    return ask<T>(Kind::read, std::move(work), 0, options_.read_timeout);
  }
  template <class T>
  Task<Result<T>> read_patiently(std::function<Result<T>(Database&)> work) {
    return ask<T>(Kind::read, std::move(work), 0, options_.write_timeout);
  }
  Task<Result<void>> write(std::function<Result<void>(Database&)> work, std::size_t bytes = 0,
                           Durability durability = Durability::crash);
  // The same for who cannot wait that long; the write may still come about.
  Task<Result<void>> write_within(Milliseconds at_most, std::function<Result<void>(Database&)> work,
                                  std::size_t bytes);
  void post(std::function<Result<void>(Database&)> work);  // a write nobody waits for

 private:
  explicit Store(Options options);

  using Work = std::function<Result<void>(Database&)>;
  using Done = std::function<void(const Result<void>&)>;
  enum class Kind : std::uint8_t { read, write, durable_write };

  template <class T>
  struct Pending {
    explicit Pending(runtime::Shard& origin_in) : origin(origin_in) {}
    runtime::Shard& origin;
    std::optional<T> value;  // of the work, until it is committed
    runtime::OneShot<Result<T>> answer;
  };

  Task<Result<void>> ask_write(Kind kind, std::function<Result<void>(Database&)> work,
                               std::size_t bytes, Milliseconds at_most);
  template <class T>
  Task<Result<T>> ask(Kind kind, std::function<Result<T>(Database&)> work, std::size_t bytes,
                      Milliseconds at_most);
  template <class T>
  static Task<Result<T>> wait(std::shared_ptr<Pending<T>> pending, Milliseconds at_most);
  // `done` is called once, on the store's thread, unless this answers an error.
  Result<void> submit(Kind kind, std::size_t bytes, Work work, Done done);
  static Error slow();

  const Options options_;
  std::shared_ptr<Worker> worker_;
  Eras eras_{*this};
  Catalogues catalogues_{*this};
  Children children_{*this};
  Sessions sessions_{*this};
  Seals seals_{*this};
  Questions questions_{*this};
  Tasks tasks_{*this};
};

template <class T>
Task<Result<T>> Store::wait(std::shared_ptr<Pending<T>> pending, Milliseconds at_most) {
  runtime::Watchdog late(pending->origin, [raw = pending.get()] { raw->answer.set(slow()); });
  late.set(Clock::now() + at_most);
  Result<T> answer = co_await pending->answer.wait();
  co_return answer;
}

template <class T>
Task<Result<T>> Store::ask(Kind kind, std::function<Result<T>(Database&)> work, std::size_t bytes,
                           Milliseconds at_most) {
  auto pending = std::make_shared<Pending<T>>(runtime::Shard::current());
  Work job = [pending, work = std::move(work)](Database& database) -> Result<void> {
    Result<T> got = work(database);
    if (!got) return got.error();
    pending->value.emplace(std::move(*got));
    return {};
  };
  Done done = [pending](const Result<void>& outcome) {
    auto answer = outcome ? std::make_shared<Result<T>>(std::move(*pending->value))
                          : std::make_shared<Result<T>>(outcome.error());
    pending->origin.post([pending, answer] { pending->answer.set(std::move(*answer)); });
  };
  const Result<void> queued = submit(kind, bytes, std::move(job), std::move(done));
  if (!queued) co_return queued.error();
  Result<T> answer = co_await wait<T>(std::move(pending), at_most);
  co_return answer;
}

}  // namespace mcpx::store
