// State: what a requestState of ours says, and whether a request may present it: the same request
// as the first one, by the same principal, in time (2026-07-28 basic/patterns/mrtr, "Server
// Requirements"). It leads to a call that is parked, in the run of the daemon that wrote it; or has
// the state of a modern server in it, in any that has its key. That it is used once is up to
// others. Times are Unix milliseconds, as another process reads them. Thread: one shard, each its
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ask/seal.hpp"
#include "base/result.hpp"
#include "json/json.hpp"

namespace mcpx::ask {

struct Ticket {
  Ticket() = default;
  std::size_t shard = 0;     // where the call is parked
  std::uint64_t call = 0;    // which one it is there
  std::size_t round = 0;     // of its rounds of questions
  bool relayed = false;      // nothing is parked: the server has all it needs in
  std::string server_state;  // its own state, a raw token; empty: it gave none
  std::string answers;       // to what the client was not asked: a raw object, or empty
  std::int64_t expiry = 0;
};

std::int64_t unix_now();
Error used_error();  // ask.state_used

// The digest of what a retry has in common with its first request. The order of members and the
// spelling of strings do not count: clients write their parameters anew.
std::string binding_of(std::string_view endpoint, std::string_view principal,
                       std::string_view method, json::Raw params);

class States {
 public:
  // `run` tells this run of the daemon, which has the calls, from all others.
  States(std::shared_ptr<const Seal> seal, std::string run)
      : seal_(std::move(seal)), run_(std::move(run)) {}
  void use(std::shared_ptr<const Seal> seal) { seal_ = std::move(seal); }

  std::string write(const Ticket& ticket, std::string_view binding, std::int64_t now) const;
  // Errors: ask.state_altered, ask.state_foreign, ask.state_expired.
  Result<Ticket> read(std::string_view state, std::string_view binding, std::int64_t now) const;

 private:
  std::shared_ptr<const Seal> seal_;
  std::string run_;
};

}  // namespace mcpx::ask
