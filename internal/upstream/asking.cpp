#include "upstream/asking.hpp"

#include <algorithm>
#include <utility>

#include "log/log.hpp"
#include "upstream/server.hpp"

namespace mcpx::upstream {
namespace {

std::string response_text(json::Raw id, const call::Response& response) {
  std::string out;
  if (response.error.empty()) {
    rpc::append_result(out, id, response.result);
  } else {
    rpc::append_error(out, id, response.error);
  }
  return out;
}

}  // namespace

bool Asking::take(const rpc::Message& message, rpc::Number number, const call::Call& call) {
  const auto kind = mcp::question_kind(message.method, message.params);
  if (!kind) return false;
  const call::Caller& caller = call.caller;
  const mcp::Askable askable = caller.asker ? caller.askable : mcp::Askable{0};
  const mcp::Askable needed = mcp::needed_for(*kind, message.params);
  if ((askable & needed) != needed) {
    refuse(message, call::Response::of_error(mcp::undeclared_error(*kind, askable)));
    return true;
  }
  runtime::Shard& shard = caller.shard ? *caller.shard : runtime::Shard::current();
  return start(message, *kind, number, caller.asker, shard);
}

bool Asking::take_for_nobody(const rpc::Message& message, const Environment& environment) {
  const auto kind = mcp::question_kind(message.method, message.params);
  if (!kind || !environment.nobody) return false;
  const mcp::Askable needed = mcp::needed_for(*kind, message.params);
  if ((environment.nobody_askable & needed) != needed) return false;
  return start(message, *kind, kNobodys, environment.nobody, runtime::Shard::current());
}

bool Asking::start(const rpc::Message& message, mcp::QuestionKind kind, rpc::Number number,
                   std::shared_ptr<call::Asker> asker, runtime::Shard& shard) {
  if (out_.size() >= kAtMost) {
    refuse(message, call::Response::none(kind, "too many questions are out already"));
    return true;
  }
  call::Question question(kind, message.method, message.params, server_);
  question.id = message.id;
  const auto out = std::make_shared<Out>(number, message.id, std::move(question));
  add(out);
  if (hooks_.spawn(ask(out, std::move(asker), shard))) return true;
  remove(out);
  refuse(message, call::Response::none(kind, "mcpx is busy"));
  return true;
}

void Asking::refuse(const rpc::Message& message, const call::Response& response) {
  log::debug("server {}: {} was not passed on", server_, message.method);
  hooks_.refuse(response_text(message.id, response), message.method);
}

Task<void> Asking::ask(OutPtr out, std::shared_ptr<call::Asker> asker, runtime::Shard& shard) {
  call::Response response =
      co_await call::ask_caller(std::move(asker), shard, out->question, out->over);
  remove(out);
  if (!out->unwanted) hooks_.answer(response_text(out->id, response), out->question.method);
}

void Asking::add(const OutPtr& out) {
  const bool first = !waits(out->call);
  out_.push_back(out);
  if (first) hooks_.waiting(out->call, true);
}

void Asking::remove(const OutPtr& out) {
  std::erase(out_, out);
  if (!waits(out->call)) hooks_.waiting(out->call, false);
}

bool Asking::waits(rpc::Number call) const {
  return std::any_of(out_.begin(), out_.end(),
                     [call](const OutPtr& out) { return out->call == call; });
}

void Asking::end_call(rpc::Number call) {
  if (out_.empty()) return;
  for (const OutPtr& out : std::vector<OutPtr>(out_)) {
    if (out->call == call) out->over.cancel("the call is over");
  }
}

void Asking::withdraw(json::Raw id, const std::string& reason) {
  for (const OutPtr& out : std::vector<OutPtr>(out_)) {
    if (out->id != id) continue;
    out->unwanted = true;
    out->over.cancel(reason);
  }
}

}  // namespace mcpx::upstream
