// Parked: one call of a modern client to a legacy server, which goes on while its questions travel
// in results and their answers in retries (2026-07-28 basic/patterns/mrtr).
//
// It owns what the call refers to, because the request that began it ends with the first round. At
// most one request waits for what comes next: the outcome, or questions. Thread: the shard of the
// request that began it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "call/call.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/timer.hpp"
#include "runtime/waiter.hpp"
#include "upstream/server.hpp"

namespace mcpx::ask {

// The request that waits for a parked call at the moment, and where to tell it something.
struct Listener {
  Listener() = default;
  std::shared_ptr<call::NotificationSink> sink;  // may be null
  runtime::Shard* shard = nullptr;
  std::string progress_token;  // raw; empty: wants no progress
  mcp::Askable askable = 0;    // what this round may ask
};

class Parked final : public call::Asker, public std::enable_shared_from_this<Parked> {
 public:
  struct Bounds {
    Milliseconds timeout{0};  // of each question
    std::size_t rounds = 0;
    std::size_t per_server = 0;  // questions a minute; 0: not bounded
    bool names_server = false;   // to the caller, in the message
    // Asked what the caller cannot be, if that is among `otherwise_askable`; may be null.
    std::shared_ptr<call::Asker> otherwise;
    mcp::Askable otherwise_askable = 0;
  };
  // Questions out at once; more are not passed on.
  static constexpr std::size_t kAtMost = 16;

  // `holds` keeps the server there.
  Parked(runtime::Shard& shard, std::shared_ptr<const void> holds, upstream::Server& server,
         const call::Call& call, Bounds bounds);

  Task<void> run();  // the whole call, once
  Task<call::Response> ask(const call::Question& question,
                           runtime::CancelSource& withdrawn) override;
  TimePoint away_since() const override;
  void give_way() override;

  void attach(Listener listener);
  void detach();
  // Takes the answers to what is out; keeps those to questions that may still come.
  void take(json::Raw responses);
  // What the attached request is to be told: the outcome, or the raw inputRequests.
  struct News {
    News() = default;
    std::optional<call::Outcome> outcome;
    std::string requests;
  };
  Task<News> next();

  void cancel(const std::string& reason) { cancel_.cancel(reason); }
  bool attached() const { return attached_; }
  bool over() const { return over_; }
  std::size_t questions() const { return out_.size(); }

 private:
  class Voice;
  struct Out {
    Out(std::string key_in, const call::Question& question_in)
        : key(std::move(key_in)), question(question_in) {}
    std::string key;
    const call::Question& question;
    runtime::OneShot<call::Response> answer;
  };
  void copy(const call::Call& call);
  std::string next_key(mcp::QuestionKind kind);
  std::string key_of(const call::Question& question);
  std::optional<call::Response> held_answer(const std::string& key, const call::Question& question);
  std::string requests();
  void refuse_undeclared();

  runtime::Shard& shard_;
  std::shared_ptr<const void> holds_;
  upstream::Server& server_;
  const Bounds bounds_;
  runtime::CancelSource cancel_;
  std::shared_ptr<Voice> voice_;
  // What call_ refers to.
  std::string params_, client_info_, client_capabilities_, principal_, progress_token_, log_level_,
      request_id_, task_;
  call::Call call_;

  std::vector<Out*> out_;                // each in the frame that waits for its answer
  std::string held_;                     // raw: answers to questions that have not come yet
  std::size_t asked_[4] = {0, 0, 0, 0};  // by kind
  std::size_t rounds_ = 0;
  bool fresh_ = false;  // there are questions that the attached request was not told
  mcp::Askable askable_ = 0;
  bool attached_ = false;
  bool over_ = false;
  bool given_up_ = false;
  std::atomic<Clock::rep> away_since_;  // kNever: there is a request that waits
  std::optional<call::Outcome> outcome_;
  runtime::Waiter news_;
  runtime::Timer together_;
};

}  // namespace mcpx::ask
