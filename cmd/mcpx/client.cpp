#include "client.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>

#include "exit_codes.hpp"
#include "http/client.hpp"
#include "runtime/shard.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::cli {
namespace {

struct Question {
  std::string_view method;
  const std::string& target;
  std::string_view body;
  Milliseconds timeout;
};

Task<Result<Answer>> exchange(http::Client& client, const Question& question) {
  const std::array<http1::Field, 2> fields = {
      {{"Content-Type", "application/json"}, {"Accept", "application/json"}}};
  const std::array<std::string_view, 1> parts = {question.body};
  http::Request request;
  request.method = question.method;
  request.target = question.target;
  request.fields = fields;
  request.body = parts;
  if (question.timeout.count() > 0) request.deadline = Clock::now() + question.timeout;
  auto response = co_await client.send(request);
  if (!response) co_return response.error();
  auto body = co_await (*response)->body();
  if (!body) co_return body.error();
  Answer answer;
  answer.status = (*response)->head().status;
  answer.body = std::string(body->view());
  co_return answer;
}

Task<void> ask(runtime::Shard& shard, const http::Origin& origin, const Question& question,
               std::optional<Result<Answer>>& out) {
  http::Client::Options options;
  options.limits.body_bytes = 256u << 20;
  {
    http::Client client(shard, origin, options);
    Result<Answer> answer = co_await exchange(client, question);
    out.emplace(std::move(answer));
  }
  shard.finish();
}

}  // namespace

Result<Answer> ask_daemon(const std::string& url, std::string_view method,
                          const std::string& target, std::string_view body, Milliseconds timeout) {
  const auto parsed = http::parse_url(url);
  if (!parsed) return Error("cli.url", parsed.error().message, parsed.error().remedy);

  std::optional<Result<Answer>> out;
  const Question question = {method, target, body, timeout};
  {
    runtime::Shard shard(0);
    runtime::TaskGroup group(shard);
    group.spawn("ask", ask(shard, parsed->origin, question, out));
    shard.run();
  }
  if (!out) return Error("cli.failed", "the request ended without an answer", "try again");
  if (*out) return std::move(**out);
  const Error& error = out->error();
  if (error.code == "http.too_large") return Error("cli.failed", error.message, error.remedy);
  return Error("cli.unreachable", fmt::format("no answer from mcpxd at {}: {}", url, error.message),
               unreachable_remedy());
}

int exit_code_of(const Error& error) {
  if (error.code == "cli.unreachable") return kUnreachable;
  if (error.code == "cli.url" || error.code == "cli.usage") return kUsage;
  return kFailed;
}

std::string unreachable_remedy() {
  return "start it with 'mcpxd --config FILE' (or 'systemctl --user start mcpxd'), or say where it "
         "is with --url or $MCPX_URL";
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace mcpx::cli
