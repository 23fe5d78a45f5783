// A state directory that goes away, and a store in it, for tests.
#pragma once

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "store/store.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::store::test {

namespace fs = std::filesystem;
using mcpx::test::on_shard;
using runtime::Shard;

constexpr Milliseconds kPatience(60'000);  // for what must happen; a busy machine is slow

class Directory {
 public:
  Directory() {
    std::string name = (fs::temp_directory_path() / "mcpx-store-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::string path() const { return path_.string(); }
  std::string file(const std::string& name = "mcpx.db") const { return (path_ / name).string(); }

  // The files whose names begin with `start`.
  std::vector<std::string> names(const std::string& start) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename().string();
      if (name.substr(0, start.size()) == start) found.push_back(name);
    }
    return found;
  }

 private:
  fs::path path_;
};

inline Options options(const std::string& state_dir) {
  Options made;
  made.state_dir = state_dir;
  made.read_timeout = kPatience;
  made.write_timeout = kPatience;
  return made;
}

// Runs `body` on a shard with a store in `state_dir`, then closes the store.
using Body = std::function<Task<void>(Store&)>;

inline Task<void> run_with_store(Shard&, Options with, Body body) {
  std::unique_ptr<Store> store = Store::open(std::move(with));
  const Status status = co_await store->opened(kPatience);
  REQUIRE(status.state != State::opening);
  Task<void> task = body(*store);
  co_await std::move(task);
  co_await store->close(Clock::now() + kPatience);
}

inline void with_store(Options with, const Body& body) {
  on_shard([&](Shard& shard) { return run_with_store(shard, std::move(with), body); });
}

inline Task<void> nothing(Store&) {
  co_return;
}

inline Status open_and_close(const std::string& state_dir) {
  Status status;
  const Body body = [&status](Store& store) {
    status = store.status();
    return nothing(store);
  };
  with_store(options(state_dir), body);
  return status;
}

inline Task<void> put_era_body(Store& store, std::string digest) {
  EraRow row(digest, "server-" + digest, "modern", "2026-07-28", 1);
  const Result<void> put = co_await store.eras().put(std::move(row));
  REQUIRE(put.has_value());
}

inline void put_era(const std::string& state_dir, const std::string& digest) {
  with_store(options(state_dir), [&](Store& store) { return put_era_body(store, digest); });
}

inline Task<void> has_era_body(Store& store, std::string digest, bool& found) {
  const Result<std::optional<EraRow>> row = co_await store.eras().find(digest);
  REQUIRE(row.has_value());
  found = row->has_value();
}

inline bool has_era(const std::string& state_dir, const std::string& digest) {
  bool found = false;
  const Body body = [&](Store& store) { return has_era_body(store, digest, found); };
  with_store(options(state_dir), body);
  return found;
}

inline unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  REQUIRE(file.flush().good());
}

// Runs SQL on a file as another program would.
inline void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  REQUIRE(::sqlite3_open(path.c_str(), &handle) == SQLITE_OK);
  char* message = nullptr;
  const int code = ::sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message);
  INFO((message ? message : "") << " in: " << sql);
  ::sqlite3_free(message);
  ::sqlite3_close(handle);
  REQUIRE(code == SQLITE_OK);
}

}  // namespace mcpx::store::test
