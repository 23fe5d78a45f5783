#include "log/log.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "base/redact.hpp"

namespace mcpx::log {
namespace {

// Logs to a file of its own and hands out what was written.
class LogFile {
 public:
  explicit LogFile(Level level, Format format) {
    std::string pattern = (std::filesystem::temp_directory_path() / "mcpx-log-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    configure({level, format, (directory_ / "log").string()});
  }
  ~LogFile() {
    set_redactor(nullptr);
    std::filesystem::remove_all(directory_);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  std::string text() const {
    std::ifstream stream(directory_ / "log", std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  }
  std::filesystem::path directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("lines below the level are not written, and not even formatted") {
  const LogFile file(Level::warning, Format::human);
  info("not this {}", 1);
  warning("but this {}", 2);
  error("and this {}", 3);
  CHECK_FALSE(enabled(Level::info));
  CHECK(enabled(Level::error));
  CHECK_FALSE(holds(file.text(), "not this"));
  CHECK(holds(file.text(), "warning but this 2\n"));
  CHECK(holds(file.text(), "and this 3\n"));
}

TEST_CASE(
    "configured again, the log goes on under the same name or another, or stays where it is") {
  const LogFile file(Level::info, Format::human);
  const std::string path = (file.directory() / "log").string();
  info("one");
  std::filesystem::rename(path, path + ".1");
  configure({Level::info, Format::json, path});
  info("two");
  CHECK_FALSE(holds(file.text(), "one"));
  CHECK(holds(file.text(), R"("message":"two"})"));
  configure({Level::error, Format::human, (file.directory() / "log/no").string()});
  info("three");
  error("four");
  CHECK(holds(file.text(), "the log stays where it is"));
  CHECK_FALSE(holds(file.text(), "three"));
  CHECK(holds(file.text(), "four"));
}

TEST_CASE("C71: no secret reaches a line, in either format") {
  for (const Format format : {Format::human, Format::json}) {
    const LogFile file(Level::debug, format);
    set_redactor(std::make_shared<const Redactor>(std::vector<std::string>{"hunter2", "to\"ken"}));
    debug("the password is {} and the token {}", "hunter2", "to\"ken");
    error("hunter2");
    CHECK_FALSE(holds(file.text(), "hunter2"));
    CHECK_FALSE(holds(file.text(),
                      "ken"
                      "\""));
    CHECK(holds(file.text(), "the password is [redacted] and the token"));
  }
}

TEST_CASE("what a peer sent cannot forge a line or command a terminal") {
  const LogFile file(Level::info, Format::human);
  info("said {}", "a\n2026-01-01 error forged\x1b[2J\xff");
  const std::string text = file.text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(holds(text, "said a\\n2026-01-01 error forged\\u001b[2J\xef\xbf\xbd\n"));
}

TEST_CASE("a JSON line is one object with time, level and message") {
  const LogFile file(Level::info, Format::json);
  info("q\" b\\ n\n t\t u\xc3\xa9 x\xc3");
  const std::string text = file.text();
  CHECK(text.rfind("{\"time\":\"", 0) == 0);
  CHECK(holds(text, R"("level":"info","message":"q\" b\\ n\n t\u0009 u)"
                    "\xc3\xa9 x\xef\xbf\xbd\"}\n"));
}

TEST_CASE("a log file that cannot be opened does not end the program") {
  const LogFile file(Level::info, Format::human);
  configure({Level::info, Format::human, file.directory().string()});
  info("still here");
  CHECK(holds(file.text(), "still here"));
}

}  // namespace
}  // namespace mcpx::log
