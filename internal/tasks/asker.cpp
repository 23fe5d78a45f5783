// What a server asks in the course of a task on the wire waits with the task: for tasks/update, or
// for a legacy client that waits for the result and is asked itself.
#include <fmt/format.h>

#include "log/log.hpp"
#include "tasks/book.hpp"

namespace mcpx::tasks {
namespace {

// Questions out at once; more are not passed on.
constexpr std::size_t kAtMost = 16;

constexpr std::string_view kUnheard = "the call could not become a task, which can be asked";

std::string_view name_of(mcp::QuestionKind kind) {
  switch (kind) {
    case mcp::QuestionKind::form:
    case mcp::QuestionKind::url:
      return "elicitation";
    case mcp::QuestionKind::sampling:
      return "sampling";
    case mcp::QuestionKind::roots:
      return "roots";
  }
  return "question";
}

}  // namespace

class Book::Asker final : public call::Asker {
 public:
  Asker(Book& book, const JobPtr& job) : book_(book), job_(job) {}

  Task<call::Response> ask(const call::Question& question,
                           runtime::CancelSource& withdrawn) override {
    const JobPtr job = job_.lock();
    if (!job || job->over() || book_.closing_) {
      co_return call::Response::none(question.kind, "the task is over");
    }
    if (job->unheard) co_return call::Response::none(question.kind, kUnheard);
    if (job->open.size() >= kAtMost) {
      co_return call::Response::none(question.kind, "the client is asked too much already");
    }
    Open open(fmt::format("{}-{}", name_of(question.kind), ++job->questions), question);
    job->open.push_back(&open);
    show(*job);
    const auto subscription = withdrawn.subscribe([&open](const std::string& reason) {
      open.answer.set(call::Response::none(open.question.kind, reason));
    });
    runtime::Watchdog patience(book_.home_, [&open] {
      open.answer.set(call::Response::none(open.question.kind, "nobody answered in time"));
    });
    patience.set(Clock::now() + book_.hooks_.config().ask.timeout);
    call::Response response = co_await open.answer.wait();
    std::erase(job->open, &open);
    show(*job);
    co_return response;
  }

 private:
  void show(Job& job) {
    if (job.over()) return;
    State& state = job.state;
    state.questions.clear();
    for (const Open* open : job.open) {
      const std::string& params = open->question.params;
      state.questions.emplace_back(open->key, open->question.method,
                                   with_related_task(params.empty() ? "{}" : params, ""));
    }
    state.status = job.open.empty() ? Status::working : Status::input_required;
    book_.publish(job);
  }

  Book& book_;
  std::weak_ptr<Job> job_;
};

void Book::hear_nothing(Job& job) {
  job.unheard = true;
  for (Open* open : job.open)
    open->answer.set(call::Response::none(open->question.kind, kUnheard));
}

std::shared_ptr<call::Asker> Book::asker_of(const JobPtr& job) {
  return std::make_shared<Asker>(*this, job);
}

}  // namespace mcpx::tasks
