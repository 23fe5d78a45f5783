#include "client.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

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
  std::string_view authorization;
  std::shared_ptr<const net::TlsContext> tls;
};

Task<Result<Answer>> exchange(http::Client& client, const Question& question) {
  std::vector<http1::Field> fields;
  fields.emplace_back("Content-Type", "application/json");
  fields.emplace_back("Accept", "application/json");
  if (!question.authorization.empty()) {
    fields.emplace_back("Authorization", question.authorization);
  }
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
  options.tls = question.tls;
  {
    http::Client client(shard, origin, options);
    Result<Answer> answer = co_await exchange(client, question);
    out.emplace(std::move(answer));
  }
  shard.finish();
}

}  // namespace

Result<std::shared_ptr<const net::TlsContext>> tls_for(const Daemon& daemon) {
  const auto parsed = http::parse_url(daemon.url);
  if (!parsed || !parsed->origin.tls) return std::shared_ptr<const net::TlsContext>();
  net::TlsOptions options;
  options.ca_file = daemon.ca_file;
  auto made = net::TlsContext::make(options);
  if (made) return made;
  return Error("cli.tls", "--ca: " + made.error().message, made.error().remedy);
}

Result<Answer> ask_daemon(const Daemon& daemon, std::string_view method, const std::string& target,
                          std::string_view body, Milliseconds timeout) {
  const auto parsed = http::parse_url(daemon.url);
  if (!parsed) return Error("cli.url", parsed.error().message, parsed.error().remedy);
  const auto tls = tls_for(daemon);
  if (!tls) return tls.error();

  std::optional<Result<Answer>> out;
  const Question question = {method, target, body, timeout, daemon.authorization, *tls};
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
  if (error.code == "http.tls") {
    return Error(
        "cli.tls", error.message,
        "name the authority of its certificate with --ca or $MCPX_CA_FILE, if you trust it");
  }
  return Error("cli.unreachable",
               fmt::format("no answer from mcpxd at {}: {}", daemon.url, error.message),
               unreachable_remedy());
}

int exit_code_of(const Error& error) {
  if (error.code == "cli.unreachable") return kUnreachable;
  if (error.code == "cli.url" || error.code == "cli.usage" || error.code == "cli.token")
    return kUsage;
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
