#include "downstream/answer.hpp"

#include <array>
#include <utility>

#include "rpc/message.hpp"

namespace mcpx::downstream {
namespace {

constexpr std::string_view kPrefix = R"({"jsonrpc":"2.0")";

std::string head_of(json::Raw id, const Answer& answer) {
  std::string head(kPrefix);
  if (!id.empty()) {
    head += ",\"id\":";
    head += id;
  }
  head += answer.is_error() ? ",\"error\":" : ",\"result\":";
  return head;
}

}  // namespace

Answer Answer::result(std::string raw) {
  Answer answer(Source::text);
  answer.text_ = std::move(raw);
  return answer;
}

Answer Answer::shared(registry::Rendered raw) {
  Answer answer(Source::shared);
  answer.shared_ = std::move(raw);
  return answer;
}

Answer Answer::forwarded(call::Outcome outcome) {
  Answer answer(Source::outcome);
  answer.outcome_ = std::move(outcome);
  return answer;
}

Answer Answer::error(int code, std::string_view message, json::Raw data, unsigned status) {
  return error_object(rpc::error_object(code, message, data), status);
}

Answer Answer::error_object(std::string raw, unsigned status) {
  Answer answer(Source::text);
  answer.is_error_ = true;
  answer.status_ = status;
  answer.text_ = std::move(raw);
  return answer;
}

Answer Answer::silence() {
  return Answer(Source::none);
}

json::Raw Answer::body() const {
  switch (source_) {
    case Source::none:
      return {};
    case Source::text:
      return text_;
    case Source::shared:
      return *shared_;
    case Source::outcome:
      return outcome_.result;
  }
  return {};
}

void append_response(std::string& out, json::Raw id, const Answer& answer) {
  out += head_of(id, answer);
  out += answer.body();
  out += '}';
}

Task<void> send_answer(http::Exchange& exchange, Accepts accepts, json::Raw id,
                       const Answer& answer, std::span<const http1::Field> extra) {
  const bool as_stream = answer.is_silence() || (!accepts.json && accepts.events);
  if (as_stream && answer.status() == 200) {
    const Result<void> begun = co_await exchange.begin_stream(extra);
    if (!begun) co_return;
    co_await send_last_event(exchange, id, answer);
    co_return;
  }
  const std::string head = head_of(id, answer);
  const std::array<std::string_view, 3> parts = {head, answer.body(), "}"};
  // Failing means that the client is gone: nobody is left to tell.
  co_await exchange.respond(answer.status(), kJson, parts, extra);
}

Task<void> send_last_event(http::Exchange& exchange, json::Raw id, const Answer& answer) {
  if (!answer.is_silence()) {
    std::string text;
    append_response(text, id, answer);
    const Result<void> sent = co_await exchange.send_event(text);
    if (!sent) co_return;
  }
  co_await exchange.end_stream();
}

Task<void> send_error(http::Exchange& exchange, unsigned status, json::Raw id, int code,
                      std::string_view message, json::Raw data) {
  std::string text;
  rpc::append_error(text, id, rpc::error_object(code, message, data));
  co_await send_body(exchange, status, kJson, text, kNoFields);
}

Task<void> send_body(http::Exchange& exchange, unsigned status, std::string_view type,
                     std::string_view body, std::span<const http1::Field> extra) {
  const std::array<std::string_view, 1> parts = {body};
  co_await exchange.respond(status, type, parts, extra);
}

Task<void> send_empty(http::Exchange& exchange, unsigned status) {
  const std::span<const std::string_view> nothing;
  co_await exchange.respond(status, std::string_view(), nothing, kNoFields);
}

}  // namespace mcpx::downstream
