// StandIn: asks for one call: its caller what that one declared, the broker for the rest.
//
// When it goes, the call is over, and what the broker kept of its answers may be forgotten. A call
// that waits for the broker gives way to others: its question ends without an answer. Thread: made
// and asked on the caller's shard; destroyed on any.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/broker.hpp"
#include "call/call.hpp"

namespace mcpx::broker {

class StandIn final : public call::Asker, public std::enable_shared_from_this<StandIn> {
 public:
  // Of the caller, which may be null, what it declared is asked; of the broker, which outlives
  // this, what is in `stands_in`.
  StandIn(Broker& broker, std::shared_ptr<call::Asker> caller, mcp::Askable askable,
          mcp::Askable stands_in, Origin origin)
      : broker_(broker),
        shard_(runtime::Shard::current()),
        caller_(std::move(caller)),
        askable_(askable),
        stands_in_(stands_in),
        origin_(std::move(origin)) {}
  ~StandIn() override { broker_.release(std::move(ids_)); }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  Task<call::Response> ask(const call::Question& question,
                           runtime::CancelSource& withdrawn) override;
  // Since when its oldest question waits at the broker: nobody may come to answer it.
  TimePoint away_since() const override;
  void give_way() override;

  // From here on what is asked belongs to a round that is made again after a restart.
  void redriven(std::string redrive) { origin_.redrive = std::move(redrive); }

 private:
  struct Waiting;
  void note_waiting();

  Broker& broker_;
  runtime::Shard& shard_;
  std::shared_ptr<call::Asker> caller_;
  mcp::Askable askable_, stands_in_;
  Origin origin_;
  std::vector<std::string> ids_;   // of answers
  std::vector<Waiting*> waiting_;  // at the broker, the oldest first, each in its frame
  std::atomic<Clock::rep> away_since_{kNever.time_since_epoch().count()};
};

// Asks the broker on behalf of nobody: what belongs to no call.
class Unattended final : public call::Asker {
 public:
  explicit Unattended(Broker& broker) : broker_(broker) {}
  Task<call::Response> ask(const call::Question& question,
                           runtime::CancelSource& withdrawn) override;

 private:
  Broker& broker_;
};

// For whom `call` asks; `server` is whose it is.
Origin origin_of(const call::Call& call, std::string_view server);

}  // namespace mcpx::broker
