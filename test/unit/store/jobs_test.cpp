// The queue: many shards, bounds, failures within a batch, and the end.
#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "store/database.hpp"
#include "unit/store/harness.hpp"

namespace mcpx::store {
namespace {

using namespace test;

constexpr std::size_t kShards = 4;
constexpr std::size_t kJobs = 2500;  // per shard
constexpr std::size_t kAtOnce = 50;  // coroutines per shard

// Stops the store's thread inside a job until told to go on.
class Gate {
 public:
  Result<void> pass() {
    std::unique_lock lock(mutex_);
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    return {};
  }
  void wait_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  bool open_ = false;
};

Task<void> write_some(Store& store, std::string prefix, std::size_t count,
                      std::atomic<std::size_t>& good) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::string key = prefix + std::to_string(i);
    const Result<void> put = co_await store.eras().put(EraRow(key, key, "modern", "r", 1));
    const Result<std::optional<EraRow>> row = co_await store.eras().find(key);
    // Answered on the shard that asked, and a write is seen by the read that follows it.
    if (put && row && *row && (*row)->digest == key) ++good;
  }
}

TEST_CASE("store: ten thousand writes from four shards all arrive") {
  Directory directory;
  std::atomic<std::size_t> good = 0;
  {
    const std::unique_ptr<Store> store = Store::open(options(directory.path()));
    std::vector<std::unique_ptr<Shard>> shards;
    for (std::size_t i = 0; i < kShards; ++i)
      shards.push_back(std::make_unique<Shard>(i));
    std::vector<std::unique_ptr<runtime::TaskGroup>> groups;
    for (const auto& shard : shards) {
      groups.push_back(std::make_unique<runtime::TaskGroup>(*shard));
      for (std::size_t task = 0; task < kAtOnce; ++task) {
        const std::string prefix =
            std::to_string(shard->index()) + "-" + std::to_string(task) + "-";
        groups.back()->spawn("write", write_some(*store, prefix, kJobs / kAtOnce, good));
      }
      shard->start();
      shard->finish();
    }
    for (const auto& shard : shards)
      shard->join();
  }
  CHECK(good == kShards * kJobs);
  const auto database = Database::open(directory.file());
  REQUIRE(database.has_value());
  const auto count = (*database)->number("SELECT count(*) FROM eras");
  REQUIRE(count.has_value());
  CHECK(*count == kShards * kJobs);
}

Task<void> failing_body(Store& store, Gate& gate) {
  store.post([&gate](Database&) { return gate.pass(); });
  gate.wait_reached();
  // These three queue up behind the gate, so they are done in one transaction.
  runtime::TaskGroup group(Shard::current());
  std::atomic<std::size_t> good = 0;
  group.spawn("first", write_some(store, "first", 1, good));
  Result<void> failed = Error("unset", "");
  const auto half = [](Database& database) -> Result<void> {
    const Result<void> half_done =
        database.execute("INSERT INTO eras VALUES ('half', 's', 'e', 'r', 1)");
    if (!half_done) return half_done;
    return database.execute("INSERT INTO eras VALUES ('half', 's', 'e', 'r', 'no number')");
  };
  group.spawn("last", write_some(store, "last", 1, good));
  store.post([&gate](Database&) { return gate.pass(); });  // open by then
  const std::function<Result<void>(Database&)> work = half;
  gate.open();
  failed = co_await store.write(work);
  co_await group.join();
  CHECK_FALSE(failed.has_value());
  CHECK(good == 2);
  const auto row = co_await store.eras().find("half");
  CHECK((row.has_value() && !row->has_value()));
  CHECK_FALSE(failed.error().message.empty());
}

TEST_CASE("store: a job that fails undoes itself and nothing of the others") {
  Directory directory;
  Gate gate;
  with_store(options(directory.path()), [&](Store& store) { return failing_body(store, gate); });
}

