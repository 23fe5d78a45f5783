// Lifecycle: what Server is made of. One coroutine, run(), starts the server, reads its lists,
// waits for something to happen, and starts it again after a failure; everything else only leaves
// it notes (a wanted start, a changed list, a lost link) and wakes it. What serves the calls beside
// that first instance is Members'. Thread: home shard, except forward_here(), the breaker and the
// per-shard views, which belong to each shard.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "runtime/waiter.hpp"
#include "upstream/breaker.hpp"
#include "upstream/link.hpp"
#include "upstream/members.hpp"
#include "upstream/memory.hpp"
#include "upstream/opener.hpp"
#include "upstream/renewal.hpp"
#include "upstream/server.hpp"
#include "upstream/task_places.hpp"
#include "upstream/watches.hpp"

namespace mcpx::upstream {

// How long one call may take.
struct Terms {
  TimePoint deadline;
  Milliseconds timeout;         // progress moves the deadline to this long from then,
  TimePoint latest;             // never past this
  std::string* told = nullptr;  // see Forward
};

// What a call came to, and in whose vocabulary.
struct Answered {
  Answered() = default;
  explicit Answered(Reply reply_in, mcp::Revision from_in = mcp::kLatestModern)
      : reply(std::move(reply_in)), from(from_in) {}
  Reply reply = Error();
  mcp::Revision from = mcp::kLatestModern;
};

// Whose instance a caller gets where every session has its own. A modern caller has no session; all
// of one principal that can be asked the same share an instance.
std::string owner_of(const call::Caller& caller, mcp::Askable askable);

class Lifecycle {
 public:
  Lifecycle(runtime::Shard& home, const config::Server& config, const Environment& environment);

  // --- home shard
  void start();
  Task<LinkResult> acquire(TimePoint deadline, runtime::CancelSource* cancel);
  Task<Result<void>> refresh();
  Task<bool> renew(mcp::ListKind kind, TimePoint deadline);
  Status status() const;
  Task<void> stop(TimePoint deadline);
  void cancel(std::uint64_t ticket, const std::string& reason);
  void end_session(const std::string& owner) { members_.end_owner(owner); }
  void roots_changed(const std::string& owner) { members_.roots_changed(owner); }
  void pass_on(ClientNotice notice);
  void expect_completion(const std::string& id, std::shared_ptr<call::Completion> told);
  Task<call::Outcome> watch(Watcher watcher, std::string uri, TimePoint deadline);
  void unwatch(const std::string& owner, const std::string& uri);
  void note_missed(const std::string& owner, const std::string& uri);

  // --- the caller's shard
  Task<Answered> forward(const call::Call& call);
  std::shared_ptr<const Catalogue> offers() const { return view().offers; }
  bool stale(mcp::ListKind kind, TimePoint now) const { return renewal_.stale(kind, now); }
  bool announced(mcp::ListKind kind) const { return renewal_.announced(kind); }
  Watcher watcher_of(const call::Caller& caller) const;
  std::optional<mcp::Era> era() const;

  runtime::Shard& home;
  const config::Server config;  // its own: configurations come and go
  Environment environment;
  std::shared_ptr<const Catalogue> catalogue;
  std::function<void(mcp::ListKind, bool)> on_catalogue;
  std::function<void()> on_state;
  std::function<void(std::vector<ResourceUpdate>)> on_updated;
  std::function<void(ExtensionNotice)> on_extension;
  std::atomic<std::size_t> in_flight{0};
  mutable Rate question_rate;

 private:
  template <class T>
  using Waiting = std::vector<std::shared_ptr<runtime::OneShot<T>>>;

  // What a shard needs to know of the server; swapped by post.
  struct View {
    std::shared_ptr<Link> link;
    std::shared_ptr<const Catalogue> offers;
    std::shared_ptr<const Error> tripped;  // why the breaker opened
  };

  Task<void> run();
  Task<void> recall();
  Task<void> attempt();
  Task<void> serve();
  Task<void> read_lists();
  Task<void> rest();
  Task<void> drop_link(Milliseconds grace);
  Task<void> leave(std::shared_ptr<Link> link, Milliseconds grace);
  LinkEvents events();
  void completed(const std::string& params);
  void say_extension(const std::string& owner, const std::string& json, const std::string& told);
  void failed(Error error);
  void lost(const Error& error);
  void list_changed(mcp::ListKind kind);
  void publish(std::shared_ptr<const Catalogue> fresh, const std::vector<mcp::ListKind>& kinds);
  void update_views(std::function<void(View&)> update);
  void settle_waiting(const LinkResult& result);
  void settle_refresh(const Result<void>& result);
  void set_state(State state);
  void note(TimePoint when);
  bool idle_too_long() const;
  std::optional<Error> refused_now() const;

