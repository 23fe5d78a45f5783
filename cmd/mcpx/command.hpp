// A command of mcpx: its name, what it takes, and the function that does it. Thread: any.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "args.hpp"
#include "client.hpp"
#include "table.hpp"

namespace mcpx::cli {

// What a command sees of the world; main() fills it from the process, tests by hand.
struct Context {
  std::function<std::optional<std::string>(const std::string&)> environment;
  std::string url;                     // of the daemon: "http://..." or "unix:/..."
  std::string authorization, ca_file;  // as in Daemon
  bool json = false;                   // print JSON as it came
  bool terminal = false;
  Style style;
};

inline Daemon daemon_of(const Context& context) {
  return {context.url, context.authorization, context.ca_file};
}

struct Command {
  std::string_view name;
  std::string_view usage;    // after "mcpx NAME"
  std::string_view summary;  // one line
  std::string_view details;  // more lines for --help; may be empty
  std::span<const Option> options;
  int (*run)(const Context& context, const Parsed& args);
};

std::span<const Command> commands();
const Command* find_command(std::string_view name);
std::span<const Option> global_options();

std::string general_help();
std::string command_help(const Command& command);
std::string exit_codes_help();

int run_status(const Context& context, const Parsed& args);
int run_servers(const Context& context, const Parsed& args);
int run_tools(const Context& context, const Parsed& args);
int run_reload(const Context& context, const Parsed& args);
int run_call(const Context& context, const Parsed& args);
int run_elicit(const Context& context, const Parsed& args);
int run_connect(const Context& context, const Parsed& args);
int run_token(const Context& context, const Parsed& args);
int run_version(const Context& context, const Parsed& args);
int run_help(const Context& context, const Parsed& args);

// Both write to standard error.
int fail_usage(std::string_view command, const Error& error);
int fail_with(const Context& context, const Error& error, int code);

// Parses a whole command line (without argv[0]) and runs it.
int run_command_line(Context context, std::span<const std::string> args);

}  // namespace mcpx::cli
