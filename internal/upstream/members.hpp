// Members: the instances of one server besides its first: one per session (`scope: session`); one
// for all calls whose callers can be asked the same, which a legacy session declares once (pools);
// or one per concurrent call, for a stdio server that asks questions and cannot say for which call
// (leases).
//
// The first instance reads the lists and belongs to the Lifecycle; these serve calls alone.
// Together they are never more than instances.max: a new one takes the place of the one idle
// longest, else it waits. Calls that wait for a client which is away give way to one that has
// waited long enough for a place. Thread: home shard.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "upstream/opener.hpp"

namespace mcpx::upstream {

class Members {
 private:
  struct Member {
    Member(std::string owner_in, mcp::Askable askable_in)
        : owner(std::move(owner_in)), askable(askable_in) {}
    std::string owner;                      // the session it belongs to; empty: to whoever calls
    mcp::Askable askable;                   // what may be asked through it
    std::optional<std::string> extensions;  // as in Wanted
    std::shared_ptr<Link> link;             // null until it is open
    std::size_t calls = 0;                  // that hold it, or wait for it to open
    std::vector<call::Asker*> askers;       // theirs; null: of one that cannot be asked
    TimePoint last_used{};
    bool ending = false;
    Error error;  // why it did not open
    bool failed = false;
  };
  using MemberPtr = std::shared_ptr<Member>;

 public:
  // News of the instance of a session, by its owner.
  struct Hooks {
    std::function<void(const std::string& owner, const std::string& uri)> updated;
    std::function<void(const std::string&owner)> missed, lost;
    std::function<void(const std::string& owner, const std::string& json, const std::string& told)>
        extension;
  };

  // A member in use; given back when destroyed.
  class Loan {
   public:
    Loan(Members& members, MemberPtr member, call::Asker* asker)
        : members_(&members), member_(std::move(member)), asker_(asker) {}
    Loan(Loan&& other) noexcept
        : members_(other.members_),
          member_(std::exchange(other.member_, nullptr)),
          asker_(other.asker_) {}
    Loan& operator=(Loan&& other) noexcept {
      std::swap(members_, other.members_);
      std::swap(member_, other.member_);
      std::swap(asker_, other.asker_);
      return *this;
    }
    ~Loan() {
      if (member_) members_->give_back(*member_, asker_);
    }
    const std::shared_ptr<Link>& link() const { return member_->link; }

   private:
    Members* members_;
    MemberPtr member_;
    call::Asker* asker_;
  };

  // `events` are those of a link, without `lost`, which Members handles itself.
  Members(runtime::Shard& home, const config::Server& config, Opener& opener, LinkEvents events,
          Hooks hooks);

  struct Wanted {
    Wanted(std::string owner_in, mcp::Askable askable_in, bool alone_in)
        : owner(std::move(owner_in)), askable(askable_in), alone(alone_in) {}
    std::string owner;             // the session whose instance it is; empty: of nobody's
    mcp::Askable askable;          // what may be asked through it
    bool alone;                    // without an owner: for this call alone
    call::Asker* asker = nullptr;  // of the call, which outlives the loan; may be null
    // With an owner: the extensions of its client, a raw map; nullopt: they are not known.
    std::optional<std::string> extensions;
  };
  // Errors: those of a start; upstream.pool_full; request.cancelled.
  Task<Result<Loan>> borrow(Wanted wanted, TimePoint deadline, runtime::CancelSource* cancel);
  // One more call for the member that has this link, whatever it serves already; nullopt when it is
  // there no more.
  std::optional<Loan> borrow_again(const std::shared_ptr<Link>& link, call::Asker* asker);
  void end_owner(const std::string& owner);      // the session is over
  void roots_changed(const std::string& owner);  // of the session's client

  std::size_t size() const { return members_.size(); }
  std::size_t children() const;
  void hurry();
  Task<void> stop();

 private:
  MemberPtr find(const Wanted& wanted) const;
  MemberPtr owned_by(const std::string& owner) const;
  void end_dead();
  MemberPtr add(const Wanted& wanted);
  bool make_room();
  Task<void> open(MemberPtr member);
  Task<void> end(MemberPtr member);
  Task<Result<void>> wait_for_change(TimePoint deadline, TimePoint press_at,
                                     runtime::CancelSource* cancel);
  void end_longest_away();
  static void leave(Member& member, call::Asker* asker);
  void give_back(Member& member, call::Asker* asker);
  void lost(const std::weak_ptr<Member>& member);
  void changed();
  void prune();
  void note_idle();

  runtime::Shard& home_;
  const config::Server& config_;
  Opener& opener_;
  LinkEvents events_;
  Hooks hooks_;
  std::vector<MemberPtr> members_;
  std::vector<std::shared_ptr<runtime::OneShot<Result<void>>>> waiting_;
  runtime::Watchdog idle_alarm_;
  runtime::TaskGroup tasks_;
  bool stopping_ = false;
};

}  // namespace mcpx::upstream
