// CallAsker: asks a legacy client on the wire, on the stream of the call that the question belongs
// to (2025-11-25 basic/transports, "Sending Messages to the Server").
//
// The client's response is a POST of its own and arrives through Asked. A question nobody answers
// ends with `ask.timeout`, with its call, or with its client, and the client is told that it is
// withdrawn. The upstream may hold it longer than the request lives: finish() detaches it.
// Thread: the request's shard.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "call/ask.hpp"
#include "downstream/core.hpp"
#include "downstream/session.hpp"
#include "downstream/voice.hpp"

namespace mcpx::downstream {

class CallAsker final : public call::Asker {
 public:
  // Questions to one call's client at once; more are not passed on.
  static constexpr std::size_t kAtMost = 16;

  // On the calling shard. `gone` fires when the client's connection is lost, and outlives the call
  // to finish(); null: then its session is over, and its calls with it.
  CallAsker(Core& core, SessionPtr session, std::shared_ptr<Voice> voice,
            runtime::CancelSource* gone);

  Task<call::Response> ask(const call::Question& question,
                           runtime::CancelSource& withdrawn) override;
  // The request is about to be answered: what is still out gets no answer. Before the stream ends.
  void finish();

 private:
  struct Out;
  void expect_end_of(const call::Question& question);
  bool asked_too_often(const call::Question& question);
  std::string spell(const call::Question& question, std::string_view id) const;
  call::Response none(mcp::QuestionKind kind, std::string_view why) const;
  void withdraw(Out& out, std::string_view reason);
  void withdraw_all(std::string_view reason);

  std::shared_ptr<Core> core_;  // whose lists the questions are in
  runtime::Shard& shard_;
  SessionPtr session_;
  std::shared_ptr<Voice> voice_;
  runtime::CancelSource::Subscription gone_;
  bool open_ = true;
  bool unreachable_ = false;  // the client is gone, the call goes on
  std::vector<Out*> out_;     // each in the frame that waits for its answer
};

}  // namespace mcpx::downstream
