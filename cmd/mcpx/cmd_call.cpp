// mcpx call: a tool by its exposed name, its arguments, and its result for people or scripts.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <cstdio>

#include "call_arguments.hpp"
#include "command.hpp"
#include "exit_codes.hpp"
#include "json/json.hpp"
#include "reply.hpp"

namespace mcpx::cli {
namespace {

constexpr Milliseconds kListTimeout{10'000};

std::string read_stdin() {
  std::string out;
  char buffer[64 << 10];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
    out.append(buffer, got);
  }
  return out;
}

// The input schema of a tool, to know the types of --arg values; empty if there is none to be had.
bj::object schema_of(const Context& context, const std::string& tool) {
  const auto answer = ask_daemon(daemon_of(context), "GET", "/v1/tools", "", kListTimeout);
  if (!answer || answer->status != 200) return {};
  return find_input_schema(answer->body, tool);
}

Result<std::string> arguments_of(const Context& context, const Parsed& args) {
  const std::vector<std::string> pairs = args.values("arg");
  if (args.rest.size() > 2)
    return Error("cli.usage", "there is one JSON text of arguments at most");
  if (args.rest.size() == 2 && !pairs.empty()) {
    return Error("cli.usage", "the arguments are JSON or --arg options, not both");
  }
  if (args.rest.size() == 2) {
    return checked_arguments(args.rest[1] == "-" ? read_stdin() : args.rest[1]);
  }
  const bj::object schema = needs_schema(pairs) ? schema_of(context, args.rest[0]) : bj::object();
  return arguments_from_pairs(pairs, schema);
}

std::string size_of_data(const bj::object& block) {
  // Base64: four characters stand for three bytes.
  return fmt::format("{} bytes", text_of(block, "data", text_of(block, "blob")).size() / 4 * 3);
}

void print_block(const bj::object& block, const Context& context) {
  const std::string type = text_of(block, "type");
  const auto summary = [&](const std::string& text) {
    print(coloured("[" + printable(text) + "]", Colour::dim, context.style) + "\n");
  };
  if (type == "text") {
    // Into a file or a pipe goes what the tool said; a terminal gets no control characters.
    const std::string text = text_of(block, "text");
    print((context.terminal ? printable(text, true) : text) + "\n");
  } else if (type == "image" || type == "audio") {
    summary(fmt::format("{} {}, {}", type, text_of(block, "mimeType"), size_of_data(block)));
  } else if (type == "resource_link") {
    summary(fmt::format("resource {} {}", text_of(block, "uri"), text_of(block, "name")));
  } else if (const bj::object* resource = object_of(block, "resource")) {
    summary(fmt::format("resource {} {}{}", text_of(*resource, "uri"),
                        text_of(*resource, "mimeType"),
                        resource->contains("blob") ? ", " + size_of_data(*resource) : ""));
    const std::string text = text_of(*resource, "text");
    if (!text.empty()) print((context.terminal ? printable(text, true) : text) + "\n");
  } else {
    summary(fmt::format("{} block; --json shows it", type.empty() ? "unnamed" : type));
  }
}

void print_result(const bj::object& result, const Context& context) {
  const bj::array* content = array_of(result, "content");
  bool printed = false;
  if (content) {
    for (const bj::value& block : *content) {
      if (!block.is_object()) continue;
      print_block(block.get_object(), context);
      printed = true;
    }
  }
  if (const bj::value* structured = result.if_contains("structuredContent")) {
    print(printable(pretty(*structured), true) + "\n");
    printed = true;
  }
  if (!printed) print("(the result is empty)\n");
}

}  // namespace

int run_call(const Context& context, const Parsed& args) {
  if (args.rest.empty()) {
    return fail_usage("call", Error("cli.usage", "which tool?", "'mcpx tools' lists them"));
  }
  Milliseconds timeout{0};
  if (const auto text = args.value("timeout")) {
    const auto seconds = parse_seconds("timeout", *text);
    if (!seconds) return fail_usage("call", seconds.error());
    timeout = std::chrono::seconds(*seconds);
  }
  const auto arguments = arguments_of(context, args);
  if (!arguments) return fail_usage("call", arguments.error());

  const std::string body = "{\"arguments\":" + *arguments + "}";
  const std::string target = "/v1/tools/" + percent_encoded(args.rest[0]) + "/call";
  const Fetched reply = fetch(context, "POST", target, body, timeout);
  if (reply.code != kOk) return reply.code;

  const bj::object* result = object_of(reply.object, "result");
  const bj::value* is_error = result ? result->if_contains("isError") : nullptr;
  const bool failed = is_error && is_error->is_bool() && is_error->get_bool();
  if (context.json) {
    // Byte for byte what the server said.
    const auto raw = json::find(reply.body, "result");
    print(std::string(raw.value_or("null")) + "\n");
  } else if (result) {
    print_result(*result, context);
  }
  if (!context.json && failed) {
    std::fputs("mcpx: the tool reports an error (isError)\n", stderr);
  }
  return failed ? kFailed : kOk;
}

}  // namespace mcpx::cli
