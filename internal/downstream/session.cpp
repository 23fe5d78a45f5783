#include "downstream/session.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.hpp"
#include "downstream/kept_sessions.hpp"
#include "log/log.hpp"
#include "mcp/extensions.hpp"
#include "runtime/hop.hpp"

namespace mcpx::downstream {
namespace {

constexpr std::array<std::string_view, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};

}  // namespace

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  MCPX_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  id.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return id;
}

void Session::describe() {
  askable = mcp::askable_of(client_capabilities, revision);
  extensions = mcp::carried_extensions(client_capabilities, !endpoint.empty());
  apps = mcp::extension_settings(client_capabilities, mcp::kApps).has_value();
}

std::string_view Session::level_name(std::uint8_t index) {
  return index < kLevels.size() ? kLevels[index] : std::string_view();
}

std::optional<std::uint8_t> Session::level_index(std::string_view name) {
  const auto found = std::find(kLevels.begin(), kLevels.end(), name);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<std::uint8_t>(found - kLevels.begin());
}

SessionDirectory::SessionDirectory(std::vector<runtime::Shard*> shards, std::size_t limit)
    : shards_(std::move(shards)),
      limit_(std::max<std::size_t>(limit, 1)),
      tending_(*shards_.front()) {
  std::size_t count = 0;
  for (const runtime::Shard* shard : shards_)
    count = std::max(count, shard->index() + 1);
  replicas_.resize(count);
}

SessionDirectory::~SessionDirectory() = default;

Task<void> SessionDirectory::keep_in(store::Store& store, Milliseconds idle) {
  kept_ = std::make_unique<KeptSessions>(store, listed_);
  co_await kept_->load(idle, limit_);
  asleep_.store(kept_->asleep(), std::memory_order_relaxed);
}

void SessionDirectory::on_end(std::function<void(runtime::Shard&, const Session&)> ended) {
  ended_ = std::move(ended);
}

void SessionDirectory::keep_subscriptions(
    std::function<std::string(const Session&)> listed,
    std::function<Task<void>(SessionPtr, std::string)> woken) {
  listed_ = std::move(listed);
  woken_ = std::move(woken);
}

SessionDirectory::Replica& SessionDirectory::replica_of(const runtime::Shard& shard) {
  return replicas_[shard.index()];
}

SessionPtr SessionDirectory::find(std::string_view id) const {
  const Replica& replica = replicas_[runtime::Shard::current().index()];
  const auto found = replica.find(id);
  if (found == replica.end()) return nullptr;
  return found->second;
}

void SessionDirectory::apply(runtime::Shard& shard, const SessionPtr& added,
                             const SessionPtr& removed) {
  Replica& replica = replica_of(shard);
  if (added) replica.emplace(added->id, added);
  if (removed && replica.erase(removed->id) != 0 && ended_) ended_(shard, *removed);
}

Task<bool> SessionDirectory::apply_there(runtime::Shard& shard, SessionPtr added,
                                         SessionPtr removed) {
  apply(shard, added, removed);
  co_return true;
}

// On the first shard at once, so that two changes in progress never see each other half done.
Task<bool> SessionDirectory::apply_everywhere(SessionPtr added, SessionPtr removed) {
  apply(*shards_.front(), added, removed);
  size_.store(replica_of(*shards_.front()).size(), std::memory_order_relaxed);
  for (std::size_t i = 1; i < shards_.size(); ++i) {
    runtime::Shard* shard = shards_[i];
    const std::function<Task<bool>()> make = [this, shard, added, removed] {
      return apply_there(*shard, added, removed);
    };
    co_await runtime::run_on<bool>(*shard, make);
  }
  co_return true;
}

SessionPtr SessionDirectory::room_for(const std::string& principal) const {
  struct Holding {
    std::size_t sessions = 0;
    SessionPtr oldest;  // that is idle
  };
  const auto used = [](const SessionPtr& session) {
    return session->live.last_used.load(std::memory_order_relaxed);
  };
  std::unordered_map<std::string_view, Holding> holdings;
  Holding& own = holdings[principal];
  own.sessions = 1;  // the one that wants in
  for (const auto& [id, session] : replicas_[shards_.front()->index()]) {
    Holding& holding = holdings[session->principal];
    ++holding.sessions;
    if (session->live.uses.load(std::memory_order_relaxed) != 0) continue;
    if (!holding.oldest || used(session) < used(holding.oldest)) holding.oldest = session;
  }
  const Holding* most = &own;
  for (const auto& [name, holding] : holdings) {
    if (!holding.oldest || holding.sessions < most->sessions) continue;
    const bool older = !most->oldest || used(holding.oldest) < used(most->oldest);
    if (holding.sessions > most->sessions || older) most = &holding;
  }
  return most->oldest;
}

Task<bool> SessionDirectory::admit(SessionPtr session) {
  SessionPtr dropped;
  if (replica_of(*shards_.front()).size() >= limit_) {
    dropped = room_for(session->principal);
    if (!dropped) co_return false;
    dropped->live.ended.store(true, std::memory_order_relaxed);
    log::warning(
        "{} legacy sessions are open, the limit (limits.sessions); an idle one{} was ended", limit_,
        dropped->principal.empty() ? "" : " of " + dropped->principal);
    if (kept_ && dropped->kept) kept_->forget(*dropped);
  }
  co_await apply_everywhere(std::move(session), std::move(dropped));
  co_return true;
}

