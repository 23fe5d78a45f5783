// State: what a requestState of ours says, and whether a request may present it: the same request
// as the first one, by the same principal, in time, to this run of the daemon (2026-07-28
// basic/patterns/mrtr, "Server Requirements"). That it is used once is up to the Desk. Pure but for
// the seal. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "ask/seal.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "json/json.hpp"

namespace mcpx::ask {

struct Ticket {
  Ticket() = default;
  std::size_t shard = 0;   // where the call is parked
  std::uint64_t call = 0;  // which one it is there
  std::size_t round = 0;   // of its rounds of questions
};

// The digest of what a retry has in common with its first request. The order of members and the
// spelling of strings do not count: clients write their parameters anew.
std::string binding_of(std::string_view endpoint, std::string_view principal,
                       std::string_view method, json::Raw params);

class States {
 public:
  // `run` tells this run of the daemon, which has the calls, from all others.
  States(const Seal::Key& key, std::string run) : seal_(key), run_(std::move(run)) {}

  std::string write(const Ticket& ticket, std::string_view binding, TimePoint expiry) const;
  // Errors: ask.state_altered, ask.state_foreign, ask.state_expired.
  Result<Ticket> read(std::string_view state, std::string_view binding, TimePoint now) const;

 private:
  Seal seal_;
  std::string run_;
};

}  // namespace mcpx::ask
