#include "log/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "base/redact.hpp"

namespace mcpx::log {
namespace {

spdlog::level::level_enum native(Level level) {
  switch (level) {
    case Level::trace:
      return spdlog::level::trace;
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
    case Level::off:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

std::shared_ptr<spdlog::logger> make_logger(const std::string& file) {
  spdlog::sink_ptr sink;
  if (file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
  }
  return std::make_shared<spdlog::logger>("mcpx", std::move(sink));
}

// The one place with process-wide state: a log has no owner to be handed down from.
struct State {
  // Both read and swapped with std::atomic_load/store.
  std::shared_ptr<spdlog::logger> logger = make_logger("");
  std::shared_ptr<const Redactor> redactor;
  std::atomic<Level> level{Level::info};
  std::atomic<Format> format{Format::human};
};

State& state() {
  static State instance;
  return instance;
}

// Length of the UTF-8 sequence at the start of `text`; 0 when it is none.
std::size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// One event is one line, and a line says only what we wrote: what peers send is made harmless. Line
// ends and other control characters become escapes, bytes that are no UTF-8 become U+FFFD. In JSON
// quotes and backslashes are escaped too.
std::string escaped(std::string_view text, Format format) {
  std::string out;
  out.reserve(text.size() + 8);
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (format == Format::json && (byte == '"' || byte == '\\')) {
      out += '\\';
      out += text[0];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace

void configure(const Options& options) {
  State& s = state();
  std::string failure;
  std::shared_ptr<spdlog::logger> logger;
  try {
    logger = make_logger(options.file);
  } catch (const spdlog::spdlog_ex& error) {
    failure = error.what();
    logger = std::atomic_load(&s.logger);
  }
  logger->set_level(native(options.level));
  logger->flush_on(spdlog::level::info);
  if (options.format == Format::json) {
    logger->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})");
  } else {
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%-7l%$ %v");
  }
  s.level = options.level;
  s.format = options.format;
  std::atomic_store(&s.logger, std::move(logger));
  if (!failure.empty()) {
    error("the log stays where it is: {}; correct log.file or its permissions", failure);
  }
}

void set_redactor(std::shared_ptr<const Redactor> redactor) {
  std::atomic_store(&state().redactor, std::move(redactor));
}

void shutdown() {
  std::atomic_load(&state().logger)->flush();
  spdlog::shutdown();
}

bool enabled(Level level) {
  return level >= state().level.load(std::memory_order_relaxed);
}

void write(Level level, std::string_view message) {
  State& s = state();
  const auto redactor = std::atomic_load(&s.redactor);
  std::string text = redactor ? (*redactor)(message) : std::string(message);
  text = escaped(text, s.format);
  if (s.format == Format::json) text = "\"message\":\"" + text + '"';
  std::atomic_load(&s.logger)->log(native(level), "{}", text);
}

}  // namespace mcpx::log
