// The tables of commands and options, and the help made from them.
#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "command.hpp"
#include "exit_codes.hpp"

namespace mcpx::cli {
namespace {

constexpr std::array<Option, 6> kGlobal = {{
    {"url", "URL",
     "the daemon: http://host:port, https://host:port or unix:/path (default: $MCPX_URL, else "
     "$XDG_RUNTIME_DIR/mcpx/mcpx.sock if it exists, else http://127.0.0.1:7332)"},
    {"token-file", "FILE",
     "the file with the token that the daemon asks for (default: $MCPX_TOKEN, which is the token "
     "itself, else $MCPX_TOKEN_FILE)"},
    {"ca", "FILE", "PEM file of the authority to trust at https:// (default: $MCPX_CA_FILE)"},
    {"json", "", "print JSON, for scripts"},
    {"no-color", "", "no colours (as with $NO_COLOR)"},
    {"help", "", "print help and exit"},
}};

constexpr std::array<Option, 1> kToolsOptions = {{
    {"server", "NAME", "only the tools of this server"},
}};
constexpr std::array<Option, 1> kServersOptions = {{
    {"refresh", "", "have the server asked first for what it offers now"},
}};
constexpr std::array<Option, 4> kCallOptions = {{
    {"arg", "K=V",
     "one argument; V is read by the type its schema gives K. K:=JSON is JSON always. "
     "May be repeated"},
    {"timeout", "SECONDS", "give up after this long (default: the daemon's own limits)"},
    {"wait", "", "wait until somebody has answered what the server asks"},
    {"take", "CALL", "instead of calling: the result of a call that waited for an answer"},
}};
constexpr std::array<Option, 5> kElicitOptions = {{
    {"set", "FIELD=VALUE",
     "a field of the form; VALUE is read by its type, FIELD:=JSON is JSON. May be repeated"},
    {"content", "JSON", "the whole content of the form, '-' to read it from standard input"},
    {"result", "JSON", "the answer to sampling or roots, '-' to read it from standard input"},
    {"accept", "", "accept what has nothing to fill in: a URL that you agree to visit"},
    {"state", "STATE", "list: pending (default), answered, expired, withdrawn, orphaned or all"},
}};
constexpr std::array<Option, 4> kConnectOptions = {{
    {"endpoint", "NAME", "/mcp/NAME instead of /mcp: one server under its own names"},
    {"spawn", "", "start mcpxd if it does not answer"},
    {"config", "FILE", "the configuration of the mcpxd that --spawn starts"},
    {"wait", "SECONDS", "how long a request waits for a daemon that is away (default: 30)"},
}};

constexpr std::array<Option, 2> kTokenOptions = {{
    {"endpoint", "PATH",
     "an endpoint it is for, /mcp or /mcp/NAME; may be repeated (default: all)"},
    {"admin", "", "for /v1 too: the other commands of mcpx need that"},
}};

constexpr std::array<Command, 10> kCommands = {{
    {"status", "", "what the daemon is doing", "", {}, run_status},
    {"servers", "[NAME [--refresh]]", "the servers behind it, or one of them in detail", "",
     kServersOptions, run_servers},
    {"tools", "", "the tools it offers", "", kToolsOptions, run_tools},
    {"reload",
     "",
     "have the configuration read again; what did not change runs on",
     "Servers whose part of it changed are replaced: calls under way finish, and no client has to\n"
     "connect again. A configuration with a mistake changes nothing; what is wrong is printed, "
     "and\n"
     "the exit code is 1.\n",
     {},
     run_reload},
    {"call", "TOOL [JSON | - | --arg K=V ...] | --take CALL", "call a tool and print its result",
     "The arguments are one JSON object, '-' to read it from standard input, or --arg options.\n"
     "Text is printed as it is; --json prints the raw result.\n"
     "A result with isError ends with exit code 1.\n"
     "What the server asks on the way is asked on the terminal; without one the call waits in the\n"
     "daemon, the exit code is 75, and the message says how to answer and how to get the result.\n",
     kCallOptions, run_call},
    {"elicit", "[list | show ID | answer ID | decline ID | cancel ID | watch]",
     "answer what servers ask while no client can",
     "'answer' takes the fields of a form by --set or --content, else asks on the terminal.\n"
     "mcpx opens no URL: 'answer' with --accept says that you agreed to go there.\n"
     "'watch' prints what happens to questions, as it happens.\n",
     kElicitOptions, run_elicit},
    {"connect", "", "speak MCP on standard input and output, for clients that start a program",
     "Bridges newline-delimited JSON-RPC to the daemon's Streamable HTTP. It survives a restart "
     "of\n"
     "the daemon. Standard output carries protocol only; messages go to standard error.\n",
     kConnectOptions, run_connect},
    {"token", "new NAME", "make a token for listen.tokens of the daemon",
     "Prints the token, which is shown this once, and the lines for the configuration, which hold "
     "its\ndigest only. Asks no daemon.\n",
     kTokenOptions, run_token},
    {"version", "", "print the version of mcpx", "", {}, run_version},
    {"help", "[COMMAND | exit-codes]", "print help", "", {}, run_help},
}};

std::string option_lines(std::span<const Option> options) {
  constexpr std::size_t kWidth = 22;
  std::string out;
  for (const Option& option : options) {
    std::string head = "  --" + std::string(option.name);
    if (!option.placeholder.empty()) head += " " + std::string(option.placeholder);
    out += head + std::string(head.size() < kWidth ? kWidth - head.size() : 1, ' ');
    out += std::string(option.help) + "\n";
  }
  return out;
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}
std::span<const Option> global_options() {
  return kGlobal;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::string general_help() {
  std::string out =
      "mcpx: ask and use a running mcpxd, the MCP server in front of all others\n\n"
      "usage: mcpx [OPTIONS] COMMAND [ARGUMENTS]\n\ncommands:\n";
  for (const Command& command : kCommands) {
    out += fmt::format("  {:<20}{}\n", command.name, command.summary);
  }
  out += "\noptions:\n" + option_lines(kGlobal);
  out += "\n'mcpx help COMMAND' tells more; 'mcpx help exit-codes' lists the exit codes.\n";
  return out;
}

std::string command_help(const Command& command) {
  std::string out = fmt::format("mcpx {}: {}\n\nusage: mcpx {}{}{}{}\n", command.name,
                                command.summary, command.name, command.usage.empty() ? "" : " ",
                                command.usage, command.options.empty() ? "" : " [OPTIONS]");
  if (!command.details.empty()) out += "\n" + std::string(command.details);
  out += "\noptions:\n" + option_lines(command.options) + option_lines(kGlobal);
  return out;
}

std::string exit_codes_help() {
  return "exit codes of mcpx:\n"
         "   0  done\n"
         "   1  the daemon said no, or the tool's result is an error (isError)\n"
         "   2  the command line is wrong\n"
         "  69  no daemon answers; the message says how to start it\n"
         "  70  a bug in mcpx\n"
         "  75  a question waits for an answer; the message says how to give it\n";
}

int run_help(const Context& /*context*/, const Parsed& args) {
  if (args.rest.empty()) {
    std::fputs(general_help().c_str(), stdout);
    return kOk;
  }
  if (args.rest[0] == "exit-codes") {
    std::fputs(exit_codes_help().c_str(), stdout);
    return kOk;
  }
  const Command* command = find_command(args.rest[0]);
  if (!command) {
    return fail_usage("help", Error("cli.usage", fmt::format("no command '{}'", args.rest[0]),
                                    "'mcpx help' lists them"));
  }
  std::fputs(command_help(*command).c_str(), stdout);
  return kOk;
}

int run_version(const Context& context, const Parsed& args) {
  if (!args.rest.empty()) {
    return fail_usage("version", Error("cli.usage", "'version' takes no arguments"));
  }
  std::fputs(context.json ? "{\"version\":\"" MCPX_VERSION "\"}\n" : "mcpx " MCPX_VERSION "\n",
             stdout);
  return kOk;
}

}  // namespace mcpx::cli
