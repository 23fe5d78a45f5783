// From a command line to a command: global options anywhere, help everywhere.
#include <fmt/format.h>

#include <cstdio>

#include "command.hpp"
#include "config/suggest.hpp"
#include "exit_codes.hpp"
#include "location.hpp"

namespace mcpx::cli {
namespace {

// The first word that is no option and no value of a global option.
std::optional<std::size_t> command_index(std::span<const std::string> args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--url" || args[i] == "--token-file" || args[i] == "--ca") {
      ++i;
    } else if (args[i].empty() || args[i].front() != '-') {
      return i;
    }
  }
  return std::nullopt;
}

std::string variable(const Context& context, const std::string& name) {
  return context.environment(name).value_or("");
}

int unknown_command(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Command& command : commands())
    names.push_back(command.name);
  return fail_usage("", Error("cli.usage", fmt::format("unknown command '{}'", name),
                              config::suggestion_for(name, names)));
}

int without_command(std::span<const std::string> args) {
  const auto parsed = parse_args(args, global_options());
  if (!parsed) return fail_usage("", parsed.error());
  if (parsed->has("help")) {
    std::fputs(general_help().c_str(), stdout);
    return kOk;
  }
  std::fputs(general_help().c_str(), stderr);
  return kUsage;
}

}  // namespace

int fail_usage(std::string_view command, const Error& error) {
  std::fprintf(stderr, "mcpx: %s\n", error.text().c_str());
  const std::string help = command.empty() ? "mcpx help" : fmt::format("mcpx {} --help", command);
  std::fprintf(stderr, "'%s' shows how it is used\n", help.c_str());
  return kUsage;
}

int fail_with(const Context& context, const Error& error, int code) {
  const std::string head = coloured("mcpx:", Colour::red, context.style);
  std::fprintf(stderr, "%s %s\n", head.c_str(), printable(error.message, true).c_str());
  if (!error.remedy.empty()) {
    std::fprintf(stderr, "      %s\n", printable(error.remedy, true).c_str());
  }
  return code;
}

int run_command_line(Context context, std::span<const std::string> args) {
  const auto at = command_index(args);
  // "mcpx --version" is what everybody tries first.
  if (!at && args.size() == 1 && args[0] == "--version") return run_version(context, {});
  if (!at) return without_command(args);
  const Command* command = find_command(args[*at]);
  if (!command) return unknown_command(args[*at]);

  std::vector<std::string> rest(args.begin(), args.end());
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(*at));
  std::vector<Option> known(global_options().begin(), global_options().end());
  known.insert(known.end(), command->options.begin(), command->options.end());
  const auto parsed = parse_args(rest, known);
  if (!parsed) return fail_usage(command->name, parsed.error());
  if (parsed->has("help")) {
    std::fputs(command_help(*command).c_str(), stdout);
    return kOk;
  }
  context.json = parsed->has("json");
  if (parsed->has("no-color")) context.style.colours = false;
  context.url = parsed->value("url").value_or(default_url(context.environment, is_socket));
  context.ca_file = parsed->value("ca").value_or(variable(context, "MCPX_CA_FILE"));
  const auto token = token_for(context.url, parsed->value("token-file"), context.environment);
  if (!token) return fail_with(context, token.error(), kUsage);
  if (!token->empty()) context.authorization = "Bearer " + *token;
  return command->run(context, *parsed);
}

}  // namespace mcpx::cli
