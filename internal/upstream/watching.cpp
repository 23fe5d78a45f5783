// What a server's Lifecycle has to do with watched resources: which instance is asked, who is told,
// and the instances of sessions (`scope: session`), each of which has watches of its own: what one
// session does to its instance is no news of another's.
#include <utility>

#include "mcp/error_codes.hpp"
#include "upstream/backoff.hpp"
#include "upstream/lifecycle.hpp"
#include "upstream/questions.hpp"

namespace mcpx::upstream {

// What one session watches on its instance, which is held for as long as it watches anything.
struct Lifecycle::Owned {
  Owned(Lifecycle& lifecycle, Watcher watcher_in)
      : watcher(std::move(watcher_in)),
        watches(lifecycle.home, lifecycle.config, watcher.owner,
                lifecycle.owned_hooks(watcher.owner)),
        pause(lifecycle.home) {}
  Watcher watcher;
  std::optional<Members::Loan> loan;
  bool renewing = false, forgetting = false;
  Watches watches;
  runtime::Timer pause;  // between two starts
};

Watcher Lifecycle::watcher_of(const call::Caller& caller) const {
  if (config.scope != config::Scope::session) return Watcher();
  const mcp::Askable askable = declared_for(config, caller.askable);
  return Watcher(owner_of(caller, askable), askable);
}

Task<call::Outcome> Lifecycle::watch(Watcher watcher, std::string uri, TimePoint deadline) {
  if (stopping_) {
    co_return call::Outcome::of_failure(mcp::kUpstreamFailure, stopping_error(config.name),
                                        config.name);
  }
  if (deadline == kNever) deadline = Clock::now() + config.call_timeout;
  if (watcher.owner.empty()) co_return co_await watches_.add(std::move(uri), deadline);
  OwnedPtr owned = owned_by(watcher);
  co_return co_await owned->watches.add(std::move(uri), deadline);
}

void Lifecycle::unwatch(const std::string& owner, const std::string& uri) {
  if (stopping_) return;  // the server is told by the end of its link
  if (owner.empty()) return watches_.remove(uri);
  const auto found = owned_.find(owner);
  if (found != owned_.end()) found->second->watches.remove(uri);
}

void Lifecycle::note_missed(const std::string& owner, const std::string& uri) {
  std::vector<ResourceUpdate> updates;
  updates.emplace_back(owner, uri, uri);
  if (on_updated) on_updated(std::move(updates));
}

// --- The first instance

Watches::Hooks Lifecycle::watch_hooks() {
  Watches::Hooks hooks;
  hooks.acquire = [this](TimePoint deadline) { return acquire(deadline, nullptr); };
  hooks.updated = [this](std::vector<ResourceUpdate> updates) {
    if (on_updated) on_updated(std::move(updates));
  };
  hooks.emptied = [this] {
    last_used_ = Clock::now();
    event_.wake();
  };
  return hooks;
}

// --- The instances of sessions

Watches::Hooks Lifecycle::owned_hooks(const std::string& owner) {
  Watches::Hooks hooks = watch_hooks();
  hooks.acquire = [this, owner](TimePoint deadline) {
    return acquire_owned(owned_.at(owner), deadline);
  };
  hooks.emptied = [this, owner] {
    const auto found = owned_.find(owner);
    if (found == owned_.end() || stopping_) return;
    const OwnedPtr owned = found->second;
    owned->loan.reset();
    if (std::exchange(owned->forgetting, true)) return;
    tasks_.spawn("forget watches", forget_owned(owned));
  };
  return hooks;
}

Members::Hooks Lifecycle::member_hooks() {
  Members::Hooks hooks;
  hooks.updated = [this](const std::string& owner, const std::string& uri) {
    const auto found = owned_.find(owner);
    if (found != owned_.end()) found->second->watches.updated(uri);
  };
  hooks.missed = [this](const std::string& owner) {
    const auto found = owned_.find(owner);
    if (found != owned_.end()) found->second->watches.missed();
  };
  hooks.lost = [this](const std::string& owner) { owner_lost(owner); };
  hooks.extension = [this](const std::string& owner, const std::string& json,
                           const std::string& told) { say_extension(owner, json, told); };
  return hooks;
}

void Lifecycle::say_extension(const std::string& owner, const std::string& json,
                              const std::string& told) {
  if (on_extension) on_extension(ExtensionNotice(owner, json, told));
}

Lifecycle::OwnedPtr Lifecycle::owned_by(const Watcher& watcher) {
  OwnedPtr& owned = owned_[watcher.owner];
  if (!owned) owned = std::make_shared<Owned>(*this, watcher);
  return owned;
}

Task<LinkResult> Lifecycle::acquire_owned(OwnedPtr owned, TimePoint deadline) {
  if (stopping_) co_return stopping_error(config.name);
  start();  // its lists are the first instance's
  Members::Wanted own(owned->watcher.owner, owned->watcher.askable, false);
  Result<Members::Loan> loan = co_await members_.borrow(std::move(own), deadline, nullptr);
  if (!loan) co_return loan.error();
  std::shared_ptr<Link> link = loan->link();
  owned->loan.emplace(std::move(*loan));
  co_return link;
}

// What its session does not call any more is still watched: it is started again.
void Lifecycle::owner_lost(const std::string& owner) {
  const auto found = owned_.find(owner);
  if (found == owned_.end()) return;
  const OwnedPtr owned = found->second;
  owned->loan.reset();
  if (stopping_ || owned->watches.empty() || std::exchange(owned->renewing, true)) return;
  tasks_.spawn("renew watches", renew_owned(owned));
}

Task<void> Lifecycle::renew_owned(OwnedPtr owned) {
  for (std::size_t failures = 1; !stopping_ && !owned->watches.empty(); ++failures) {
    const TimePoint patience = Clock::now() + config.call_timeout;
    LinkResult link = co_await acquire_owned(owned, patience);
    if (link) {
      const TimePoint deadline = Clock::now() + config.list_timeout;
      co_await owned->watches.renew(*link, deadline);
      if ((*link)->alive()) break;
    }
    const TimePoint again = Clock::now() + backoff_after(failures);
    const bool reached = co_await owned->pause.sleep_until(again);
    if (!reached) break;
  }
  owned->renewing = false;
}

Task<void> Lifecycle::forget_owned(OwnedPtr owned) {
  co_await owned->watches.stop();
  owned->forgetting = false;
  if (!owned->watches.empty()) co_return;
  const auto found = owned_.find(owned->watcher.owner);
  if (found != owned_.end() && found->second == owned) owned_.erase(found);
}

void Lifecycle::hurry_watching() {
  for (const auto& [owner, owned] : owned_)
    owned->pause.cancel();
}

// Once no link is left to wait for.
Task<void> Lifecycle::stop_watching() {
  co_await watches_.stop();
  const std::map<std::string, OwnedPtr> all = std::exchange(owned_, {});
  for (const auto& [owner, owned] : all) {
    owned->loan.reset();
    co_await owned->watches.stop();
  }
}

}  // namespace mcpx::upstream
