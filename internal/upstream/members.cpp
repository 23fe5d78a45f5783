#include "upstream/members.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "log/log.hpp"

namespace mcpx::upstream {
namespace {

// Where idle_stop is not set, an instance nobody calls is still not kept for ever.
constexpr Milliseconds kIdle{300'000};

// A call waits that long for a place, or half of its time if that is less, before those whose
// clients are away have to make room: who was asked something may just be typing the answer.
constexpr Milliseconds kPatience{30'000};
constexpr Milliseconds kAgain{1'000};  // while it waits on

TimePoint time_to_press(TimePoint deadline) {
  const TimePoint now = Clock::now();
  if (deadline == kNever) return now + kPatience;
  return now + std::min<Duration>(kPatience, (deadline - now) / 2);
}

// Since when the clients of all these calls are away; kNever: of one it is there.
TimePoint all_away_since(const std::vector<call::Asker*>& askers) {
  TimePoint since{};
  for (const call::Asker* asker : askers)
    since = std::max(since, asker ? asker->away_since() : kNever);
  return askers.empty() ? kNever : since;
}

}  // namespace

Members::Members(runtime::Shard& home, const config::Server& config, Opener& opener,
                 LinkEvents events, Hooks hooks)
    : home_(home),
      config_(config),
      opener_(opener),
      events_(std::move(events)),
      hooks_(std::move(hooks)),
      idle_alarm_(home, [this] { prune(); }),
      tasks_(home) {}

Task<Result<Members::Loan>> Members::borrow(Wanted wanted, TimePoint deadline,
                                            runtime::CancelSource* cancel) {
  MemberPtr mine;  // the one this call waits for
  const TimePoint press_at = time_to_press(deadline);
  while (true) {
    if (stopping_) {
      if (mine) leave(*mine, wanted.asker);
      co_return stopping_error(config_.name);
    }
    if (mine && mine->failed) co_return mine->error;
    if (mine && mine->link) co_return Loan(*this, std::move(mine), wanted.asker);
    if (!mine) {
      end_dead();
      mine = find(wanted);
      if (!mine && make_room()) mine = add(wanted);
      if (mine) {
        ++mine->calls;
        mine->askers.push_back(wanted.asker);
        continue;
      }
    }
    const TimePoint pressing = mine ? kNever : press_at;
    Result<void> waited = co_await wait_for_change(deadline, pressing, cancel);
    if (waited) continue;
    if (mine) leave(*mine, wanted.asker);
    if (mine && mine->calls == 0) note_idle();
    co_return waited.error();
  }
}

std::optional<Members::Loan> Members::borrow_again(const std::shared_ptr<Link>& link,
                                                   call::Asker* asker) {
  for (const MemberPtr& member : members_) {
    if (member->link != link || member->ending) continue;
    ++member->calls;
    member->askers.push_back(asker);
    return Loan(*this, member, asker);
  }
  return std::nullopt;
}

// An instance that is there, or about to be, and may serve one more call.
Members::MemberPtr Members::find(const Wanted& wanted) const {
  const auto found = std::find_if(members_.begin(), members_.end(), [&](const MemberPtr& member) {
    if (member->ending || member->failed || member->owner != wanted.owner) return false;
    if (!wanted.owner.empty()) return true;
    if (member->askable != wanted.askable) return false;
    return !wanted.alone || (member->calls == 0 && member->link);
  });
  return found == members_.end() ? nullptr : *found;
}

Members::MemberPtr Members::owned_by(const std::string& owner) const {
  return owner.empty() ? nullptr : find(Wanted(owner, 0, false));
}

// A server over HTTP that forgot its session says so only to a call.
void Members::end_dead() {
  for (const MemberPtr& member : std::vector<MemberPtr>(members_)) {
    if (member->ending || !member->link || member->link->alive()) continue;
    member->ending = true;
    tasks_.spawn("end instance", end(member));
    if (!member->owner.empty()) hooks_.lost(member->owner);
  }
}

// One place is the first instance's.
bool Members::make_room() {
  if (members_.size() + 1 < config_.instances_max) return true;
  MemberPtr oldest;
  for (const MemberPtr& member : members_) {
    if (member->ending) return false;  // its place is free in a moment
    if (member->calls != 0 || !member->link) continue;
    if (!oldest || member->last_used < oldest->last_used) oldest = member;
  }
  if (oldest) {
    log::info("server {}: all {} instances are taken; the one idle longest makes room",
              config_.name, config_.instances_max);
    oldest->ending = true;
    tasks_.spawn("end instance", end(oldest));
  }
  return false;  // room is there once it has ended
}

Members::MemberPtr Members::add(const Wanted& wanted) {
  auto member = std::make_shared<Member>(wanted.owner, wanted.askable);
  member->extensions = wanted.extensions;
  member->last_used = Clock::now();
  members_.push_back(member);
  tasks_.spawn("open instance", open(member));
  return member;
}

Task<void> Members::open(MemberPtr member) {
  LinkEvents events = events_;
  std::weak_ptr<Member> weak = member;
  events.lost = [this, weak](const Error&) { lost(weak); };
  if (!member->owner.empty()) {
    events.updated = [this, owner = member->owner](const std::string& uri) {
      hooks_.updated(owner, uri);
    };
    events.missed = [this, owner = member->owner] { hooks_.missed(owner); };
    events.extension = [this, owner = member->owner](const std::string& json,
                                                     const std::string& told) {
      hooks_.extension(owner, json, told);
    };
  }
  Opener::Purpose purpose(member->askable, !member->owner.empty());
  purpose.extensions = member->extensions;
  LinkResult opened = co_await opener_.open(std::move(events), std::move(purpose));
  if (opened) {
    member->link = *opened;
    member->last_used = Clock::now();
  } else {
    log::warning("server {}: another instance did not start: {}", config_.name,
                 opened.error().message);
    member->error = opened.error();
    member->failed = true;
    std::erase(members_, member);
  }
  changed();
  if (member->ending) {
    co_await end(member);
  } else {
    note_idle();
  }
}

Task<void> Members::end(MemberPtr member) {
  std::shared_ptr<Link> link = member->link;
  if (link) co_await link->stop(config_.stop_grace);
  std::erase(members_, member);
  changed();
}

// Its calls were answered by the link; the next call of its session gets another one.
void Members::lost(const std::weak_ptr<Member>& weak) {
  const MemberPtr member = weak.lock();
  if (!member || member->ending || stopping_) return;
  member->ending = true;
  tasks_.spawn("end instance", end(member));
  if (!member->owner.empty()) hooks_.lost(member->owner);
}

void Members::leave(Member& member, call::Asker* asker) {
  --member.calls;
  const auto found = std::find(member.askers.begin(), member.askers.end(), asker);
  if (found != member.askers.end()) member.askers.erase(found);
}

// Of the instances whose calls all wait for clients that are away, the one that does so longest.
void Members::end_longest_away() {
  MemberPtr longest;
  TimePoint since = kNever;
  for (const MemberPtr& member : members_) {
    if (member->ending) continue;
    const TimePoint away = all_away_since(member->askers);
    if (away >= since) continue;
    longest = member;
    since = away;
  }
  if (!longest) return;
  for (call::Asker* asker : longest->askers)
    asker->give_way();
}

void Members::give_back(Member& member, call::Asker* asker) {
  leave(member, asker);
  member.last_used = Clock::now();
  note_idle();
  changed();
}

void Members::end_owner(const std::string& owner) {
  const MemberPtr member = owned_by(owner);
  if (!member) return;
  member->ending = true;
  if (member->link) tasks_.spawn("end instance", end(member));  // else open() ends it
}

namespace {

Task<void> tell(std::shared_ptr<Link> link, std::string_view method) {
  std::string no_params;
  const Result<void> told = co_await link->notify(method, std::move(no_params));
  if (!told) log::debug("{} was not passed on: {}", method, told.error().message);
}

}  // namespace

// Its server was told that it would hear of it.
void Members::roots_changed(const std::string& owner) {
  const MemberPtr member = owned_by(owner);
  if (!member || !member->link || stopping_) return;
  const bool expects = (member->link->declared() & mcp::kAskRootsChanges) &&
                       member->link->facts().era() == mcp::Era::legacy;
  if (expects) tasks_.spawn("roots", tell(member->link, "notifications/roots/list_changed"));
}

Task<Result<void>> Members::wait_for_change(TimePoint deadline, TimePoint press_at,
                                            runtime::CancelSource* cancel) {
  auto waiting = std::make_shared<runtime::OneShot<Result<void>>>();
  waiting_.push_back(waiting);
  runtime::CancelSource::Subscription cancelled;
  if (cancel) {
    cancelled = cancel->subscribe([waiting](const std::string&) {
      waiting->set(Error("request.cancelled", "the caller cancelled the request"));
    });
  }
  runtime::Watchdog patience(home_, [this, waiting] {
    waiting->set(Error("upstream.pool_full",
                       fmt::format("server {}: no instance became free in time; it has {} of {}",
                                   config_.name, members_.size() + 1, config_.instances_max),
                       "raise instances.max for this server, or call again later"));
  });
  if (deadline != kNever) patience.set(deadline);
  runtime::Watchdog press(home_, [this, &press] {
    end_longest_away();
    press.set(Clock::now() + kAgain);
  });
  if (press_at != kNever) press.set(press_at);
  Result<void> result = co_await waiting->wait();
  std::erase(waiting_, waiting);
  co_return result;
}

void Members::changed() {
  for (const auto& waiting : std::exchange(waiting_, {}))
    waiting->set(Result<void>());
}

// --- Idle instances

void Members::note_idle() {
  const TimePoint when = Clock::now() + config_.idle_stop.value_or(kIdle);
  if (idle_alarm_.deadline() == kNever) idle_alarm_.set(when);
}

void Members::prune() {
  const Milliseconds idle = config_.idle_stop.value_or(kIdle);
  TimePoint next = kNever;
  for (const MemberPtr& member : members_) {
    if (member->ending || member->calls != 0 || !member->link) continue;
    if (member->last_used + idle <= Clock::now()) {
      member->ending = true;
      tasks_.spawn("end instance", end(member));
    } else {
      next = std::min(next, member->last_used + idle);
    }
  }
  if (next != kNever) idle_alarm_.set(next);
}

std::size_t Members::children() const {
  std::size_t count = 0;
  for (const MemberPtr& member : members_)
    count += member->link ? member->link->children() : 0;
  return count;
}

void Members::hurry() {
  stopping_ = true;
  for (const MemberPtr& member : members_) {
    if (member->link) member->link->hurry();
  }
  changed();
}

Task<void> Members::stop() {
  hurry();
  const std::vector<MemberPtr> ending = members_;
  for (const MemberPtr& member : ending) {
    if (std::exchange(member->ending, true) || !member->link) continue;  // open() ends it
    tasks_.spawn("end instance", end(member));
  }
  co_await tasks_.join();
}

}  // namespace mcpx::upstream
