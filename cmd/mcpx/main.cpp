// mcpx: the command line of mcpxd.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "exit_codes.hpp"
#include "net/stream.hpp"

namespace {

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

bool wants_colours() {
  const auto term = environment("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").value_or("").empty() && term &&
         *term != "dumb";
}

}  // namespace

int main(int argc, char** argv) try {
  mcpx::net::ignore_sigpipe();
  mcpx::cli::Context context;
  context.environment = environment;
  context.terminal = ::isatty(STDOUT_FILENO) == 1;
  context.style.colours = wants_colours();
  winsize size = {};
  if (context.terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    context.style.width = size.ws_col;
  }
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int code = mcpx::cli::run_command_line(std::move(context), args);
  // Output that could not be written (a full disk) is a failure, not a success.
  if (std::fflush(stdout) != 0 && code == mcpx::cli::kOk) return mcpx::cli::kFailed;
  return code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "mcpx: internal error: %s\n", error.what());
  return mcpx::cli::kInternal;
}
