#include "call/ask.hpp"

#include <functional>
#include <utility>

#include "runtime/hop.hpp"

namespace mcpx::call {

Response Response::of_result(std::string raw) {
  Response response;
  response.result = std::move(raw);
  return response;
}

Response Response::of_error(std::string raw) {
  Response response;
  response.error = std::move(raw);
  return response;
}

Response Response::none(mcp::QuestionKind kind, std::string_view why) {
  mcp::NoAnswer answer = mcp::no_answer(kind, why);
  Response response;
  response.result = std::move(answer.result);
  response.error = std::move(answer.error);
  return response;
}

Task<Response> ask_caller(std::shared_ptr<Asker> asker, runtime::Shard& shard,
                          const Question& question, runtime::CancelSource& withdrawn) {
  if (shard.is_current()) co_return co_await asker->ask(question, withdrawn);
  const auto there = std::make_shared<runtime::CancelSource>();
  const auto subscription = withdrawn.subscribe([&shard, there](const std::string& reason) {
    shard.post([there, reason] { there->cancel(reason); });
  });
  const std::function<Task<Response>()> make = [&asker, &question, there] {
    return asker->ask(question, *there);
  };
  Response response = co_await runtime::run_on<Response>(shard, make);
  co_return response;
}

}  // namespace mcpx::call
