// Renewal: until when each list of a server may be served as it is, and who waits for it to be read
// again (2026-07-28 server/utilities/caching: a stale list is read again on its next access).
//
// A list is asked for at most once a second, however short its ttlMs; one that a slow server has
// not sent in time is served as it was until the reading has come to an end.
// Thread: stale() and announced() any; the rest home shard.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "mcp/method.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/shard.hpp"

namespace mcpx::upstream {

inline constexpr Milliseconds kBetweenRenewals{1'000};

class Renewal {
 public:
  explicit Renewal(runtime::Shard& home);

  bool stale(mcp::ListKind kind, TimePoint now) const;

  // The list was read, or reading it failed; `until` is what its server allows.
  void settle(mcp::ListKind kind, TimePoint until, bool read);
  // True while the server has agreed to say when that list changes.
  bool announced(mcp::ListKind kind) const;
  void announce(mcp::ListKind kind, bool agreed);
  // What its server allows has changed.
  void set(mcp::ListKind kind, TimePoint until);
  bool awaited(mcp::ListKind kind) const;
  // True once the list was read; false when that failed or the deadline passed. The caller has seen
  // to it that it is being read.
  Task<bool> wait(mcp::ListKind kind, TimePoint deadline);

 private:
  using Waiting = std::vector<std::shared_ptr<runtime::OneShot<bool>>>;
  runtime::Shard& home_;
  std::array<std::atomic<TimePoint::rep>, mcp::kListKinds> until_;
  std::array<std::atomic<bool>, mcp::kListKinds> announced_{};
  std::array<Waiting, mcp::kListKinds> waiting_;
};

}  // namespace mcpx::upstream
