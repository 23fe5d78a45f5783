#include "downstream/call_asker.hpp"

#include <utility>

#include "downstream/completion.hpp"
#include "log/log.hpp"
#include "rpc/message.hpp"
#include "runtime/timer.hpp"

namespace mcpx::downstream {

// One question on the wire.
struct CallAsker::Out {
  Out(CallAsker& owner_in, Asked& asked) : owner(owner_in), entry(asked, *owner_in.session_) {
    QuestionId number;
    number.shard = owner.shard_.index();
    number.number = entry.number();
    id = question_id(owner.core_->mark, number);
    owner.out_.push_back(this);
  }
  ~Out() { std::erase(owner.out_, this); }
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;

  CallAsker& owner;
  Asked::Entry entry;
  std::string id;   // raw token
  std::string why;  // it was withdrawn
  bool unheard = false;
};

CallAsker::CallAsker(Core& core, SessionPtr session, std::shared_ptr<Voice> voice,
                     runtime::CancelSource* gone)
    : core_(core.shared_from_this()),
      shard_(runtime::Shard::current()),
      session_(std::move(session)),
      voice_(std::move(voice)) {
  if (!gone) return;
  gone_ = gone->subscribe([this](const std::string&) {
    if (voice_->resumable()) return;  // it may come back for the question
    open_ = false;
    unreachable_ = true;
    withdraw_all("the client went away");
  });
}

// On an endpoint that merges servers the client is told which of them asks (2025-11-25
// client/elicitation, "User Interaction Model").
std::string CallAsker::spell(const call::Question& question, std::string_view id) const {
  mcp::QuestionContext context;
  context.to = session_->revision;
  context.askable = session_->askable;
  if (session_->endpoint.empty()) context.server = question.server;
  // The one of the question: unique, and no secret.
  const std::string own_id = json::decode_string(id).value_or("");
  context.elicitation_id = own_id;
  std::string text;
  rpc::append_request(text, id, question.method,
                      mcp::question_params_for(question.kind, question.params, context));
  return text;
}

bool CallAsker::asked_too_often(const call::Question& question) {
  const config::Ask& limits = core_->config().ask;
  const TimePoint now = Clock::now();
  const EndpointPtr endpoint = endpoint_now(*core_, question.server);
  const bool server = !endpoint || !endpoint->server ||
                      endpoint->server->question_rate().take(limits.per_server, now);
  const bool session = session_->live.questions.take(limits.per_session, now);
  if (server && session) return false;
  log::info("server {} asks more often than {} allows", question.server,
            server ? "ask.per_session" : "ask.per_server");
  return true;
}

void CallAsker::expect_end_of(const call::Question& question) {
  const EndpointPtr endpoint = endpoint_now(*core_, question.server);
  if (!endpoint || !endpoint->server) return;
  expect_completion(*core_, *endpoint->server, session_, question.params);
}

Task<call::Response> CallAsker::ask(const call::Question& question,
                                    runtime::CancelSource& withdrawn) {
  if (!open_) co_return none(question.kind, "the call is over");
  if (out_.size() >= kAtMost) {
    co_return call::Response::none(question.kind, "the client is asked too much already");
  }
  if (asked_too_often(question)) {
    co_return call::Response::none(question.kind, "too much is asked");
  }
  if (question.kind == mcp::QuestionKind::url) expect_end_of(question);
  Out out(*this, core_->local(shard_).asked);
  log::debug("server {} asks {} as {}", question.server, question.method, out.id);
  if (!voice_->ask(spell(question, out.id))) {
    unreachable_ = true;
    co_return none(question.kind, "the client went away");
  }
  const auto subscription =
      withdrawn.subscribe([this, &out](const std::string& reason) { withdraw(out, reason); });
  runtime::Watchdog patience(shard_, [this, &out] {
    out.unheard = !voice_->heard();  // it could have come back, and did not
    withdraw(out, "nobody answered in time");
  });
  patience.set(Clock::now() + core_->config().ask.timeout);
  const std::optional<call::Response> answer = co_await out.entry.answer.wait();
  if (!answer) {
    call::Response nothing = none(question.kind, out.why);
    if (out.unheard) nothing.unreachable = true;
    co_return nothing;
  }
  if (!answer->error.empty()) co_return *answer;
  if (!mcp::is_answer(question.kind, answer->result)) {
    log::debug("the answer to {} is none to {}", out.id, question.method);
    co_return call::Response::of_error(
        rpc::error_object(rpc::kInternalError, "the client's answer was malformed"));
  }
  co_return call::Response::of_result(
      mcp::answer_for(question.kind, question.params, answer->result));
}

// That of a client that is gone somebody else may give.
call::Response CallAsker::none(mcp::QuestionKind kind, std::string_view why) const {
  call::Response response = call::Response::none(kind, why);
  response.unreachable = unreachable_;
  return response;
}

void CallAsker::withdraw(Out& out, std::string_view reason) {
  if (out.entry.answer.is_set()) return;
  out.why = reason;
  out.entry.answer.set(std::nullopt);
  json::ObjectBuilder params;
  params.raw("requestId", out.id).string("reason", reason);
  std::string text;
  rpc::append_notification(text, "notifications/cancelled", params.take());
  voice_->notify(std::move(text));
}

void CallAsker::withdraw_all(std::string_view reason) {
  for (Out* out : std::vector<Out*>(out_))
    withdraw(*out, reason);
}

void CallAsker::finish() {
  open_ = false;
  withdraw_all("the call is over");
  gone_ = runtime::CancelSource::Subscription();
}

}  // namespace mcpx::downstream
