// Opening: the directory, modes, and what is told when the directory cannot be used.
#include <sys/file.h>

#include "unit/store/harness.hpp"

namespace mcpx::store {
namespace {

using namespace test;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Task<void> modes_body(Store& store, std::string path) {
  const Result<void> put = co_await store.eras().put(EraRow("d", "s", "modern", "", 1));
  REQUIRE(put.has_value());
  CHECK(mode_of(path) == 0700);
  for (const char* name : {"mcpx.db", "mcpx.db-wal", "mcpx.db-shm", "mcpx.lock"}) {
    INFO(name);
    CHECK(mode_of(path + "/" + name) == 0600);
  }
}

TEST_CASE("store: the directory is made 0700 and its files 0600, whatever the umask") {
  const mode_t before = ::umask(0);
  Directory directory;
  const std::string path = directory.file("a/b/state");
  with_store(options(path), [&](Store& store) { return modes_body(store, path); });
  ::umask(before);
  CHECK(mode_of(directory.file("a")) == 0700);
}

TEST_CASE("store: modes of an existing directory and its files are corrected") {
  Directory directory;
  put_era(directory.path(), "d1");
  REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
  REQUIRE(::chmod(directory.file().c_str(), 0644) == 0);
  CHECK(has_era(directory.path(), "d1"));
  CHECK(mode_of(directory.path()) == 0700);
  CHECK(mode_of(directory.file()) == 0600);
}

TEST_CASE("store: a directory that holds other things keeps its mode") {
  Directory directory;
  write_file(directory.file("notes.txt"), "somebody else's");
  REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
  const Status status = open_and_close(directory.path());
  CHECK(status.state == State::disk);
  CHECK(mode_of(directory.path()) == 0755);
  CHECK(mode_of(directory.file()) == 0600);
}

TEST_CASE("store: where no directory can be it works in memory and says why") {
  Directory directory;
  write_file(directory.file("file"), "");
  for (const char* place : {"file", "file/below"}) {
    DYNAMIC_SECTION(place) {
      const std::string path = directory.file(place);
      Status status;
      const Body body = [&status](Store& store) {
        status = store.status();
        return put_era_body(store, "d1");
      };
      with_store(options(path), body);
      CHECK(status.state == State::memory);
      CHECK(contains(status.message, path));
      CHECK(contains(status.message, "state_dir"));
    }
  }
}

TEST_CASE("store: where the lock cannot be made it works in memory") {
  Directory directory;
  fs::create_directory(directory.file("mcpx.lock"));
  const Status status = open_and_close(directory.path());
  CHECK(status.state == State::memory);
  CHECK(contains(status.message, "mcpx.lock"));
}

TEST_CASE("store: a directory reached by a symbolic link is used, a linked file is not") {
  Directory directory;
  fs::create_directory(directory.file("real"));
  fs::create_directory_symlink("real", directory.file("link"));
  const Status linked = open_and_close(directory.file("link"));
  CHECK(linked.state == State::disk);
  CHECK(fs::exists(directory.file("real/mcpx.db")));

  write_file(directory.file("victim"), "precious");
  fs::remove(directory.file("real/mcpx.db"));
  fs::create_symlink(directory.file("victim"), directory.file("real/mcpx.db"));
  const Status status = open_and_close(directory.file("real"));
  CHECK(status.state == State::disk);
  CHECK(contains(status.message, "is not an ordinary file"));
  CHECK(read_file(directory.file("victim")) == "precious");
}

Task<void> second_body(Store&, std::string path) {
  const std::unique_ptr<Store> second = Store::open(options(path));
  const Status status = co_await second->opened(kPatience);
  CHECK(status.state == State::memory);
  CHECK(contains(status.message, "process " + std::to_string(::getpid())));
  const Result<void> put = co_await second->eras().put(EraRow("d2", "s", "modern", "", 1));
  CHECK(put.has_value());
  co_await second->close(Clock::now() + kPatience);
}

TEST_CASE("store: a second one on the same directory works in memory and names the first") {
  Directory directory;
  put_era(directory.path(), "d1");
  with_store(options(directory.path()),
             [&](Store& store) { return second_body(store, directory.path()); });
  CHECK(has_era(directory.path(), "d1"));
  CHECK_FALSE(has_era(directory.path(), "d2"));
}

}  // namespace
}  // namespace mcpx::store
