#include "process/environment.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace mcpx::process {
namespace {

// What the C library searches when PATH is unset, with the local directory in front.
constexpr std::string_view kFallbackPath = "/usr/local/bin:/usr/bin:/bin";

void set(Environment& environment, const std::string& name, const std::string& value) {
  for (auto& [known, old] : environment) {
    if (known != name) continue;
    old = value;
    return;
  }
  environment.emplace_back(name, value);
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> directories;
  while (true) {
    const std::size_t colon = path.find(':');
    directories.emplace_back(path.substr(0, colon));
    if (colon == std::string_view::npos) return directories;
    path.remove_prefix(colon + 1);
  }
}

std::string extend_path(const std::string& path, const std::vector<std::string>& path_extra) {
  std::string extended = path;
  std::vector<std::string> known = split_path(path);
  for (const std::string& directory : path_extra) {
    if (std::find(known.begin(), known.end(), directory) != known.end()) continue;
    if (!extended.empty()) extended += ':';
    extended += directory;
    known.push_back(directory);
  }
  return extended;
}

bool is_program(const std::filesystem::path& file) {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(file.c_str(), X_OK) == 0;
}

// `cwd` is where the child will be; it may be relative to where the daemon is.
std::filesystem::path absolute(std::string_view file, std::string_view cwd) {
  std::error_code ignored;  // only when the daemon's own directory is gone: then stay relative
  std::filesystem::path joined = std::filesystem::path(cwd) / std::filesystem::path(file);
  std::filesystem::path result = std::filesystem::absolute(joined, ignored);
  return ignored ? joined : result.lexically_normal();
}

}  // namespace

bool inherited_by_default(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"};
  static constexpr std::array<std::string_view, 3> kPrefixes = {"LC_", "XDG_", "SSL_CERT_"};
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

Environment merge_environment(const Environment& own, const std::vector<std::string>& inherit,
                              const Environment& extra,
                              const std::vector<std::string>& path_extra) {
  Environment merged;
  std::string path(kFallbackPath);
  for (const auto& [name, value] : own) {
    const bool wanted = inherited_by_default(name) ||
                        std::find(inherit.begin(), inherit.end(), name) != inherit.end();
    if (wanted) set(merged, name, value);
    if (name == "PATH") path = value;
  }
  for (const auto& [name, value] : extra) {
    set(merged, name, value);
    if (name == "PATH") path = value;
  }
  set(merged, "PATH", extend_path(path, path_extra));
  return merged;
}

Environment current_environment() {
  Environment current;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    current.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return current;
}

std::string find_program(std::string_view program, std::string_view path, std::string_view cwd) {
  if (program.empty()) return {};
  if (program.find('/') != std::string_view::npos) return absolute(program, cwd).string();
  for (const std::string& directory : split_path(path)) {
    // An empty entry means the current directory (POSIX, Base Definitions 8.3, PATH).
    const std::filesystem::path file = absolute(directory, cwd) / std::filesystem::path(program);
    if (is_program(file)) return file.string();
  }
  return {};
}

}  // namespace mcpx::process