Task<bool> SessionDirectory::remove(SessionPtr session) {
  const bool first = !session->live.ended.exchange(true, std::memory_order_relaxed);
  if (first && kept_ && session->kept) kept_->forget(*session);
  co_await apply_everywhere(nullptr, std::move(session));
  co_return true;
}

Task<Result<SessionPtr>> SessionDirectory::create(std::shared_ptr<Session> session) {
  session->id = random_id();
  session->describe();
  session->live.last_used.store(Clock::now().time_since_epoch().count());
  SessionPtr published = std::move(session);
  const std::function<Task<bool>()> make = [this, published] { return admit(published); };
  const bool admitted = co_await runtime::run_on<bool>(*shards_.front(), make);
  if (!admitted) {
    co_return Error("session.limit", "every one of the legacy sessions allowed is in use",
                    "end sessions that are no longer needed, or raise limits.sessions");
  }
  if (kept_ && published->kept) co_await kept_->put(*published);
  co_return published;
}

Task<bool> SessionDirectory::remove_all_of(std::string endpoint) {
  std::vector<SessionPtr> ending;
  for (const auto& [id, session] : replica_of(*shards_.front())) {
    if (session->endpoint == endpoint) ending.push_back(session);
  }
  for (const SessionPtr& session : ending) {
    session->live.finishes.store(true, std::memory_order_relaxed);
    co_await remove(session);
  }
  co_return true;
}

Task<void> SessionDirectory::end_all_of(std::string endpoint) {
  const std::function<Task<bool>()> make = [this, endpoint] { return remove_all_of(endpoint); };
  co_await runtime::run_on<bool>(*shards_.front(), make);
}

Task<void> SessionDirectory::end(SessionPtr session) {
  const std::function<Task<bool>()> make = [this, session] { return remove(session); };
  co_await runtime::run_on<bool>(*shards_.front(), make);
  // What was ended stays ended, even if the daemon is killed now.
  if (kept_) co_await kept_->settle();
}

Task<void> SessionDirectory::changed(SessionPtr session) {
  const bool ended = session->live.ended.load(std::memory_order_relaxed);
  if (kept_ && session->kept && !ended) co_await kept_->put(*session);
}

Task<void> SessionDirectory::wake(std::string id) {
  const std::function<Task<bool>()> there = [this, id] { return wake_there(id); };
  co_await runtime::run_on<bool>(*shards_.front(), there);
}

Task<bool> SessionDirectory::wake_there(std::string id) {
  KeptSessions::Woken woken = kept_->take(id);
  asleep_.store(kept_->asleep(), std::memory_order_relaxed);
  if (!woken.session) {
    // Of two requests at once the second must not be answered before the first has told all shards.
    SessionPtr awake = find(id);
    if (awake) co_await apply_everywhere(std::move(awake), nullptr);
    co_return false;
  }
  woken.session->live.last_used.store(Clock::now().time_since_epoch().count());
  SessionPtr published = std::move(woken.session);
  const bool admitted = co_await admit(published);
  if (admitted && woken_ && !woken.subscriptions.empty()) {
    co_await woken_(std::move(published), std::move(woken.subscriptions));
  }
  co_return admitted;
}

std::vector<SessionPtr> SessionDirectory::idle_longer_than(Milliseconds idle) const {
  const Clock::rep oldest = (Clock::now() - idle).time_since_epoch().count();
  std::vector<SessionPtr> found;
  for (const auto& [id, session] : replicas_[shards_.front()->index()]) {
    const Session::Live& live = session->live;
    const bool used = live.uses.load(std::memory_order_relaxed) != 0 ||
                      live.last_used.load(std::memory_order_relaxed) > oldest;
    if (!used && session->kept) found.push_back(session);
  }
  return found;
}

Task<void> SessionDirectory::tend(std::function<Milliseconds()> idle) {
  constexpr Milliseconds kOften{100}, kSeldom{60'000};
  while (true) {
    const Milliseconds limit = idle();
    const Milliseconds pause =
        limit.count() == 0 ? kSeldom : std::clamp(limit / 4, kOften, kSeldom);
    const bool slept = co_await tending_.sleep_for(pause);
    if (!slept) break;
    note_uses();
    if (limit.count() == 0) continue;
    for (const SessionPtr& session : idle_longer_than(limit)) {
      log::info("a legacy session of '{}' was idle for too long and is ended", session->endpoint);
      co_await remove(session);
    }
    if (!kept_) continue;
    kept_->expire(limit);
    asleep_.store(kept_->asleep(), std::memory_order_relaxed);
  }
  note_uses();
}

void SessionDirectory::stop_tending() {
  tending_.cancel();
}

// A request costs no write: what was used since the last round is noted in one.
void SessionDirectory::note_uses() {
  const Clock::rep since = std::exchange(noted_, Clock::now()).time_since_epoch().count();
  if (!kept_) return;
  std::vector<SessionPtr> used;
  for (const auto& [id, session] : replicas_[shards_.front()->index()]) {
    const bool now = session->live.uses.load(std::memory_order_relaxed) != 0 ||
                     session->live.last_used.load(std::memory_order_relaxed) >= since;
    if (now && session->kept) used.push_back(session);
  }
  kept_->used(used);
}

}  // namespace mcpx::downstream
