#include "store/open.hpp"

#include <fmt/core.h>

#include <utility>

#include "log/log.hpp"
#include "store/migrations.hpp"

namespace mcpx::store {
namespace {

constexpr const char* kFreshRemark = "nothing is lost but what mcpx had remembered";

Error damaged(const std::string& file, const std::string& reason) {
  return Error("store.damaged", fmt::format("{} {}", file, reason));
}

// The schema version of a file that is ours, 0 of one that is new.
Result<std::int64_t> identify(Database& database, const std::string& file) {
  const Result<std::int64_t> application = database.number("PRAGMA application_id");
  if (!application) return application.error();
  const Result<std::int64_t> tables = database.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables.error();
  if (*application == 0 && *tables == 0) return 0;
  if (*application != kApplicationId) return damaged(file, "is a database of another program");
  Result<std::int64_t> version = database.number("PRAGMA user_version");
  if (version && *version > latest_schema()) {
    return Error("store.newer_schema",
                 fmt::format("{} was written by a newer mcpx (schema {}, this one knows {})", file,
                             *version, latest_schema()),
                 "install that version again, or move the file away");
  }
  return version;
}

Result<void> check(Database& database, const std::string& file) {
  const Result<std::string> verdict = database.word("PRAGMA quick_check(1)");
  if (!verdict) return verdict.error();
  if (*verdict != "ok") return damaged(file, "is damaged: " + *verdict);
  return {};
}

// A whole copy of the database as it was before a change of its schema.
Result<void> back_up(Database& database, const std::string& file, std::int64_t version,
                     Remarks& remarks) {
  const std::string copy = fmt::format("{}.schema-{}-{}", file, version, utc_stamp());
  if (Result<void> made = prepare_file(copy, remarks); !made) return made;
  Query query = database.query("VACUUM INTO ?1");
  Result<void> copied = query.bind(copy).run();
  if (!copied) {
    return Error("store.failed", fmt::format("no copy of {} before changing its schema: {}", file,
                                             copied.error().message));
  }
  remarks.push_back(fmt::format("schema {} of {} becomes {}; {} is how it was", version, file,
                                latest_schema(), copy));
  return {};
}

Result<void> configure(Database& database, const std::string& file) {
  const Result<std::string> mode = database.word("PRAGMA journal_mode = WAL");
  if (!mode) return mode.error();
  // Where memory cannot be shared (some network file systems) SQLite keeps its own journal, which
  // is slower and as safe.
  if (*mode != "wal") log::warning("store: {} has journal mode {}, not WAL", file, *mode);
  return database.execute("PRAGMA journal_size_limit = 4194304; PRAGMA foreign_keys = ON;");
}

Result<std::unique_ptr<Database>> open_file(const std::string& file, Remarks& remarks) {
  if (Result<void> prepared = prepare_file(file, remarks); !prepared) return prepared.error();
  Result<std::unique_ptr<Database>> database = Database::open(file);
  if (!database) return database;
  const Result<std::int64_t> version = identify(**database, file);
  if (!version) return version.error();
  if (Result<void> checked = check(**database, file); !checked) return checked.error();
  if (Result<void> configured = configure(**database, file); !configured) {
    return configured.error();
  }
  if (*version > 0 && *version < latest_schema()) {
    Result<void> copied = back_up(**database, file, *version, remarks);
    if (!copied) return copied.error();
  }
  if (Result<void> migrated = migrate(**database, *version); !migrated) return migrated.error();
  (*database)->adopt();
  return database;
}

// Once more with a fresh file, if the file is what is wrong.
Result<std::unique_ptr<Database>> open_or_replace(const std::string& file, std::string& notice,
                                                  Remarks& remarks) {
  Result<std::unique_ptr<Database>> database = open_file(file, remarks);
  if (database || database.error().code != "store.damaged") return database;
  const Error reason = database.error();
  const Result<std::string> aside = set_aside(file);
  if (!aside) {
    return Error(aside.error().code, fmt::format("{}; {}", reason.message, aside.error().message),
                 aside.error().remedy);
  }
  notice = fmt::format("{}; it is kept as {}, and a new one was made: {}", reason.message, *aside,
                       kFreshRemark);
  log::warning("store: {}", notice);
  return open_file(file, remarks);
}

struct OnDisk {
  DirectoryLock lock;
  std::unique_ptr<Database> database;
  std::string file;
  std::string notice;
};

Result<OnDisk> open_on_disk(const std::string& state_dir) {
  Remarks remarks;
  const Result<std::string> directory = prepare_directory(state_dir, remarks);
  if (!directory) return directory.error();
  Result<DirectoryLock> lock = lock_directory(*directory);
  if (!lock) return lock.error();
  OnDisk opened;
  opened.file = *directory + "/" + kDatabaseName;
  Result<std::unique_ptr<Database>> database = open_or_replace(opened.file, opened.notice, remarks);
  for (const std::string& remark : remarks)
    log::warning("store: {}", remark);
  if (!database) return database.error();
  opened.lock = std::move(*lock);
  opened.database = std::move(*database);
  return opened;
}

}  // namespace

Opened open_store(const std::string& state_dir) {
  Opened opened;
  opened.status.state = State::memory;
  opened.status.message = "no state directory is configured";
  if (!state_dir.empty()) {
    Result<OnDisk> disk = open_on_disk(state_dir);
    if (disk) {
      opened.lock = std::move(disk->lock);
      opened.database = std::move(disk->database);
      opened.status = Status{std::move(disk->file), State::disk, std::move(disk->notice)};
      return opened;
    }
    opened.status.path = state_dir + "/" + kDatabaseName;
    opened.status.message = disk.error().text();
    log::warning("store: {}; what mcpx learns is kept in memory only", opened.status.message);
  }
  Result<std::unique_ptr<Database>> memory = Database::in_memory();
  if (!memory) return opened;
  if (Result<void> made = migrate(**memory, 0); made) opened.database = std::move(*memory);
  return opened;
}

}  // namespace mcpx::store
