// mcpxd: the daemon. Reads its flags and its configuration, then daemon::run does the rest.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "daemon/app.hpp"
#include "daemon/front_door.hpp"

namespace {

constexpr std::string_view kHelp = R"(mcpxd: one MCP server in front of all the others

usage: mcpxd [--config FILE] [--check]

  --config FILE   the configuration (default: $MCPX_CONFIG, ~/.config/mcpx/mcpx.yaml,
                  /etc/mcpx/mcpx.yaml: the first there is)
  --check         only read the configuration and say what is wrong with it
  --version       print the version
  --help          print this

SIGHUP, or `mcpx reload`, reads the configuration again: what did not change runs on.

exit status: 0 stopped in order, or the configuration is fine; 1 could not start; 2 the command line
or the configuration is wrong. `mcpx status` shows a running daemon.
)";

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

int usage(const std::string& what) {
  std::cerr << "mcpxd: " << what << "; see mcpxd --help\n";
  return 2;
}

int load_and_run(const std::string& file, bool check) {
  const auto config = mcpx::daemon::load(file, environment);
  if (!config) {
    for (const auto& problem : config.error())
      std::cerr << problem.text() << '\n';
    return 2;
  }
  if (!check) {
    mcpx::daemon::Options options;
    options.read = [file] { return mcpx::daemon::load(file, environment); };
    return mcpx::daemon::run(*config, options);
  }
  for (const std::string& warning : config->warnings)
    std::cerr << "warning: " << warning << '\n';
  std::cout << file << ": fine; " << config->servers.size() << " servers\n";
  return 0;
}

int run(int argc, char** argv) {
  std::string file;
  bool check = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--help" || flag == "-h") {
      std::cout << kHelp;
      return 0;
    }
    if (flag == "--version") {
      std::cout << "mcpxd " << MCPX_VERSION << '\n';
      return 0;
    }
    if (flag == "--check") {
      check = true;
    } else if (flag == "--config" && i + 1 < argc) {
      file = argv[++i];
    } else if (flag.substr(0, 9) == "--config=") {
      file = flag.substr(9);
    } else {
      return usage("unknown or incomplete argument '" + std::string(flag) + "'");
    }
  }
  return load_and_run(file.empty() ? mcpx::config::default_path(environment) : file, check);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::cerr << "mcpxd: " << failure.what() << '\n';
    return 1;
  }
}
