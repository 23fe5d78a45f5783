// mcpx status, servers, tools, reload: what the daemon says about itself, as tables.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>

#include "command.hpp"
#include "exit_codes.hpp"
#include "reply.hpp"

namespace mcpx::cli {
namespace {

constexpr Milliseconds kTimeout{10'000};
constexpr Milliseconds kRefreshTimeout{120'000};  // servers may have to start first

Colour colour_of(std::string_view state) {
  if (state == "ready") return Colour::green;
  if (state == "failed") return Colour::red;
  if (state == "disabled" || state == "stopped" || state == "idle") return Colour::dim;
  return Colour::yellow;
}

std::string joined(const bj::array* texts) {
  std::string out;
  if (!texts) return out;
  for (const bj::value& text : *texts) {
    if (!text.is_string()) continue;
    if (!out.empty()) out += ", ";
    out += std::string_view(text.get_string().data(), text.get_string().size());
  }
  return out;
}

void print_lines(const bj::array* lines, std::string_view title, const Style& style) {
  if (!lines || lines->empty()) return;
  print(fmt::format("{}\n", coloured(title, Colour::yellow, style)));
  for (const bj::value& line : *lines) {
    const std::string text = line.is_string()
                                 ? std::string(line.get_string().data(), line.get_string().size())
                                 : pretty(line);
    print(fmt::format("  {}\n", printable(text)));
  }
}

// "2 ready, 1 failed of 3"
std::string servers_line(const bj::object& servers) {
  std::string out;
  for (const auto& member : servers) {
    if (member.key() == "total") continue;
    const std::string key(member.key().data(), member.key().size());
    const std::int64_t count = number_of(servers, key);
    if (count == 0) continue;
    if (!out.empty()) out += ", ";
    out += fmt::format("{} {}", count, key);
  }
  const std::int64_t total = number_of(servers, "total");
  return out.empty() ? fmt::format("{}", total) : fmt::format("{} of {}", out, total);
}

void print_error(const bj::object& server, const Style& style) {
  const bj::object* error = object_of(server, "error");
  if (!error) return;
  // The message names the server.
  print(fmt::format("{} {}\n", coloured("error:", Colour::red, style),
                    printable(text_of(*error, "message"), true)));
  const std::string remedy = text_of(*error, "remedy");
  if (!remedy.empty()) print(fmt::format("  {}\n", printable(remedy, true)));
}

void print_server(const bj::object& server, const Style& style) {
  const auto line = [](std::string_view name, const std::string& value) {
    print(fmt::format("{:<12}{}\n", name, printable(value)));
  };
  const std::string state = text_of(server, "state");
  line("name", text_of(server, "name"));
  print(fmt::format("{:<12}{}\n", "state", coloured(printable(state), colour_of(state), style)));
  line("transport", text_of(server, "transport"));
  line("protocol", text_of(server, "protocol", "not known yet"));
  if (const bj::object* info = object_of(server, "server_info")) {
    line("server", text_of(*info, "name") + " " + text_of(*info, "version"));
  }
  line("offers",
       fmt::format("{} tools, {} prompts, {} resources, {} templates", number_of(server, "tools"),
                   number_of(server, "prompts"), number_of(server, "resources"),
                   number_of(server, "resource_templates")));
  line("instances", fmt::format("{}", number_of(server, "instances")));
  line("children", fmt::format("{}", number_of(server, "children")));
  line("in flight", fmt::format("{}", number_of(server, "in_flight")));
  line("starts",
       fmt::format("{}, {} failed", number_of(server, "starts"), number_of(server, "failures")));
  if (number_of(server, "retry_in_ms") > 0) {
    line("next try", "in " + ago(number_of(server, "retry_in_ms")));
  }
  print_error(server, style);
  print_lines(array_of(server, "remarks"), "remarks", style);
  print_lines(array_of(server, "stderr"), "standard error", style);
}

int no_arguments(std::string_view command) {
  return fail_usage(command, Error("cli.usage", fmt::format("'{}' takes no arguments", command)));
}

}  // namespace

int run_status(const Context& context, const Parsed& args) {
  if (!args.rest.empty()) return no_arguments("status");
  const Fetched reply = fetch(context, "GET", "/v1/status", "", kTimeout);
  if (reply.code != kOk) return reply.code;
  if (context.json) {
    print(reply.body + "\n");
    return kOk;
  }
  const bj::object& status = reply.object;
  const auto line = [](std::string_view name, const std::string& value) {
    print(fmt::format("{:<12}{}\n", name, printable(value)));
  };
  line("mcpxd", fmt::format("{}, pid {}, up {}", text_of(status, "version"),
                            number_of(status, "pid"), ago(number_of(status, "uptime_ms"))));
  line("listens on", joined(array_of(status, "listen")));
  line("endpoints", joined(array_of(status, "endpoints")));
  const bj::object* servers = object_of(status, "servers");
  line("servers", servers ? servers_line(*servers) : std::string("none"));
  line("sessions", fmt::format("{} of legacy clients", number_of(status, "sessions")));
  line("connections", fmt::format("{}", number_of(status, "connections")));
  line("children", fmt::format("{}", number_of(status, "children")));
  if (const bj::object* store = object_of(status, "store")) {
    const std::string message = text_of(*store, "message");
    line("store", fmt::format("{} {}{}{}", text_of(*store, "state"), text_of(*store, "path"),
                              message.empty() ? "" : ": ", message));
  }
  if (const auto waiting = number_of(status, "questions")) {
    line("questions", fmt::format("{} wait for an answer: mcpx elicit list", waiting));
  }
  if (const auto retiring = number_of(status, "retiring")) {
    line("finishing", fmt::format("{} servers of before the last reload", retiring));
  }
  print_lines(array_of(status, "collisions"), "collisions of names", context.style);
  print_lines(array_of(status, "warnings"), "warnings", context.style);
  return kOk;
}

int run_servers(const Context& context, const Parsed& args) {
  if (args.rest.size() > 1) {
    return fail_usage("servers", Error("cli.usage", "'servers' takes one name at most"));
  }
  const bool refresh = args.has("refresh");
  if (refresh && args.rest.empty()) {
    return fail_usage("servers", Error("cli.usage", "--refresh needs the name of a server"));
  }
  std::string target = "/v1/servers";
  if (!args.rest.empty()) target += "/" + percent_encoded(args.rest[0]);
  if (refresh) target += "/refresh";
  const Fetched reply = refresh ? fetch(context, "POST", target, "", kRefreshTimeout)
                                : fetch(context, "GET", target, "", kTimeout);
  if (reply.code != kOk) return reply.code;
  if (context.json) {
    print(reply.body + "\n");
    return kOk;
  }
  if (!args.rest.empty()) {
    print_server(reply.object, context.style);
    return kOk;
  }
  const bj::array* servers = array_of(reply.object, "servers");
  if (!servers || servers->empty()) {
    print("no servers are configured; docs/configuration.md tells how\n");
    return kOk;
  }
  std::vector<std::vector<Cell>> rows;
  for (const bj::value& entry : *servers) {
    if (!entry.is_object()) continue;
    const bj::object& server = entry.get_object();
    const std::string state = text_of(server, "state");
    rows.push_back({text_of(server, "name"), Cell(state, colour_of(state)),
                    text_of(server, "transport"), text_of(server, "protocol", "-"),
                    fmt::format("{}", number_of(server, "tools")),
                    fmt::format("{}", number_of(server, "prompts")),
                    fmt::format("{}", number_of(server, "resources")),
                    fmt::format("{}", number_of(server, "in_flight"))});
  }
  print(render_table(
      {"NAME", "STATE", "TRANSPORT", "PROTOCOL", "TOOLS", "PROMPTS", "RESOURCES", "CALLS"}, rows,
      context.style));
  for (const bj::value& entry : *servers) {
    if (entry.is_object()) print_error(entry.get_object(), context.style);
  }
  return kOk;
}

int run_tools(const Context& context, const Parsed& args) {
  if (!args.rest.empty()) return no_arguments("tools");
  std::string target = "/v1/tools";
  if (const auto server = args.value("server")) target += "?server=" + percent_encoded(*server);
  const Fetched reply = fetch(context, "GET", target, "", kTimeout);
  if (reply.code != kOk) return reply.code;
  if (context.json) {
    print(reply.body + "\n");
    return kOk;
  }
  const bj::array* tools = array_of(reply.object, "tools");
  if (!tools || tools->empty()) {
    print("no tools; 'mcpx servers' shows the state of the servers\n");
    return kOk;
  }
  std::vector<std::vector<Cell>> rows;
  for (const bj::value& entry : *tools) {
    if (!entry.is_object()) continue;
    const bj::object& tool = entry.get_object();
    const std::string about = text_of(tool, "description", text_of(tool, "title"));
    rows.push_back({text_of(tool, "name"), text_of(tool, "server"),
                    Cell(about.substr(0, about.find('\n')), Colour::dim)});
  }
  print(render_table({"NAME", "SERVER", "DESCRIPTION"}, rows, context.style));
  return kOk;
}

int run_reload(const Context& context, const Parsed& args) {
  if (!args.rest.empty()) return no_arguments("reload");
  const Fetched reply = fetch(context, "POST", "/v1/reload", "", kRefreshTimeout);
  if (reply.code != kOk) return reply.code;
  if (context.json) {
    print(reply.body + "\n");
    return kOk;
  }
  const auto line = [&reply](std::string_view title, std::string_view key) {
    const std::string names = joined(array_of(reply.object, key));
    if (!names.empty()) print(fmt::format("{:<12}{}\n", title, printable(names)));
  };
  print("reloaded\n");
  line("kept", "kept");
  line("relisted", "relisted");
  line("changed", "changed");
  line("added", "added");
  line("removed", "removed");
  print_lines(array_of(reply.object, "restart_needed"), "take effect when mcpxd is started again",
              context.style);
  print_lines(array_of(reply.object, "warnings"), "warnings", context.style);
  return kOk;
}

}  // namespace mcpx::cli
