#include "ask/parked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/splice.hpp"
#include "log/log.hpp"
#include "mcp/asking.hpp"
#include "rpc/message.hpp"

namespace mcpx::ask {
namespace {

// Questions that a server asks at once travel together: so long is waited for more of them.
constexpr Milliseconds kTogether{5};
// Of answers that were sent before they were asked for.
constexpr std::size_t kHeldBytes = 1024 * 1024;
constexpr std::size_t kLongestKey = 128;

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

call::Outcome given_up(const std::string& server) {
  const Error error("ask.given_up",
                    fmt::format("the call waited for answers while other calls needed its place at "
                                "server {}, and was ended",
                                server),
                    "call anew without requestState, or raise instances.max for this server");
  return call::Outcome::of_failure(rpc::kInvalidParams, error, server);
}

}  // namespace

// What the server says meanwhile, to whichever request waits, under that one's progress token.
class Parked::Voice final : public call::NotificationSink {
 public:
  void attach(Listener listener) { listener_ = std::move(listener); }
  void detach() { listener_ = Listener(); }

  void notify(std::string json) override {
    if (!listener_.sink) return;
    if (json::find_string(json, "method") == "notifications/progress") {
      if (listener_.progress_token.empty()) return;
      const json::Raw params = json::find(json, "params").value_or("{}");
      const std::string own =
          json::Splice(params).set("progressToken", listener_.progress_token).text();
      json = json::Splice(json).set("params", own).text();
    }
    if (listener_.shard->is_current()) return listener_.sink->notify(std::move(json));
    listener_.shard->post([sink = listener_.sink, text = std::move(json)]() mutable {
      sink->notify(std::move(text));
    });
  }

