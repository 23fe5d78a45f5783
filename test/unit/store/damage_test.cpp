// Files that cannot be used: set aside whole, never deleted or overwritten, and never in the way.
#include <algorithm>

#include "unit/store/harness.hpp"

namespace mcpx::store {
namespace {

using namespace test;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A store with enough rows that its file has many pages.
void fill(const std::string& path) {
  put_era(path, "d1");
  run_sql(path + "/mcpx.db",
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
          "INSERT INTO catalogues SELECT 'server' || i, 'd', '{}', hex(randomblob(2000)), 1 "
          "FROM n;");
}

struct Damage {
  const char* name;
  void (*make)(const Directory& directory);
};

void truncate_to(const Directory& directory, std::uintmax_t percent) {
  const std::uintmax_t size = fs::file_size(directory.file());
  fs::resize_file(directory.file(), size * percent / 100);
}

void overwrite(const Directory& directory, std::size_t offset, const std::string& with) {
  std::string bytes = read_file(directory.file());
  REQUIRE(bytes.size() > offset + with.size());
  bytes.replace(offset, with.size(), with);
  write_file(directory.file(), bytes);
}

const Damage kDamages[] = {
    {"a header that is no header",
     [](const Directory& d) { overwrite(d, 0, std::string(16, 'x')); }},
    {"a page size that cannot be", [](const Directory& d) { overwrite(d, 16, "\x07\x07"); }},
    {"truncated in the middle", [](const Directory& d) { truncate_to(d, 50); }},
    {"truncated within its first page",
     [](const Directory& d) { fs::resize_file(d.file(), 1000); }},
    {"truncated within its header", [](const Directory& d) { fs::resize_file(d.file(), 20); }},
    {"a page of rubbish",
     [](const Directory& d) { overwrite(d, 3 * 4096, std::string(4096, '\xff')); }},
    {"a schema of rubbish",
     [](const Directory& d) { overwrite(d, 100, std::string(3000, '\x5a')); }},
    {"text instead of a database",
     [](const Directory& d) { write_file(d.file(), "see you tomorrow\n"); }},
    {"emptied, with its log still there",
     [](const Directory& d) {
       fs::resize_file(d.file(), 0);
       write_file(d.file("mcpx.db-wal"), std::string(5000, 'w'));
     }},
    {"a database of another program",
     [](const Directory& d) { run_sql(d.file(), "PRAGMA application_id = 7"); }},
    {"a database of nobody in particular",
     [](const Directory& d) {
       fs::remove(d.file());
       run_sql(d.file(), "CREATE TABLE precious (x)");
     }},
    {"a schema number without its tables",
     [](const Directory& d) { run_sql(d.file(), "PRAGMA user_version = 1"); }},
};

TEST_CASE("store: a file that cannot be used is set aside whole, and a new one is made") {
  for (const Damage& damage : kDamages) {
    DYNAMIC_SECTION(damage.name) {
      Directory directory;
      fill(directory.path());
      damage.make(directory);
      const std::string bytes = read_file(directory.file());
      Status status;
      const Body body = [&status](Store& store) {
        status = store.status();
        return put_era_body(store, "d2");
      };
      with_store(options(directory.path()), body);
      CHECK(status.state == State::disk);
      INFO(status.message);
      const auto aside = directory.names("mcpx.db.corrupt-");
      REQUIRE_FALSE(aside.empty());
      const std::string name = *std::min_element(aside.begin(), aside.end());
      CHECK(contains(status.message, name));
      CHECK(read_file(directory.file(name)) == bytes);
      CHECK(has_era(directory.path(), "d2"));
      CHECK_FALSE(has_era(directory.path(), "d1"));
      CHECK(directory.names("mcpx.db.corrupt-").size() == aside.size());
    }
  }
}

TEST_CASE("store: the log of a damaged file goes with it, under the same name") {
  Directory directory;
  fill(directory.path());
  write_file(directory.file(), "rubbish");
  write_file(directory.file("mcpx.db-wal"), "its log");
  write_file(directory.file("mcpx.db-shm"), "its index");
  REQUIRE(open_and_close(directory.path()).state == State::disk);
  auto aside = directory.names("mcpx.db.corrupt-");
  std::sort(aside.begin(), aside.end());
  REQUIRE(aside.size() == 3);
  CHECK(read_file(directory.file(aside[0])) == "rubbish");
  CHECK(aside[1] == aside[0] + "-shm");
  CHECK(aside[2] == aside[0] + "-wal");
  CHECK(read_file(directory.file(aside[2])) == "its log");
}

TEST_CASE("store: several damaged files in one second are all kept") {
  Directory directory;
  for (const char* text : {"first", "second", "third"}) {
    write_file(directory.file(), text);
    REQUIRE(open_and_close(directory.path()).state == State::disk);
  }
  std::vector<std::string> contents;
  for (const std::string& name : directory.names("mcpx.db.corrupt-"))
    contents.push_back(read_file(directory.file(name)));
  std::sort(contents.begin(), contents.end());
  CHECK(contents == std::vector<std::string>{"first", "second", "third"});
}

TEST_CASE("store: something that is no file is set aside too") {
  Directory directory;
  fs::create_directory(directory.file());
  const Status status = open_and_close(directory.path());
  CHECK(status.state == State::disk);
  const auto aside = directory.names("mcpx.db.corrupt-");
  REQUIRE(aside.size() == 1);
  CHECK(fs::is_directory(directory.file(aside.front())));
}

TEST_CASE("store: an empty file is a new one") {
  Directory directory;
  write_file(directory.file(), "");
  const Status status = open_and_close(directory.path());
  CHECK(status.state == State::disk);
  CHECK(status.message.empty());
  CHECK(directory.names("mcpx.db.corrupt-").empty());
}

}  // namespace
}  // namespace mcpx::store
