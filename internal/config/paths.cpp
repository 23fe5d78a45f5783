// Where a configuration is looked for, and reading it from there.
#include <sys/stat.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "config/config.hpp"
#include "config/document.hpp"

namespace mcpx::config {
namespace {

std::vector<Problem> cannot_read(const std::string& path, std::string why, std::string remedy) {
  return {{path, 0, 0, std::move(why), std::move(remedy)}};
}

std::string set_variable(const Environment& environment, const std::string& name) {
  const auto value = environment ? environment(name) : std::nullopt;
  return value.value_or(std::string());
}

}  // namespace

LoadResult load_file(const std::string& path, const Environment& environment) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    const int error = errno;
    return cannot_read(path, fmt::format("cannot be opened: {}", std::strerror(error)),
                       "pass the right path with --config, or create the file; "
                       "configs/minimal.yaml is a start");
  }
  if (S_ISDIR(info.st_mode)) {
    return cannot_read(path, "is a directory", "name the file in it");
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    const int error = errno;
    return cannot_read(path, fmt::format("cannot be opened: {}", std::strerror(error)),
                       "check its permissions");
  }
  // One byte more than is accepted, so that load_text() sees that it is too much.
  std::string text;
  std::string chunk(64u << 10, '\0');
  while (stream && text.size() <= kMaximumFileBytes) {
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.append(chunk, 0, static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) return cannot_read(path, "cannot be read", "name an ordinary file");
  return load_text(text, path, environment);
}

std::string default_path(const Environment& environment) {
  if (std::string path = set_variable(environment, "MCPX_CONFIG"); !path.empty()) return path;
  const std::string home = set_variable(environment, "HOME");
  const std::string xdg = set_variable(environment, "XDG_CONFIG_HOME");
  std::vector<std::string> places;
  if (!xdg.empty()) places.push_back(xdg + "/mcpx/mcpx.yaml");
  if (!home.empty()) places.push_back(home + "/.config/mcpx/mcpx.yaml");
  places.emplace_back("/etc/mcpx/mcpx.yaml");
  for (const std::string& place : places) {
    struct stat info = {};
    if (::stat(place.c_str(), &info) == 0) return place;
  }
  return places.front();
}

}  // namespace mcpx::config
