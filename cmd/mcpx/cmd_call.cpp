// mcpx call: a tool by its exposed name, its arguments, and its result for people or scripts.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <cstdio>

#include "answering.hpp"
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

namespace {

int print_outcome(const Context& context, const Fetched& reply) {
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

const bj::object* first_question(const Fetched& reply) {
  const bj::array* questions = array_of(reply.object, "questions");
  if (!questions || questions->empty() || !questions->front().is_object()) return nullptr;
  return &questions->front().get_object();
}

// The question whole: what came with the call is a summary.
Fetched whole_question(const Context& context, const bj::object& summary) {
  return fetch(context, "GET", "/v1/elicitations/" + percent_encoded(text_of(summary, "id")), "",
               kListTimeout);
}

// Nobody is there to be asked: who reads this answers, or has it answered.
int leave_waiting(const Context& context, const Fetched& reply, const bj::object& question) {
  const std::string call = text_of(reply.object, "call");
  if (context.json) print(reply.body + "\n");
  std::fprintf(stderr,
               "mcpx: server %s asks: %s\n"
               "      question %s waits for an answer:\n"
               "        %s\n"
               "      the result of the call is then had with:\n"
               "        mcpx call --take %s\n",
               printable(text_of(question, "server")).c_str(),
               printable(text_of(question, "message", text_of(question, "kind"))).c_str(),
               text_of(question, "id").c_str(), answer_command(question).c_str(), call.c_str());
  return kTemporary;
}

// `after` is the question that is known of already.
Fetched wait_for(const Context& context, const std::string& call, const std::string& after,
                 Milliseconds timeout) {
  constexpr std::int64_t kAnHour = 3600;
  const std::int64_t seconds = timeout.count() > 0 ? timeout.count() / 1000 : kAnHour;
  return fetch(context, "GET",
               fmt::format("/v1/calls/{}?wait={}&after={}", percent_encoded(call), seconds, after),
               "", Milliseconds(seconds * 1000 + kListTimeout.count()));
}

// From the daemon's first word to the outcome, over as many questions as there are.
int follow_call(const Context& context, const Parsed& args, Fetched reply, Milliseconds timeout) {
  const bool may_ask = can_ask() && !context.json;
  std::string told;  // the question that was waited for last
  while (reply.code == kOk && reply.status == 202) {
    const std::string call = text_of(reply.object, "call");
    if (const bj::object* summary = first_question(reply)) {
      const std::string id = text_of(*summary, "id");
      Fetched question = whole_question(context, *summary);
      if (question.code != kOk) return question.code;
      const bool open = text_of(question.object, "state") == "pending";
      if (open && may_ask) {
        const int code = answer_on_terminal(context, question.object);
        if (code == kTemporary) return leave_waiting(context, reply, question.object);
      } else if (open && !args.has("wait")) {
        return leave_waiting(context, reply, question.object);
      } else if (open && id != told) {
        told = id;
        std::fprintf(stderr, "mcpx: waits for an answer: %s\n",
                     answer_command(question.object).c_str());
      }
    }
    reply = wait_for(context, call, told, timeout);
  }
  return reply.code == kOk ? print_outcome(context, reply) : reply.code;
}

}  // namespace

int run_call(const Context& context, const Parsed& args) {
  if (args.has("take")) {
    if (!args.rest.empty()) {
      return fail_usage("call", Error("cli.usage", "--take calls nothing anew"));
    }
    Fetched taken = wait_for(context, *args.value("take"), "", Milliseconds(0));
    return follow_call(context, args, std::move(taken), Milliseconds(0));
  }
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

  const std::string body = "{\"arguments\":" + *arguments + ",\"questions\":\"return\"}";
  const std::string target = "/v1/tools/" + percent_encoded(args.rest[0]) + "/call";
  Fetched reply = fetch(context, "POST", target, body, timeout);
  return follow_call(context, args, std::move(reply), timeout);
}

}  // namespace mcpx::cli
