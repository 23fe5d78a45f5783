// Who waits for what a task comes to, and is asked meanwhile what its server asks.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "rpc/message.hpp"
#include "tasks/book.hpp"

namespace mcpx::tasks {

void Book::give_up(Wait& wait) {
  wait.given_up = true;
  wait.waiter.wake();
}

Task<void> Book::wait_for(JobPtr job, std::shared_ptr<Wait> wait) {
  const Watch watch(*job, wait->waiter);
  runtime::TaskGroup asking(home_);
  while (!job->over() && !closing_ && !wait->given_up) {
    ask_what_waits(job, wait, asking);
    co_await wait->waiter.wait();
  }
  wait->over.cancel("the task is over, or nobody waits for it");
  co_await asking.join();
}

void Book::ask_what_waits(const JobPtr& job, const std::shared_ptr<Wait>& wait,
                          runtime::TaskGroup& asking) {
  // Copies: what can be answered at once may end the task, and its questions with it.
  const std::vector<Question> questions = job->state.questions;
  for (const Question& question : questions) {
    if (job->over()) return;
    if (!job->being_asked.insert(question.key).second) continue;
    asking.spawn("ask", ask_client(job, wait, question));
  }
}

// Nothing is answered for a client that has only stopped waiting, or is gone: another one may come,
// or wait already. A task that nobody knows of has no other.
Task<void> Book::ask_client(JobPtr job, std::shared_ptr<Wait> wait, Question question) {
  const auto kind = mcp::question_kind(question.method, question.params);
  const mcp::Askable askable = wait->asker ? wait->askable : mcp::Askable{0};
  const mcp::Askable needed = kind ? mcp::needed_for(*kind, question.params) : mcp::Askable{0};
  call::Response response;
  if (!kind) {
    response = call::Response::of_error(rpc::error_object(
        rpc::kInternalError, fmt::format("nobody has defined {}", question.method)));
  } else if ((askable & needed) != needed) {
    response = call::Response::of_error(mcp::undeclared_error(*kind, askable));
  } else {
    const std::string params =
        with_related_task(question.params, job->kept ? job->state.id : std::string());
    const call::Question asked(*kind, question.method, params, job->state.server);
    response = co_await call::ask_caller(wait->asker, *wait->shard, asked, wait->over);
  }
  const bool elicitation = kind == mcp::QuestionKind::form || kind == mcp::QuestionKind::url;
  if (elicitation && !response.error.empty()) {
    response = call::Response::none(*kind, "the client answered with an error");
  }
  wait->interrupted = wait->interrupted || response.interrupted;
  if (response.interrupted || (response.unreachable && job->kept)) give_up(*wait);
  const bool wanted = !job->over() && !wait->over.cancelled() && !wait->given_up;
  std::string key = question.key;
  bool delivered = false;
  if (wanted) delivered = co_await answer(job, std::move(key), std::move(response));
  // A modern server may go on to name it until it has taken the answer; keys are used once.
  if (!delivered || job->kind != Kind::modern) job->being_asked.erase(question.key);
  if (!wanted) job->wake();
}

Task<bool> Book::answer(JobPtr job, std::string key, call::Response response) {
  if (job->kind != Kind::modern) {
    for (Open* open : job->open) {
      if (open->key == key) open->answer.set(response);
    }
    co_return true;
  }
  // inputResponses holds results only: a refusal ends the task, as it ends a call.
  if (!response.error.empty()) {
    tasks_.spawn("cancel task", cancel_at_server(job));
    co_await finish(job, Status::failed, response.error, mcp::kLatestLegacy,
                    "the client refused what the server asked");
    co_return true;
  }
  json::ObjectBuilder answers;
  json::ObjectBuilder params;
  params.string("taskId", job->upstream_id);
  params.raw("inputResponses", answers.raw(key, response.result).take());
  std::string text = params.take();
  const call::Outcome outcome =
      co_await ask_server(job, mcp::Method::tasks_update, std::move(text), kNever);
  if (!outcome.ok()) {
    log::debug("task {}: an answer was not taken", job->state.id);
    co_return false;
  }
  co_await poll(job);
  co_return true;
}

}  // namespace mcpx::tasks
