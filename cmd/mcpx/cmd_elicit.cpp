// mcpx elicit: what servers ask while no client can answer: to see it, and to answer it.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <cstdio>

#include "answering.hpp"
#include "command.hpp"
#include "elicit_form.hpp"
#include "exit_codes.hpp"
#include "follow.hpp"
#include "json/json.hpp"
#include "reply.hpp"

namespace mcpx::cli {
namespace {

constexpr Milliseconds kTimeout{15'000};

std::string read_all(std::FILE* from) {
  std::string out;
  char buffer[16 << 10];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, from)) > 0;)
    out.append(buffer, got);
  return out;
}

int list(const Context& context, const Parsed& args) {
  const std::string state = args.value("state").value_or("pending");
  const Fetched reply =
      fetch(context, "GET", "/v1/elicitations?state=" + percent_encoded(state), "", kTimeout);
  if (reply.code != kOk) return reply.code;
  if (context.json) {
    print(reply.body + "\n");
    return kOk;
  }
  const bj::array* rows = array_of(reply.object, "elicitations");
  if (!rows || rows->empty()) {
    print(state == "pending" ? "no question waits for an answer\n" : "none\n");
    return kOk;
  }
  std::vector<std::vector<Cell>> cells;
  for (const bj::value& value : *rows) {
    if (!value.is_object()) continue;
    const bj::object& row = value.get_object();
    std::vector<Cell> line;
    line.emplace_back(text_of(row, "id"));
    line.emplace_back(text_of(row, "state"));
    line.emplace_back(text_of(row, "server"));
    line.emplace_back(text_of(row, "kind"));
    line.emplace_back(printable(text_of(row, "message", text_of(row, "method"))));
    cells.push_back(std::move(line));
  }
  print(render_table({"QUESTION", "STATE", "SERVER", "KIND", "MESSAGE"}, cells, context.style));
  return kOk;
}

Fetched fetch_question(const Context& context, const std::string& id) {
  return fetch(context, "GET", "/v1/elicitations/" + percent_encoded(id), "", kTimeout);
}

int show(const Context& context, const std::string& id) {
  const Fetched reply = fetch_question(context, id);
  if (reply.code != kOk) return reply.code;
  if (context.json) {
    print(reply.body + "\n");
    return kOk;
  }
  show_question(reply.object, context, stdout);
  if (text_of(reply.object, "state") == "pending") {
    print("answer it with: " + answer_command(reply.object) + "\n");
  }
  return kOk;
}

// The raw body of an answer given by options or on standard input; empty: there is none.
Result<std::string> given_answer(const Parsed& args, const bj::object& question) {
  const std::vector<std::string> pairs = args.values("set");
  json::ObjectBuilder body;
  body.string("surface", "cli");
  const auto content = args.value("content"), result = args.value("result");
  if (!content && !result && pairs.empty()) return std::string();
  if ((content ? 1 : 0) + (result ? 1 : 0) + (pairs.empty() ? 0 : 1) > 1) {
    return Error("cli.usage", "the answer is given by --set, --content or --result, not by two");
  }
  std::string raw;
  if (!pairs.empty()) {
    const bj::object* params = object_of(question, "params");
    const bj::object* schema = params ? object_of(*params, "requestedSchema") : nullptr;
    const std::vector<FormField> fields = schema ? form_of(*schema) : std::vector<FormField>();
    const Result<std::string> made = content_from_pairs(pairs, fields);
    if (!made) return made;
    raw = *made;
  } else {
    raw = content ? *content : *result;
    if (raw == "-") raw = read_all(stdin);
  }
  const std::size_t first = raw.find_first_not_of(" \t\r\n");
  const std::string_view text =
      std::string_view(raw).substr(first == raw.npos ? raw.size() : first);
  if (!json::validate(text, json::Limits()) || !json::is_object(text)) {
    return Error("cli.usage", "the answer is not one JSON object");
  }
  return body.raw(result ? "result" : "content", text).take();
}

int said(const Context& context, int code, const std::string& id, std::string_view what) {
  if (code == kOk && !context.json) print(fmt::format("{} {}\n", id, what));
  return code;
}

int answer(const Context& context, const Parsed& args, const std::string& id) {
  const Fetched reply = fetch_question(context, id);
  if (reply.code != kOk) return reply.code;
  const Result<std::string> body = given_answer(args, reply.object);
  if (!body) return fail_usage("elicit", body.error());
  if (!body->empty()) {
    return said(context, settle_question(context, id, "accept", *body), id, "is answered");
  }
  const std::string kind = text_of(reply.object, "kind");
  const bool empty =
      kind == "url" ||
      (kind == "form" && answer_command(reply.object).find(" --set") == std::string::npos);
  if (can_ask()) {
    return said(context, answer_on_terminal(context, reply.object), id, "is settled");
  }
  if (empty && args.has("accept")) {
    return said(context, settle_question(context, id, "accept", R"({"surface":"cli"})"), id,
                "is accepted");
  }
  return fail_usage("elicit", Error("cli.usage", "what is the answer?",
                                    empty ? "say --accept, or use 'mcpx elicit decline'"
                                          : answer_command(reply.object)));
}

// Events until the daemon goes away for good, or the reader.
int watch(const Context& context) {
  return follow_events(context, [&context](std::string_view event) {
    if (context.json) {
      print(std::string(event) + "\n");
    } else {
      const std::string type = json::find_string(event, "type").value_or("");
      const json::Raw question = json::find(event, "question").value_or("{}");
      const auto text = [&](std::string_view key) {
        return printable(json::find_string(question, key).value_or(""));
      };
      const std::string how = text("action").empty() ? "" : " (" + text("action") + ")";
      print(
          fmt::format("{} {}{} {}: {}\n", type, text("id"), how, text("server"), text("message")));
    }
    std::fflush(stdout);
  });
}

}  // namespace

int run_elicit(const Context& context, const Parsed& args) {
  const std::string what = args.rest.empty() ? "list" : args.rest[0];
  const bool alone = what == "list" || what == "watch";
  if (args.rest.size() > (alone ? 1u : 2u)) {
    return fail_usage("elicit", Error("cli.usage", "too many words"));
  }
  if (what == "list") return list(context, args);
  if (what == "watch") return watch(context);
  if (args.rest.size() != 2) {
    return fail_usage("elicit", Error("cli.usage", "which question?", "'mcpx elicit list'"));
  }
  const std::string& id = args.rest[1];
  if (what == "show") return show(context, id);
  if (what == "answer") return answer(context, args, id);
  if (what == "decline" || what == "cancel") {
    const int code = settle_question(context, id, what, R"({"surface":"cli"})");
    return said(context, code, id, what == "decline" ? "is declined" : "is cancelled");
  }
  return fail_usage("elicit",
                    Error("cli.usage", fmt::format("'{}' is nothing to do with questions", what),
                          "list, show, answer, decline, cancel or watch"));
}

}  // namespace mcpx::cli
