#include "answering.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <cstdio>
#include <optional>
#include <span>

#include "elicit_form.hpp"
#include "exit_codes.hpp"
#include "json/json.hpp"

namespace mcpx::cli {
namespace {

constexpr Milliseconds kSettleTimeout{15'000};

std::optional<std::string> read_line(const std::string& prompt) {
  std::fputs(prompt.c_str(), stderr);
  std::fflush(stderr);
  std::string line;
  int c = 0;
  while ((c = std::fgetc(stdin)) != EOF && c != '\n')
    line += static_cast<char>(c);
  if (c == EOF && line.empty()) return std::nullopt;
  return line;
}

void say(const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
}

const bj::object& params_of(const bj::object& question) {
  static const bj::object kNone;
  const bj::object* params = object_of(question, "params");
  return params ? *params : kNone;
}

std::vector<FormField> fields_of(const bj::object& question) {
  const bj::object* schema = object_of(params_of(question), "requestedSchema");
  return schema ? form_of(*schema) : std::vector<FormField>();
}

// What may be done: accept, decline, cancel; empty at the end of input.
std::string choose(const std::string& accept) {
  while (true) {
    const auto typed = read_line(fmt::format("[a] {}  [d] decline  [c] cancel: ", accept));
    if (!typed) return {};
    if (*typed == "a") return "accept";
    if (*typed == "d") return "decline";
    if (*typed == "c") return "cancel";
  }
}

std::string body_with(std::string_view member, std::string_view value) {
  json::ObjectBuilder body;
  body.string("surface", "cli");
  if (!member.empty()) body.raw(member, value);
  return body.take();
}

int left_open(const Context& context) {
  return fail_with(context,
                   Error("cli.failed", "the question was not answered; it still waits",
                         "'mcpx elicit list' shows it"),
                   kTemporary);
}

}  // namespace

bool can_ask() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
}

void show_question(const bj::object& question, const Context& context, std::FILE* to) {
  const auto line = [&](std::string_view name, const std::string& text) {
    if (text.empty()) return;
    std::fprintf(to, "%s %s\n",
                 coloured(fmt::format("{:<9}", name), Colour::dim, context.style).c_str(),
                 printable(text, true).c_str());
  };
  const bj::object& params = params_of(question);
  const std::string kind = text_of(question, "kind");
  line("question", text_of(question, "id"));
  line("server", text_of(question, "server"));
  line("called", text_of(question, "target"));
  line("client", text_of(question, "client"));
  line("state", text_of(question, "state"));
  line("answered", text_of(question, "action"));
  line("by", text_of(question, "answered_by", text_of(question, "surface")));
  line("message", text_of(params, "message", text_of(question, "message")));
  if (kind == "url") {
    const std::string url = text_of(params, "url", text_of(question, "url"));
    const std::string host = host_of(url);
    line("url", url);
    line("host", host);
    if (suspicious_host(host)) {
      line("warning", "the host is not plain ASCII: it may look like another one");
    }
  }
  for (const FormField& field : fields_of(question)) {
    std::string text = field.name;
    if (!field.title.empty()) text += " - " + field.title;
    if (!field.description.empty()) text += ": " + field.description;
    if (field.required) text += " (required)";
    if (!field.preset.empty()) text += " [" + field.preset + "]";
    line("field", text);
    for (const Choice& choice : field.choices)
      line("", "  " + choice.value + (choice.title.empty() ? "" : " - " + choice.title));
  }
  if (kind == "sampling" && !params.empty()) line("request", pretty(params));
}

std::string answer_command(const bj::object& question) {
  const std::string id = text_of(question, "id");
  if (text_of(question, "kind") == "sampling" || text_of(question, "kind") == "roots") {
    return fmt::format("mcpx elicit answer {} --result -", id);
  }
  return fmt::format("mcpx elicit answer {}{}", id, example_options(fields_of(question)));
}

int settle_question(const Context& context, const std::string& id, std::string_view action,
                    const std::string& body) {
  const std::string target = fmt::format("/v1/elicitations/{}/{}", percent_encoded(id), action);
  const Fetched reply = fetch(context, "POST", target, body, kSettleTimeout);
  return reply.code;
}

int answer_on_terminal(const Context& context, const bj::object& question) {
  const std::string id = text_of(question, "id");
  const std::string kind = text_of(question, "kind");
  show_question(question, context, stderr);
  if (kind == "url") {
    say("mcpx does not open it. Go there yourself if you trust it, then accept.");
    const std::string action = choose("accept: I agree to go there");
    if (action.empty()) return left_open(context);
    return settle_question(context, id, action, body_with({}, {}));
  }
  if (kind != "form") {
    say("a person cannot type the answer to that; see 'mcpx help elicit'");
    return left_open(context);
  }
  const std::vector<FormField> fields = fields_of(question);
  while (true) {
    std::string content = "{}";
    std::string action = choose(fields.empty() ? "accept" : "fill in the form");
    if (action.empty()) return left_open(context);
    if (action == "accept" && !fields.empty()) {
      Dialogue dialogue;
      dialogue.ask = read_line;
      dialogue.say = say;
      const auto typed = ask_form(dialogue, fields);
      if (!typed) return left_open(context);
      content = *typed;
      // What is sent is seen before (2025-11-25 client/elicitation, "User Interaction Model").
      say("the answer: " + printable(content));
      const auto sure = read_line("send it? [y/N] ");
      if (!sure) return left_open(context);
      if (*sure != "y" && *sure != "yes") continue;
    }
    const std::string body = action == "accept" ? body_with("content", content) : body_with({}, {});
    const int code = settle_question(context, id, action, body);
    if (code != kFailed || action != "accept") return code;
  }
}

}  // namespace mcpx::cli