Task<void> status_body(Store& store) {
  const std::function<Result<void>(Database&)> bad = [](Database& database) {
    return database.execute("INSERT INTO no_such_table VALUES (1)");
  };
  const Result<void> failed = co_await store.write(bad);
  REQUIRE_FALSE(failed.has_value());
  CHECK(store.status().state == State::disk);
  CHECK(store.status().message.find("no_such_table") != std::string::npos);
  const Result<void> put = co_await store.eras().put(EraRow("d", "s", "modern", "", 1));
  REQUIRE(put.has_value());
  CHECK(store.status().message.empty());
}

TEST_CASE("store: the status tells of a failure until it works again") {
  Directory directory;
  with_store(options(directory.path()), status_body);
}

Task<void> full_body(Store& store, Gate& gate) {
  store.post([&gate](Database&) { return gate.pass(); });
  gate.wait_reached();
  for (int i = 0; i < 2; ++i)
    store.children().save(ChildRow("s", 1, i, "boot"));
  const Result<void> refused = co_await store.eras().put(EraRow("d", "s", "modern", "", 1));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == "store.overloaded");
  gate.open();
  const auto rows = co_await store.children().all();
  // Refused as well while the two are still queued; then they are there.
  if (!rows) CHECK(rows.error().code == "store.overloaded");
}

TEST_CASE("store: a full queue refuses, and keeps what it has taken") {
  Directory directory;
  Gate gate;
  Options with = options(directory.path());
  with.queue_jobs = 2;
  with_store(with, [&](Store& store) { return full_body(store, gate); });
  const auto database = Database::open(directory.file());
  REQUIRE(database.has_value());
  const auto count = (*database)->number("SELECT count(*) FROM children");
  REQUIRE(count.has_value());
  CHECK(*count == 2);
}

Task<void> heavy_body(Store& store, Gate& gate) {
  store.post([&gate](Database&) { return gate.pass(); });
  gate.wait_reached();
  runtime::TaskGroup group(Shard::current());
  std::atomic<std::size_t> good = 0;
  const CatalogueRow large("large", "d", "{}", std::string(2000, 'x'), 1);
  const auto put_large = [](Store& into, CatalogueRow row,
                            std::atomic<std::size_t>& count) -> Task<void> {
    const Result<void> put = co_await into.catalogues().put(std::move(row));
    if (put) ++count;
  };
  group.spawn("first", put_large(store, large, good));
  group.spawn("second", put_large(store, large, good));
  runtime::Timer turn(Shard::current());
  while (group.size() == 2) {
    co_await turn.sleep_for(Milliseconds(1));  // until the second was refused
  }
  gate.open();
  co_await group.join();
  CHECK(good == 1);
}

TEST_CASE("store: the bytes that wait are bounded, but one large job always passes") {
  Directory directory;
  Gate gate;
  Options with = options(directory.path());
  with.queue_bytes = 1000;
  with_store(with, [&](Store& store) { return heavy_body(store, gate); });
}

Task<void> slow_body(Store& store, Gate& gate) {
  const std::function<Result<void>(Database&)> stuck = [&gate](Database&) { return gate.pass(); };
  const Result<void> slow = co_await store.write(stuck);
  gate.open();
  REQUIRE_FALSE(slow.has_value());
  CHECK(slow.error().code == "store.slow");
}

TEST_CASE("store: a disk that hangs does not hang who asks") {
  Directory directory;
  Gate gate;
  Options with = options(directory.path());
  with.write_timeout = Milliseconds(50);
  with_store(with, [&](Store& store) { return slow_body(store, gate); });
}

// Files of this process can grow to `bytes` only, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limited = {bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limited) == 0);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

Task<void> full_disk_body(Store& store) {
  const Result<void> first = co_await store.eras().put(EraRow("d1", "s1", "modern", "", 1));
  REQUIRE(first.has_value());
  {
    const FullDisk full(fs::file_size(store.status().path + "-wal"));
    const Result<void> refused = co_await store.catalogues().put(
        CatalogueRow("large", "d", "{}", std::string(1 << 20, 'x'), 1));
    CHECK_FALSE(refused.has_value());
    CHECK_FALSE(store.status().message.empty());
    const auto row = co_await store.eras().find("d1");
    CHECK((row.has_value() && row->has_value()));
  }
  const Result<void> again = co_await store.eras().put(EraRow("d2", "s2", "modern", "", 1));
  CHECK(again.has_value());
  CHECK(store.status().message.empty());
}

