// log: what the daemon tells its operator, one line per event.
//
// A line has a time, a level, a message and, while a request is being served, its request id. The
// sink (standard error or a file; human or JSON) is set at start-up and at each reload; every line
// passes through the Redactor in force, so a secret cannot be logged by accident. spdlog stays in
// log.cpp. Thread: any; configure() by one at a time, shutdown() startup.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mcpx {
class Redactor;
}

namespace mcpx::log {

enum class Level { trace, debug, info, warning, error, off };
enum class Format { human, json };

struct Options {
  Level level = Level::info;
  Format format = Format::human;
  std::string file;  // empty: standard error
};

// Before configure() lines go to standard error at level info. Opens the file anew, so that one
// that was moved away is left alone; one that does not open leaves the log where it is.
void configure(const Options& options);
void set_redactor(std::shared_ptr<const Redactor> redactor);
void shutdown();  // flushes; the last call of the process

bool enabled(Level level);
void write(Level level, std::string_view message);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::debug)) write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::info)) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::warning)) {
    write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(Level::error)) write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace mcpx::log
