#include "admin/questions.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "admin/render.hpp"
#include "broker/question_json.hpp"

namespace mcpx::admin {
namespace {

constexpr std::string_view kRoot = "elicitations";
constexpr std::size_t kDepth = 32;  // of an answer
constexpr std::string_view kAnswerExample = R"({"content":{"field":"value"}})";

Reply unknown(const std::string& id) {
  return Reply::error(404, Error("broker.unknown", fmt::format("no question '{}'", id),
                                 "GET /v1/elicitations lists those that wait"));
}

unsigned status_for(const Error& error) {
  if (error.code == "broker.unknown") return 404;
  if (error.code == "broker.settled") return 409;
  if (error.code == "broker.invalid") return 422;
  return 503;
}

Task<Reply> list(http::Exchange& exchange, broker::Broker& broker, const Redactor& redactor) {
  static constexpr std::string_view kStates[] = {"pending",   "answered", "expired",
                                                 "withdrawn", "orphaned", "all"};
  std::string state = parameter(exchange.head().query(), "state").value_or("pending");
  if (std::find(std::begin(kStates), std::end(kStates), state) == std::end(kStates)) {
    co_return Reply::error(
        400, Error("admin.bad_request", "there is no such state",
                   "state is pending, answered, expired, withdrawn, orphaned or all"));
  }
  if (state == "all") state.clear();
  const auto rows = co_await broker.list(std::move(state));
  if (!rows) co_return Reply::error(503, rows.error());
  std::string array = "[";
  for (const auto& row : *rows) {
    if (array.size() > 1) array += ',';
    array += redact_json(broker::summary_json(row), redactor);
  }
  json::ObjectBuilder body;
  co_return Reply(200, body.raw("elicitations", array + "]").take());
}

Task<Reply> show(broker::Broker& broker, std::string id, const Redactor& redactor) {
  std::string wanted = id;
  const auto row = co_await broker.find(std::move(wanted));
  if (!row) co_return Reply::error(503, row.error());
  if (!*row) co_return unknown(id);
  co_return Reply(200, redact_json(broker::question_json(**row), redactor));
}

// The content of a form, or the whole result for what is none. Nobody but a person accepts a URL:
// what comes in here is one's word for it.
std::optional<Reply> read_answer(json::Raw body, broker::Answer& answer) {
  answer.surface = json::find_string(body, "surface") == "cli" ? "cli" : "rest";
  const auto content = json::find(body, "content");
  const auto result = json::find(body, "result");
  const bool fine =
      (!content || json::is_object(*content)) && (!result || json::is_object(*result));
  if (!fine || (content && result)) {
    return Reply::error(400, Error("admin.bad_request",
                                   "'content', or 'result' for sampling and roots, is an object",
                                   "send " + std::string(kAnswerExample)));
  }
  if (content) answer.content = *content;
  if (result) answer.content = *result;
  return std::nullopt;
}

Task<Reply> settle(http::Exchange& exchange, broker::Broker& broker, broker::Answer answer,
                   const Redactor& redactor) {
  Body body = body_of(exchange, kDepth, kAnswerExample);
  if (body.refusal) co_return std::move(*body.refusal);
  if (auto refusal = read_answer(body.object, answer)) co_return std::move(*refusal);
  answer.by = exchange.principal();
  const auto row = co_await broker.answer(std::move(answer));
  if (!row) co_return Reply::error(status_for(row.error()), row.error());
  co_return Reply(200, redact_json(broker::summary_json(*row), redactor));
}

}  // namespace

Task<Reply> serve_question(http::Exchange& exchange, broker::Broker& broker,
                           std::shared_ptr<const Redactor> redactor, std::string_view rest) {
  rest.remove_prefix(kRoot.size());
  const bool get = exchange.head().method == "GET";
  if (rest.empty() || rest == "/") {
    if (!get) co_return Reply::wrong_method("GET");
    co_return co_await list(exchange, broker, *redactor);
  }
  std::string_view path = rest.substr(1);
  const std::size_t slash = path.find('/');
  std::string id = percent_decode(path.substr(0, slash));
  if (rest.front() != '/' || id.empty()) co_return unknown(id);
  if (slash == std::string_view::npos) {
    if (!get) co_return Reply::wrong_method("GET");
    co_return co_await show(broker, std::move(id), *redactor);
  }
  broker::Answer answer;
  answer.id = std::move(id);
  answer.action = path.substr(slash + 1);
  if (answer.action != "accept" && answer.action != "decline" && answer.action != "cancel") {
    co_return Reply::error(404, Error("admin.no_route", "a question has no such action",
                                      "POST to accept, decline or cancel"));
  }
  if (exchange.head().method != "POST") co_return Reply::wrong_method("POST");
  co_return co_await settle(exchange, broker, std::move(answer), *redactor);
}

}  // namespace mcpx::admin
