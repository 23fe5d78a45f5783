// Lifecycle: what Server is made of. One coroutine, run(), starts the server, reads its lists,
// waits for something to happen, and starts it again after a failure; everything else only leaves
// it notes (a wanted start, a changed list, a lost link) and wakes it. Thread: home shard, except
// forward_here() and the per-shard links, which belong to each shard.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "runtime/waiter.hpp"
#include "upstream/link.hpp"
#include "upstream/server.hpp"

namespace mcpx::upstream {

using LinkResult = Result<std::shared_ptr<Link>>;

class Lifecycle {
 public:
  Lifecycle(runtime::Shard& home, const config::Server& config, const Environment& environment);

  // --- home shard
  void start();
  Task<LinkResult> acquire(TimePoint deadline, runtime::CancelSource* cancel);
  Task<Result<void>> refresh();
  Status status() const;
  Task<void> stop(TimePoint deadline);
  Task<call::Outcome> forward_at_home(const call::Call& call, TimePoint deadline,
                                      std::uint64_t ticket);
  void cancel(std::uint64_t ticket, const std::string& reason);

  // --- the caller's shard
  Task<call::Outcome> forward_here(const call::Call& call, TimePoint deadline);

  runtime::Shard& home;
  const config::Server& config;
  Environment environment;
  std::shared_ptr<const Catalogue> catalogue;
  std::function<void(mcp::ListKind, bool)> on_catalogue;
  std::function<void()> on_state;
  std::atomic<std::size_t> in_flight{0};
  std::atomic<std::uint64_t> last_ticket{0};

 private:
  template <class T>
  using Waiting = std::vector<std::shared_ptr<runtime::OneShot<T>>>;

  Task<void> run();
  Task<void> attempt();
  Task<LinkResult> open_link();
  Task<LinkResult> open_once(std::optional<mcp::Era> known_era, TimePoint deadline);
  Task<void> serve();
  Task<void> read_lists();
  Task<void> rest();
  Task<void> drop_link(Milliseconds grace);
  void failed(Error error);
  void lost(const Error& error);
  void list_changed(mcp::ListKind kind);
  void publish(std::shared_ptr<const Catalogue> fresh, const std::vector<mcp::ListKind>& kinds);
  void share_link(std::shared_ptr<Link> link);
  void settle_waiting(const LinkResult& result);
  void settle_refresh(const Result<void>& result);
  void set_state(State state);
  void note(TimePoint when);
  bool idle_too_long() const;

  State state_ = State::idle;
  bool wanted_ = false, stopping_ = false, running_ = false;
  std::optional<Error> error_;
  bool lists_read_ = false;    // since the link was opened
  bool start_failed_ = false;  // the last failure was a start, not a crash in service
  std::size_t starts_ = 0, failures_ = 0, failures_in_row_ = 0;
  TimePoint retry_at_{};
  TimePoint last_used_ = Clock::now();
  std::optional<mcp::Era> era_;
  TimePoint ready_since_{};
  std::shared_ptr<Link> link_, opening_;
  std::vector<std::shared_ptr<Link>> shared_;  // by shard index; each read and written only there
  std::array<bool, mcp::kListKinds> dirty_{}, announced_{};
  TimePoint relist_at_ = kNever;
  std::vector<std::string> last_stderr_;
  Waiting<LinkResult> waiting_;
  Waiting<Result<void>> refreshing_;
  std::unordered_map<std::uint64_t, runtime::CancelSource*> tickets_;
  runtime::Waiter event_;
  runtime::Watchdog alarm_;
  runtime::TaskGroup tasks_;
};

}  // namespace mcpx::upstream
