// What a legacy server asks over HTTP: on the stream of a call, which says for which; or on another
// stream, where it can only be for the one call in flight, or for any if all are of one client.
#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "log/log.hpp"
#include "upstream/http_post.hpp"
#include "upstream/questions.hpp"

namespace mcpx::upstream {

Asking& HttpLink::asking() {
  Local& here = local();
  if (!here.asking) {
    Asking::Hooks hooks;
    hooks.answer = [this](std::string body, std::string_view method) {
      spawn("answer", send_quietly(std::move(body), std::string(method)));
    };
    hooks.refuse = [this](std::string body, std::string_view method) {
      refuse_request(std::move(body), method);
    };
    hooks.spawn = [this](Task<void> task) { return spawn("question", std::move(task)); };
    hooks.waiting = [this](rpc::Number call, bool waits) { hold(call, waits); };
    here.asking = std::make_unique<Asking>(context_.config.name, std::move(hooks));
  }
  return *here.asking;
}

// False: it is no question to the caller of that call.
bool HttpLink::ask(const rpc::Message& message, Post& post) {
  if (!post.relay || !belongs_to_a_call(message.method, context_.config.roots)) return false;
  return asking().take(message, post.number, post.relay->call());
}

bool HttpLink::ask_any_here(const rpc::Message& message) {
  for (Post* post = local().first; post; post = post->next) {
    if (post->relay) return ask(message, *post);
  }
  return false;
}

namespace {

// A question that goes round the shards.
struct Round {
  Round(rpc::Message message_in, std::size_t shards)
      : message(std::move(message_in)), left(shards) {}
  rpc::Message message;
  std::atomic<bool> taken{false};
  std::atomic<std::size_t> left;  // shards that have not had it
};

}  // namespace

// Asked without an address. Never a guess (case C54).
void HttpLink::ask_somebody(rpc::Message message) {
  const std::size_t calls = calls_;
  const bool known = calls == 1 || (calls > 0 && context_.one_caller);
  if (!known || stopping_) {
    if (!was_declared(message, declared())) return answer_request(message);
    if (!stopping_ && asking().take_for_nobody(message, context_.environment)) return;
    return refuse_request(unattributed_answer(message, calls), message.method);
  }
  const auto round =
      std::make_shared<Round>(std::move(message), context_.environment.shards.size());
  const auto visit = [this, round] {
    const bool still = calls_ == 1 || context_.one_caller;
    if (still && !round->taken && ask_any_here(round->message)) round->taken = true;
    if (--round->left > 0 || round->taken) return;
    if (asking().take_for_nobody(round->message, context_.environment)) return;
    refuse_request(unattributed_answer(round->message, 0), round->message.method);
  };
  for (runtime::Shard* shard : context_.environment.shards) {
    shard->is_current() ? visit() : shard->post(visit);
  }
}

// The call's time stands still while its caller is asked. A read that is under way does not know
// when it goes on, hence the watchdog.
void HttpLink::hold(rpc::Number call, bool waits) {
  Post* post = local().first;
  while (post && post->number != call)
    post = post->next;
  if (!post || !post->relay) return;
  post->overdue.reset();
  if (waits) {
    post->relay->hold(Clock::now());
    post->deadline = post->relay->deadline();
    return;
  }
  post->relay->go_on(Clock::now());
  post->deadline = post->relay->deadline();
  if (post->deadline == kNever) return;
  post->overdue.emplace(runtime::Shard::current(), [this, post] { expire(*post); });
  post->overdue->set(post->deadline);
}

void HttpLink::expire(Post& post) {
  if (Clock::now() < post.deadline) return post.overdue->set(post.deadline);  // there was progress
  post.settle(
      Error("upstream.timeout",
            fmt::format("server {} did not answer {} in time", context_.config.name, post.method),
            "raise call_timeout for this server, or see what it is doing"));
  post.interrupt();
}

void HttpLink::end_questions(const Post& post) {
  if (local().asking) local().asking->end_call(post.number);
}

// On whichever shard it is out.
void HttpLink::withdraw_question(const rpc::Message& message) {
  const auto id = json::find(message.params, "requestId");
  if (!id || stopping_) return;
  const auto visit = [this, raw = std::string(*id)] {
    if (local().asking) local().asking->withdraw(raw, "the server asks no more");
  };
  for (runtime::Shard* shard : context_.environment.shards) {
    shard->is_current() ? visit() : shard->post(visit);
  }
}

}  // namespace mcpx::upstream
