#include "location.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

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

namespace {

Result<std::string> usable(std::string token, const std::string& where) {
  const std::size_t end = token.find_last_not_of(" \t\r\n");
  token.erase(end == std::string::npos ? 0 : end + 1);
  token.erase(0, token.find_first_not_of(" \t\r\n"));
  const bool plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (plain && !token.empty()) return token;
  return Error("cli.token", where + (token.empty() ? " is empty" : " holds more than a token"),
               "it has to hold the token alone, as 'mcpx token new NAME' prints it");
}

Result<std::string> token_in(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    return Error("cli.token", "cannot read " + path + ": " + std::strerror(errno),
                 "correct --token-file or $MCPX_TOKEN_FILE");
  }
  constexpr std::size_t kLongest = 8 * 1024;
  std::string text(kLongest, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return usable(std::move(text), path);
}

}  // namespace

Result<std::string> token_for(
    const std::string& url, const std::optional<std::string>& file,
    const std::function<std::optional<std::string>(const std::string&)>& environment) {
  if (file) return token_in(*file);
  if (url.rfind("unix:", 0) == 0) return std::string();
  const std::string token = environment("MCPX_TOKEN").value_or("");
  if (!token.empty()) return usable(token, "$MCPX_TOKEN");
  const std::string path = environment("MCPX_TOKEN_FILE").value_or("");
  return path.empty() ? Result<std::string>(std::string()) : token_in(path);
}

}  // namespace mcpx::cli
