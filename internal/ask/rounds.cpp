#include "ask/rounds.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "json/splice.hpp"
#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/spelling.hpp"
#include "runtime/task_group.hpp"
#include "upstream/questions.hpp"

namespace mcpx::ask {
namespace {

// Of one result; what asks for more is not well.
constexpr std::size_t kQuestionsAtMost = 64;

// One member of inputRequests.
struct Asked {
  std::string key;  // with its quotes, as written
  std::string method, params;
  call::Response response;
};

struct Round {
  std::vector<Asked> questions;
  std::string state;  // raw token; empty: the server gave none
};

call::Outcome failure(std::string_view code, const std::string& message, std::string_view remedy,
                      const std::string& server) {
  const Error error{std::string(code), message, std::string(remedy)};
  return call::Outcome::of_failure(mcp::kUpstreamFailure, error, server);
}

// nullopt: it is not a well-formed one.
std::optional<Round> read_round(json::Raw result) {
  Round round;
  if (const auto state = json::find(result, "requestState")) round.state = *state;
  const auto requests = json::find(result, "inputRequests");
  if (!requests) return round.state.empty() ? std::nullopt : std::optional(std::move(round));
  if (!json::is_object(*requests)) return std::nullopt;
  json::Members members(*requests);
  while (const auto member = members.next()) {
    const auto method = json::find_string(member->value, "method");
    if (!method || round.questions.size() == kQuestionsAtMost) return std::nullopt;
    Asked asked;
    asked.key = member->key;
    asked.method = *method;
    asked.params = json::find(member->value, "params").value_or(json::Raw());
    round.questions.push_back(std::move(asked));
  }
  return round;
}

// Answers one question, if need be without asking anybody.
Task<void> ask_one(upstream::Server& server, const call::Caller& caller, Asked& asked,
                   runtime::CancelSource& over) {
  const auto kind = mcp::question_kind(asked.method, asked.params);
  if (!kind) {
    asked.response = call::Response::of_error(rpc::error_object(
        rpc::kInternalError,
        fmt::format("server {} asks what nobody has defined: {}", server.name(), asked.method)));
    co_return;
  }
  if (*kind == mcp::QuestionKind::roots && !server.config().roots.empty()) {
    asked.response = call::Response::of_result(upstream::roots_result(server.config().roots));
    co_return;
  }
  const mcp::Askable askable = caller.asker ? caller.askable : mcp::Askable{0};
  const mcp::Askable needed = mcp::needed_for(*kind, asked.params);
  if ((askable & needed) != needed) {
    asked.response = call::Response::of_error(mcp::undeclared_error(*kind, askable));
    co_return;
  }
  const call::Question question(*kind, asked.method, asked.params, server.name());
  asked.response = co_await caller.asker->ask(question, over);
  const bool elicitation = *kind == mcp::QuestionKind::form || *kind == mcp::QuestionKind::url;
  // inputResponses holds results only; a client that answers a form with an error made no choice.
  if (elicitation && !asked.response.error.empty()) {
    asked.response = call::Response::none(*kind, "the client answered with an error");
  }
}

// All at once; each ends by itself.
Task<void> ask_all(upstream::Server& server, const call::Caller& caller, Round& round) {
  runtime::CancelSource over;
  runtime::CancelSource::Subscription cancelled;
  if (caller.cancel) {
    cancelled =
        caller.cancel->subscribe([&over](const std::string& reason) { over.cancel(reason); });
  }
  runtime::TaskGroup tasks(runtime::Shard::current());
  for (Asked& asked : round.questions)
    tasks.spawn("ask", ask_one(server, caller, asked, over));
  co_await tasks.join();
}

std::string responses_of(const Round& round) {
  std::string responses = "{";
  for (const Asked& asked : round.questions) {
    if (responses.size() > 1) responses += ',';
    responses.append(asked.key).append(":").append(asked.response.result);
  }
  return responses + "}";
}

// What the call is made again with. A state that was not given is not sent.
std::string next_params(json::Raw original, const Round& round) {
  json::Splice params(original);
  if (!round.questions.empty()) params.set("inputResponses", responses_of(round));
  if (!round.state.empty()) params.set("requestState", round.state);
  return params.text();
}

bool was_interrupted(const Round& round) {
  for (const Asked& asked : round.questions) {
    if (asked.response.interrupted) return true;
  }
  return false;
}

const std::string* refusal_in(const Round& round) {
  for (const Asked& asked : round.questions) {
    if (!asked.response.error.empty()) return &asked.response.error;
  }
  return nullptr;
}

bool has_all(mcp::Askable askable, const Asked& asked) {
  const auto kind = mcp::question_kind(asked.method, asked.params);
  if (!kind) return false;
  const mcp::Askable needed = mcp::needed_for(*kind, asked.params);
  return (askable & needed) == needed;
}

// Leaves out what is the client's to answer, or nobody's. True if there was such a question.
bool leave_out(Round& round, mcp::Askable theirs, mcp::Askable ours) {
  const auto left = std::erase_if(round.questions, [&](const Asked& asked) {
    return has_all(theirs, asked) || !has_all(ours, asked);
  });
  return left > 0;
}

call::Outcome too_many_rounds(const upstream::Server& server, std::size_t rounds) {
  return failure("ask.rounds",
                 fmt::format("server {} still needs input after {} rounds of questions",
                             server.name(), rounds),
                 "raise ask.rounds, or report this to the server's author", server.name());
}

// False: it came to no answers, and `outcome` says why.
Task<bool> ask_round(upstream::Server& server, const call::Call& call, Round& round,
                     call::Outcome& outcome) {
  co_await ask_all(server, call.caller, round);
  if (was_interrupted(round)) {
    outcome = failure("ask.interrupted",
                      fmt::format("mcpx stops while server {} waits for input", server.name()),
                      "call again; what is answered until then is not asked again", server.name());
    co_return false;
  }
  const std::string* const refusal = refusal_in(round);
  if (refusal) outcome = call::Outcome::of_error(*refusal, call.caller.revision);
  co_return !refusal;
}

}  // namespace

bool needs_input(const call::Outcome& outcome) {
  return outcome.ok() && mcp::era_of(outcome.from) == mcp::Era::modern &&
         mcp::result_type_of(outcome.result) == mcp::ResultType::input_required;
}

Task<void> answer_in_rounds(upstream::Server& server, call::Call& call, call::Outcome& outcome,
                            std::size_t rounds, BeforeRound before_round) {
  const std::string original(call.params);
  std::string params;
  call.message = nullptr;  // its spans are of the first round
  for (std::size_t made = 0; needs_input(outcome); ++made) {
    if (made == rounds) {
      outcome = too_many_rounds(server, rounds);
      co_return;
    }
    std::optional<Round> round = read_round(outcome.result);
    if (!round) {
      outcome = failure(
          "upstream.bad_frame",
          fmt::format("server {} needs input, but does not say well-formed which", server.name()),
          "report this to the server's author", server.name());
      co_return;
    }
    if (before_round) before_round(outcome);
    const bool answered = co_await ask_round(server, call, *round, outcome);
    if (!answered) co_return;
    params = next_params(original, *round);
    call.params = params;
    outcome = co_await server.call(call);
  }
}

Task<std::string> answer_beside(upstream::Server& server, call::Call& call, call::Outcome& outcome,
                                mcp::Askable theirs, std::size_t rounds, BeforeRound before_round) {
  const std::string original =
      json::Splice(call.params).remove("inputResponses").remove("requestState").text();
  std::string params;
  call.message = nullptr;
  for (std::size_t made = 0; needs_input(outcome); ++made) {
    std::optional<Round> round = read_round(outcome.result);
    if (!round) co_return std::string();
    const bool asks_client = leave_out(*round, theirs, call.caller.askable);
    if (round->questions.empty()) co_return std::string();
    if (made == rounds) {
      outcome = too_many_rounds(server, rounds);
      co_return std::string();
    }
    if (!asks_client && before_round) before_round(outcome);
    const bool answered = co_await ask_round(server, call, *round, outcome);
    if (!answered) co_return std::string();
    if (asks_client) co_return responses_of(*round);
    params = next_params(original, *round);
    call.params = params;
    outcome = co_await server.call(call);
  }
  co_return std::string();
}

}  // namespace mcpx::ask
