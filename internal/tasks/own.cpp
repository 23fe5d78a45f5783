// A plain call that becomes a task when it takes longer than `tasks.after`, or asks something.
#include <utility>

#include "ask/rounds.hpp"
#include "json/splice.hpp"
#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "tasks/book.hpp"

namespace mcpx::tasks {
namespace {

// Says on what is said of the call for as long as its request waits for it.
class Voice final : public call::NotificationSink {
 public:
  Voice(std::shared_ptr<call::NotificationSink> sink, runtime::Shard& shard)
      : sink_(std::move(sink)), shard_(shard) {}
  void notify(std::string json) override {
    if (!sink_) return;
    shard_.post(
        [sink = sink_, text = std::move(json)]() mutable { sink->notify(std::move(text)); });
  }
  void detach() { sink_.reset(); }

 private:
  std::shared_ptr<call::NotificationSink> sink_;
  runtime::Shard& shard_;
};

}  // namespace

// It owns what the call refers to, because the request that began it may be answered before.
struct Book::Running {
  std::shared_ptr<upstream::Server> server;
  std::string params, progress_token, log_level, request_id;
  std::shared_ptr<Voice> voice;
  call::Call call;
  call::Outcome outcome;
  bool done = false;
};

std::shared_ptr<Book::Running> Book::copy_of(const Slow& slow, const JobPtr& job) {
  const call::Caller& caller = slow.call.caller;
  auto running = std::make_shared<Running>();
  running->server = hooks_.server(slow.server);
  running->params = slow.call.params;
  running->progress_token = caller.progress_token;
  running->log_level = caller.log_level;
  running->request_id = caller.request_id;
  running->voice = std::make_shared<Voice>(caller.sink, *caller.shard);
  call::Call& call = running->call;
  call.method = slow.call.method;
  call.method_name = mcp::info(call.method).name;
  call.params = running->params;
  call.target_member = slow.call.target_member;  // a literal
  call.target_value = slow.call.target_value;
  job->origin.describe(call.caller);
  call.caller.progress_token = running->progress_token;
  call.caller.log_level = running->log_level;
  call.caller.request_id = running->request_id;
  if (caller.sink) call.caller.sink = running->voice;
  call.caller.asker = asker_of(job);
  call.caller.cancel = &job->cancel;
  call.caller.shard = &home_;
  return running;
}

Task<Book::Raced> Book::call_or_task(const Slow& slow) {
  Raced raced;
  raced.full = !has_room(slow.owner);
  if (raced.full) co_return raced;
  Origin origin(slow.call.caller);
  origin.own_uris = slow.own_uris;
  const JobPtr job = make(Kind::own, slow.server, slow.owner, std::move(origin));
  const std::shared_ptr<Running> running = copy_of(slow, job);
  if (!running->server) {
    const Error error("upstream.stopped", "the server was removed from the configuration", "");
    raced.outcome = call::Outcome::of_failure(mcp::kUpstreamFailure, error, slow.server);
    co_return raced;
  }
  tasks_.spawn("call", run(job, running));
  co_return co_await race(slow, job, running);
}

// The call against the time that its client waits for a plain answer.
Task<Book::Raced> Book::race(const Slow& slow, JobPtr job, std::shared_ptr<Running> running) {
  bool late = false;
  Wait& wait = *slow.wait;
  const Watch watch(*job, wait.waiter);
  runtime::Watchdog alarm(home_, [&late, &wait] {
    late = true;
    wait.waiter.wake();
  });
  alarm.set(Clock::now() + slow.after);
  while (!running->done && !late && job->open.empty() && !wait.given_up) {
    co_await wait.waiter.wait();
  }
  bool task = false;
  if (!running->done && !wait.given_up) task = co_await become_task(job);
  if (task && running->done) {  // while it was written
    remove(job);
    task = false;
  }
  if (wait.given_up && !task) job->cancel.cancel("the caller cancelled the request");
  if (!running->done && !task) hear_nothing(*job);
  while (!running->done && !task) {
    co_await wait.waiter.wait();
    if (wait.given_up) job->cancel.cancel("the caller cancelled the request");
  }
  running->voice->detach();
  Raced raced;
  if (task) {
    raced.task = job->state;
  } else {
    raced.outcome = std::move(running->outcome);
  }
  co_return raced;
}

// False: it goes on as a plain call.
Task<bool> Book::become_task(JobPtr job) {
  if (closing_ || !take_place(*job)) co_return false;
  const bool kept = co_await keep(job);
  co_return kept;
}

Task<void> Book::run(JobPtr job, std::shared_ptr<Running> running) {
  running->outcome = co_await running->server->call(running->call);
  if (job->kept && running->outcome.needs_input) {
    const std::size_t rounds = hooks_.config().ask.rounds;
    co_await ask::answer_in_rounds(*running->server, running->call, running->outcome, rounds);
  }
  running->call.caller.asker.reset();
  running->done = true;
  job->wake();
  // What mcpx itself interrupts as it stops is told as that by the next one.
  if (!job->kept || closing_) co_return;
  const call::Outcome& outcome = running->outcome;
  std::string text(outcome.ok() ? outcome.result : outcome.error);
  std::string message;
  if (!outcome.ok()) message = json::find_string(outcome.error, "message").value_or("");
  const Status status = outcome.ok() ? Status::completed : Status::failed;
  co_await finish(job, status, std::move(text), outcome.from, std::move(message));
}

}  // namespace mcpx::tasks