TEST_CASE("store: a full disk refuses writes, loses nothing acknowledged, and may recover") {
  Directory directory;
  with_store(options(directory.path()), full_disk_body);
  CHECK(has_era(directory.path(), "d1"));
  CHECK(has_era(directory.path(), "d2"));
}

TEST_CASE("store: without space for a new file it works in memory") {
  Directory directory;
  const FullDisk full(100);
  Status status;
  const Body body = [&status](Store& store) {
    status = store.status();
    return put_era_body(store, "d1");
  };
  with_store(options(directory.path()), body);
  CHECK(status.state == State::memory);
  CHECK_FALSE(status.message.empty());
}

Task<void> close_body(Shard&, std::string path, Gate& gate) {
  const std::unique_ptr<Store> store = Store::open(options(path));
  store->post([&gate](Database&) { return gate.pass(); });
  gate.wait_reached();
  for (int i = 0; i < 1000; ++i)
    store->children().save(ChildRow("s", 1, i, "boot"));
  gate.open();
  co_await store->close(Clock::now() + kPatience);
  const Result<void> late = co_await store->eras().put(EraRow("d", "s", "modern", "", 1));
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().code == "store.closed");
}

TEST_CASE("store: closing does what is queued and refuses what comes") {
  Directory directory;
  Gate gate;
  on_shard([&](Shard& shard) { return close_body(shard, directory.path(), gate); });
  const auto database = Database::open(directory.file());
  REQUIRE(database.has_value());
  const auto count = (*database)->number("SELECT count(*) FROM children");
  REQUIRE(count.has_value());
  CHECK(*count == 1000);
}

Task<void> stuck_close_body(Shard&, std::string path, std::shared_ptr<Gate> gate) {
  const std::unique_ptr<Store> store = Store::open(options(path));
  store->post([gate](Database&) { return gate->pass(); });
  gate->wait_reached();
  co_await store->close(Clock::now() + Milliseconds(50));
}

TEST_CASE("store: closing does not wait for a disk that hangs") {
  Directory directory;
  const auto gate = std::make_shared<Gate>();
  on_shard([&](Shard& shard) { return stuck_close_body(shard, directory.path(), gate); });
  gate->open();
  // The thread that was left to itself ends, and lets go of the directory.
  const TimePoint patience = Clock::now() + kPatience;
  Status status;
  do {
    status = open_and_close(directory.path());
  } while (status.state != State::disk && Clock::now() < patience);
  CHECK(status.state == State::disk);
}

Task<void> durable_body(Store& store) {
  const std::function<Result<std::int64_t>(Database&)> level = [](Database& database) {
    return database.number("PRAGMA synchronous");
  };
  const std::function<Result<void>(Database&)> insert = [](Database& database) {
    return database.execute("INSERT OR REPLACE INTO eras VALUES ('d', 's', 'e', 'r', 1)");
  };
  const Result<void> cheap = co_await store.write(insert, 0, Durability::crash);
  REQUIRE(cheap.has_value());
  const auto normal = co_await store.read<std::int64_t>(level);
  REQUIRE(normal.has_value());
  CHECK(*normal == 1);
  const Result<void> durable = co_await store.write(insert, 0, Durability::power);
  REQUIRE(durable.has_value());
  const auto full = co_await store.read<std::int64_t>(level);
  REQUIRE(full.has_value());
  CHECK(*full == 2);
}

TEST_CASE("store: a durable write is committed with synchronous FULL") {
  Directory directory;
  with_store(options(directory.path()), durable_body);
}

}  // namespace
}  // namespace mcpx::store