 private:
  Listener listener_;
};

Parked::Parked(runtime::Shard& shard, std::shared_ptr<const void> holds, upstream::Server& server,
               const call::Call& call, Bounds bounds)
    : shard_(shard),
      holds_(std::move(holds)),
      server_(server),
      bounds_(bounds),
      voice_(std::make_shared<Voice>()),
      away_since_(kNever.time_since_epoch().count()),
      together_(shard) {
  copy(call);
}

void Parked::copy(const call::Call& call) {
  const call::Caller& caller = call.caller;
  json::Splice params(call.params);
  // What goes on from a state of ours has been taken up here. Without one it may be for a modern
  // server whose era is not known yet; a legacy one is not sent it anyway.
  if (json::find(call.params, "requestState")) {
    params.remove("inputResponses").remove("requestState");
  }
  params_ = params.text();
  client_info_ = caller.client_info;
  client_capabilities_ = caller.client_capabilities;
  principal_ = caller.principal;
  progress_token_ = caller.progress_token;
  log_level_ = caller.log_level;
  request_id_ = caller.request_id;
  task_ = call.task;

  call_.method = call.method;
  call_.method_name = mcp::info(call.method).name;
  call_.params = params_;
  call_.target_member = call.target_member;  // a literal
  call_.target_value = call.target_value;
  call_.task = task_;
  call_.deadline = call.deadline;
  call_.caller.revision = caller.revision;
  call_.caller.principal = principal_;
  call_.caller.client_info = client_info_;
  call_.caller.client_capabilities = client_capabilities_;
  call_.caller.progress_token = progress_token_;
  call_.caller.log_level = log_level_;
  call_.caller.request_id = request_id_;
  call_.caller.askable = static_cast<mcp::Askable>(caller.askable | bounds_.otherwise_askable);
  if (caller.sink) call_.caller.sink = voice_;
  call_.caller.cancel = &cancel_;
  call_.caller.shard = &shard_;
}

Task<void> Parked::run() {
  const std::shared_ptr<Parked> self = shared_from_this();
  call_.caller.asker = self;
  call::Outcome outcome = co_await server_.call(call_);
  call_.caller.asker.reset();  // it is ourselves
  const bool ended = given_up_ && !outcome.ok();
  outcome_.emplace(ended ? given_up(server_.name()) : std::move(outcome));
  over_ = true;
  news_.wake();
}

void Parked::attach(Listener listener) {
  attached_ = true;
  away_since_.store(kNever.time_since_epoch().count(), std::memory_order_relaxed);
  askable_ = listener.askable;
  voice_->attach(std::move(listener));
  fresh_ = !out_.empty();
}

void Parked::detach() {
  attached_ = false;
  away_since_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  voice_->detach();
}

TimePoint Parked::away_since() const {
  const TimePoint since(Duration(away_since_.load(std::memory_order_relaxed)));
  return since == kNever && bounds_.otherwise ? bounds_.otherwise->away_since() : since;
}

void Parked::give_way() {
  shard_.post([self = shared_from_this()] {
    if (self->over_) return;
    if (self->attached_) {
      if (self->bounds_.otherwise) self->bounds_.otherwise->give_way();
      return;
    }
    log::info(
        "a call to server {} waits for a client that does not come back, and ends: others "
        "need its place",
        self->server_.name());
    self->given_up_ = true;
    self->cancel_.cancel("its place is needed, and its client did not come back");
  });
}

// --- Questions

// A server that calls its requests by names has names for its questions.
std::string Parked::key_of(const call::Question& question) {
  auto own = json::decode_string(question.id);
  const bool fits = own && !own->empty() && own->size() <= kLongestKey;
  const bool taken =
      fits && std::any_of(out_.begin(), out_.end(), [&](Out* out) { return out->key == *own; });
  return fits && !taken ? std::move(*own) : next_key(question.kind);
}

// By kind and order, so that an answer may be sent before its question was asked.
std::string Parked::next_key(mcp::QuestionKind kind) {
  const std::string_view name = name_of(kind);
  const bool url = kind == mcp::QuestionKind::url;  // counts as the form does
  const auto slot = static_cast<std::size_t>(url ? mcp::QuestionKind::form : kind);
  return fmt::format("{}-{}", name, ++asked_[slot]);
}

std::optional<call::Response> Parked::held_answer(const std::string& key,
                                                  const call::Question& question) {
  if (held_.empty()) return std::nullopt;
  const auto found = json::find(held_, key);
  if (!found || !mcp::is_answer(question.kind, *found)) return std::nullopt;
  auto response =
      call::Response::of_result(mcp::answer_for(question.kind, question.params, *found));
  held_ = json::Splice(held_).remove(key).text();
  return response;
}

Task<call::Response> Parked::ask(const call::Question& question, runtime::CancelSource& withdrawn) {
  const mcp::Askable needed = mcp::needed_for(question.kind, question.params);
  if (bounds_.otherwise && (askable_ & needed) != needed) {
    co_return co_await bounds_.otherwise->ask(question, withdrawn);
  }
  const std::string key = key_of(question);
  if (auto held = held_answer(key, question)) co_return std::move(*held);
  const bool too_many = out_.size() >= kAtMost || rounds_ >= bounds_.rounds ||
                        !server_.question_rate().take(bounds_.per_server, Clock::now());
  if (too_many) {
    log::info("server {} asks more than its callers may be asked", question.server);
    co_return call::Response::none(question.kind, "the caller was asked too much");
  }
  Out out(key, question);
  out_.push_back(&out);
  fresh_ = true;
  news_.wake();
  const auto give_up = [&out](const std::string& why) {
    out.answer.set(call::Response::none(out.question.kind, why));
  };
  const auto subscription = withdrawn.subscribe(give_up);
  runtime::Watchdog patience(shard_, [give_up] { give_up("nobody answered in time"); });
  patience.set(Clock::now() + bounds_.timeout);
  call::Response response = co_await out.answer.wait();
  std::erase(out_, &out);
  co_return response;
}

// What is no answer at all stays asked (basic/patterns/mrtr, "Error Handling").
void Parked::take(json::Raw responses) {
  if (!json::is_object(responses)) return;
  json::Splice rest(responses);  // a server may use its names again
  for (Out* out : out_) {
    const auto found = json::find(responses, out->key);
    if (!found || !mcp::is_answer(out->question.kind, *found)) continue;
    out->answer.set(call::Response::of_result(
        mcp::answer_for(out->question.kind, out->question.params, *found)));
    rest.remove(out->key);
  }
  if (responses.size() <= kHeldBytes) held_ = rest.text();
}

// A retry carries capabilities of its own, and is asked for nothing else.
void Parked::refuse_undeclared() {
  for (Out* out : out_) {
    const mcp::Askable needed = mcp::needed_for(out->question.kind, out->question.params);
    if ((askable_ & needed) == needed) continue;
    out->answer.set(call::Response::of_error(mcp::undeclared_error(out->question.kind, askable_)));
  }
}

// {} when nothing is left to ask.
std::string Parked::requests() {
  refuse_undeclared();
  mcp::QuestionContext context;
  context.to = call_.caller.revision;
  context.askable = askable_;
  json::ObjectBuilder all;
  for (const Out* out : out_) {
    if (out->answer.is_set()) continue;
    if (bounds_.names_server) context.server = out->question.server;
    json::ObjectBuilder request;
    request.string("method", out->question.method);
    request.raw("params",
                mcp::question_params_for(out->question.kind, out->question.params, context));
    all.raw(out->key, request.take());
  }
  return all.take();
}

Task<Parked::News> Parked::next() {
  News news;
  while (true) {
    if (outcome_) {
      news.outcome = std::move(outcome_);
      outcome_.reset();
      co_return news;
    }
    if (!fresh_) {
      co_await news_.wait();
      continue;
    }
    const bool waited = co_await together_.sleep_for(kTogether);
    static_cast<void>(waited);
    fresh_ = false;
    news.requests = requests();
    if (outcome_ || news.requests == "{}") continue;
    ++rounds_;
    co_return news;
  }
}

}  // namespace mcpx::ask
