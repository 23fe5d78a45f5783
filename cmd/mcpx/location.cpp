#include "location.hpp"

#include <sys/stat.h>

namespace mcpx::cli {

std::string default_url(
    const std::function<std::optional<std::string>(const std::string&)>& environment,
    const std::function<bool(const std::string&)>& exists) {
  const auto url = environment("MCPX_URL");
  if (url && !url->empty()) return *url;
  const auto runtime = environment("XDG_RUNTIME_DIR");
  if (runtime && !runtime->empty()) {
    const std::string path = *runtime + "/mcpx/mcpx.sock";
    if (exists(path)) return "unix:" + path;
  }
  return kDefaultUrl;
}

bool is_socket(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

}  // namespace mcpx::cli