  // --- relist.cpp
  bool can_read(TimePoint by) const;
  Task<bool> read_again(mcp::ListKind kind, TimePoint deadline);
  TimePoint fresh_until(mcp::ListKind kind) const;
  void freshen();
  void settle_lists(const std::vector<mcp::ListKind>& kinds, bool read);
  void log_remarks(const std::shared_ptr<const Catalogue>& before) const;
  bool fields_refused(const call::Call& call, const Answered& answered) const;
  Task<bool> learn_fields(std::shared_ptr<const Catalogue> used, TimePoint deadline);
  Task<bool> relist_tools(std::shared_ptr<const Catalogue> used, TimePoint deadline);

  // --- watching.cpp
  struct Owned;
  using OwnedPtr = std::shared_ptr<Owned>;
  Watches::Hooks watch_hooks();
  Watches::Hooks owned_hooks(const std::string& owner);
  Members::Hooks member_hooks();
  OwnedPtr owned_by(const Watcher& watcher);
  Task<LinkResult> acquire_owned(OwnedPtr owned, TimePoint deadline);
  void owner_lost(const std::string& owner);
  Task<void> renew_owned(OwnedPtr owned);
  Task<void> forget_owned(OwnedPtr owned);
  void hurry_watching();
  Task<void> stop_watching();

  // --- notices.cpp
  Task<void> deliver(ClientNotice notice);
  Task<Result<void>> deliver_to_own(const ClientNotice& notice, TimePoint deadline);
  Task<Result<void>> deliver_to_first(const ClientNotice& notice, TimePoint deadline);

  Terms terms_of(const call::Call& call) const;
  Task<Answered> forward_once(const call::Call& call, const Terms& terms);
  Task<Answered> forward_at_home(const call::Call& call, const Terms& terms);
  Task<Answered> forward_at_home_body(const call::Call& call, const Terms& terms,
                                      std::uint64_t ticket);
  Task<Answered> forward_over_first(const call::Call& call, const Terms& terms,
                                    runtime::CancelSource& cancelled);
  Task<Answered> forward_over_shared(const call::Call& call, const Terms& terms,
                                     mcp::Askable askable, runtime::CancelSource& cancelled);
  Task<Answered> forward_over_member(const call::Call& call, const Terms& terms,
                                     Members::Wanted wanted, runtime::CancelSource& cancelled);
  Task<Answered> forward_to_task(const call::Call& call, const Terms& terms,
                                 std::shared_ptr<Link> link, runtime::CancelSource& cancelled);
  Task<Answered> forward_here(const call::Call& call, const Terms& terms);
  bool worth_repeating(const call::Call& call, const Error& error) const;
  void judge(Breaker::Verdict verdict, const Reply& reply);
  void tripped(const Error& cause);
  void untripped();
  void well();
  Error refusal() const;
  const View& view() const { return (*views_)[runtime::Shard::current().index()]; }

  State state_ = State::idle;
  bool wanted_ = false, stopping_ = false, running_ = false;
  bool leases_ = false;  // it has asked something on behalf of a call: one instance for each
  std::optional<Error> error_;
  bool lists_read_ = false;    // since the link was opened
  bool start_failed_ = false;  // the last failure was a start, not a crash in service
  std::size_t starts_ = 0, failures_ = 0, failures_in_row_ = 0;
  TimePoint retry_at_{};
  TimePoint last_used_ = Clock::now();
  TimePoint ready_since_{};
  std::shared_ptr<Link> link_;
  std::vector<std::shared_ptr<Link>> leaving_;  // lost sessions whose calls are not over yet
  std::size_t first_calls_ = 0;                 // in flight over link_
  std::size_t notices_ = 0;                     // of clients, on their way
  TaskPlaces task_places_;
  // Elicitations that clients were sent to, by id, the oldest first.
  std::deque<std::pair<std::string, std::shared_ptr<call::Completion>>> completions_;
  // By shard index; each read and written only there. What was posted to a shard may come after us.
  std::shared_ptr<std::vector<View>> views_;
  std::array<bool, mcp::kListKinds> dirty_{}, announced_{};
  TimePoint relist_at_ = kNever, relisted_at_{};
  Renewal renewal_;
  bool learning_ = false;       // the tools are being read for calls whose fields were refused
  TimePoint learn_again_at_{};  // not sooner
  std::vector<std::string> last_stderr_;
  std::vector<std::string> remarks_;  // of the link
  Waiting<LinkResult> waiting_;
  Waiting<Result<void>> refreshing_;
  std::unordered_map<std::uint64_t, runtime::CancelSource*> tickets_;
  std::atomic<std::uint64_t> last_ticket_{0};
  bool from_store_ = false;  // the catalogue is an earlier daemon's
  Memory memory_;
  Breaker breaker_;
  Opener opener_;
  Members members_;
  Watches watches_;                        // on the first instance
  std::map<std::string, OwnedPtr> owned_;  // by owner: on the instance of a session
  runtime::Waiter event_;
  runtime::Watchdog alarm_;
  runtime::TaskGroup tasks_;
};

}  // namespace mcpx::upstream
