#include "log/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdio>

#include "base/redact.hpp"

namespace mcpx::log {
namespace {

spdlog::level::level_enum native(Level level) {
  switch (level) {
    case Level::trace: return spdlog::level::trace;
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warning: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
    case Level::off: return spdlog::level::off;
  }
  return spdlog::level::info;
}

// The one place with process-wide state: a log has no owner to be handed down from.
struct State {
  std::shared_ptr<spdlog::logger> logger = spdlog::stderr_color_mt("mcpx");
  std::atomic<Level> level{Level::info};
  std::atomic<Format> format{Format::human};
  std::shared_ptr<const Redactor> redactor;  // read and swapped with std::atomic_load/store
};

State& state() {
  static State instance;
  return instance;
}

// JSON string content: quotes, backslashes and control characters escaped; bytes above 0x7f as is.
std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 8);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void configure(const Options& options) {
  State& s = state();
  if (!options.file.empty()) {
    s.logger = std::make_shared<spdlog::logger>(
        "mcpx", std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file));
  }
  s.level = options.level;
  s.format = options.format;
  s.logger->set_level(native(options.level));
  s.logger->flush_on(spdlog::level::info);
  if (options.format == Format::json) {
    s.logger->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})");
  } else {
    s.logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%-7l%$ %v");
  }
}

void set_redactor(std::shared_ptr<const Redactor> redactor) {
  std::atomic_store(&state().redactor, std::move(redactor));
}

void shutdown() { spdlog::shutdown(); }

bool enabled(Level level) { return level >= state().level.load(std::memory_order_relaxed); }

void write(Level level, std::string_view message) {
  State& s = state();
  const auto redactor = std::atomic_load(&s.redactor);
  std::string text = redactor ? (*redactor)(message) : std::string(message);
  if (s.format == Format::json) text = "\"message\":\"" + escaped(text) + '"';
  s.logger->log(native(level), "{}", text);
}

}  // namespace mcpx::log
