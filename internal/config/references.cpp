// What ${...} in a value stands for, and which values must never be shown.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>

#include "config/reader.hpp"

namespace mcpx::config {
namespace {

constexpr std::size_t kReferencedFileLimit = 64u << 10;
constexpr std::size_t kExpansionLimit = 1u << 20;

// Variables of every login, which would blank out paths all over the log if they were secrets.
bool is_public_variable(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "HOME", "USER", "LOGNAME", "PATH", "PWD", "SHELL", "LANG", "TMPDIR", "TERM", "HOSTNAME"};
  return name.substr(0, 4) == "XDG_" ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

struct Lookup {
  std::optional<std::string> value;
  std::string message, suggestion;  // when there is none
};

Lookup look_up_variable(const Context& context, const std::string& name) {
  if (name.empty()) return {std::nullopt, "'${env:}' names no variable", "write ${env:NAME}"};
  Lookup out;
  out.value = context.environment ? context.environment(name) : std::nullopt;
  if (!out.value) {
    out.message = fmt::format("the environment variable '{}' is not set", name);
    out.suggestion = fmt::format("set {} for mcpxd, or set 'enabled: false' on this server", name);
  }
  return out;
}

Lookup look_up_file(const Context& context, const std::string& name) {
  if (name.empty()) return {std::nullopt, "'${file:}' names no file", "write ${file:PATH}"};
  const bool absolute = name.front() == '/' || context.directory.empty();
  const std::string path = absolute ? name : context.directory + '/' + name;
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    return {std::nullopt, fmt::format("the file '{}' does not exist or cannot be reached", path),
            "paths are relative to the configuration file; create it or correct the path"};
  }
  if (!S_ISREG(info.st_mode)) {
    return {std::nullopt, fmt::format("'{}' is not a regular file", path), "name a file"};
  }
  // Some files do not know their size, and some cannot be read although they can be opened.
  std::string text(kReferencedFileLimit + 1, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kReferencedFileLimit) {
    return {std::nullopt,
            fmt::format("the file '{}' is too long: at most {} bytes are read", path,
                        kReferencedFileLimit),
            "a referenced file holds one value"};
  }
  if (!stream.eof() || stream.bad()) {
    return {std::nullopt, fmt::format("the file '{}' cannot be read", path),
            "check its permissions"};
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.pop_back();
  if (text.find('\0') != std::string::npos) {
    return {std::nullopt, fmt::format("the file '{}' holds a NUL byte", path),
            "a referenced file holds one line of text"};
  }
  return {std::move(text), {}, {}};
}

Lookup look_up(const Context& context, std::string_view reference) {
  const std::string body(reference);
  if (body.substr(0, 4) == "env:") return look_up_variable(context, body.substr(4));
  if (body.substr(0, 5) == "file:") return look_up_file(context, body.substr(5));
  const bool bare = !body.empty() && body.find_first_not_of(
                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "abcdefghijklmnopqrstuvwxyz"
                                         "0123456789_") == std::string::npos;
  return {std::nullopt, fmt::format("unknown reference '${{{}}}'", body),
          bare ? fmt::format("did you mean '${{env:{}}}'? For the text itself write $${{{}}}", body,
                             body)
               : std::string("write ${env:NAME} or ${file:PATH}; for the text itself write $${")};
}

bool is_secret(std::string_view reference, Secrecy secrecy) {
  if (reference.substr(0, 4) != "env:") return secrecy == Secrecy::secret;
  const std::string_view name = reference.substr(4);
  if (looks_secret(name)) return true;
  return secrecy == Secrecy::secret && !is_public_variable(name);
}

}  // namespace

bool looks_secret(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kMarks = {
      "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "AUTH", "CREDENTIAL", "PRIVATE"};
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return upper.find(mark) != std::string::npos; });
}

void add_secret(Context& context, std::string_view value) {
  if (value.empty()) return;
  context.secrets.emplace_back(value);
  // A log line holds one line of it at most.
  if (value.find('\n') == std::string_view::npos) return;
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t end = std::min(value.find('\n', at), value.size());
    if (end > at) context.secrets.emplace_back(value.substr(at, end - at));
    at = end + 1;
  }
}

Expansion expand(Context& context, std::string_view text, Position at, Secrecy secrecy) {
  Expansion out;
  const auto fail = [&](std::string message, std::string suggestion) {
    out.ok = false;
    context.problems.add(at, std::move(message), std::move(suggestion));
  };
  if (text.find('\0') != std::string_view::npos) {
    fail("the value holds a NUL character", "remove it");
    return out;
  }
  while (!text.empty()) {
    const std::size_t mark = text.find("${");
    if (mark == std::string_view::npos) break;
    if (mark > 0 && text[mark - 1] == '$') {
      out.text += text.substr(0, mark - 1);
      out.text += "${";
      text.remove_prefix(mark + 2);
      continue;
    }
    out.text += text.substr(0, mark);
    const std::size_t end = text.find('}', mark);
    if (end == std::string_view::npos) {
      fail("a reference is not closed", "add the '}', or write $${ for the text itself");
      return out;
    }
    const std::string_view reference = text.substr(mark + 2, end - mark - 2);
    text.remove_prefix(end + 1);
    const Lookup found = look_up(context, reference);
    if (found.value && out.text.size() + found.value->size() <= kExpansionLimit) {
      out.text += *found.value;
      if (is_secret(reference, secrecy)) add_secret(context, *found.value);
    } else if (found.value) {
      fail(fmt::format("the value grows over {} bytes", kExpansionLimit), "use fewer references");
    } else if (!context.forgive_references || found.message.rfind("unknown", 0) == 0) {
      fail(found.message, found.suggestion);
    }
  }
  out.text += text;
  return out;
}

}  // namespace mcpx::config
