#include "downstream/kept_sessions.hpp"

#include <chrono>
#include <limits>
#include <utility>

#include "base/digest.hpp"
#include "log/log.hpp"

namespace mcpx::downstream {
namespace {

// What an `initialize` waits for the disk: a commit takes less than a millisecond where it works.
constexpr Milliseconds kPutWait{500};

// One that tells more of itself is not kept: the file is no place to fill a disk by.
constexpr std::size_t kLargestRow = 256 * 1024;

bool too_large(const store::SessionRow& row) {
  return row.client_info.size() + row.capabilities.size() + row.subscriptions.size() > kLargestRow;
}

std::int64_t unix_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

// The clock of a session stands still while no daemon runs; the store's does not.
std::int64_t unix_used(const Session& session) {
  const TimePoint used{Duration(session.live.last_used.load(std::memory_order_relaxed))};
  return unix_now() - std::chrono::duration_cast<Milliseconds>(Clock::now() - used).count();
}

std::int64_t oldest_used(Milliseconds idle) {
  return idle.count() == 0 ? std::numeric_limits<std::int64_t>::min() : unix_now() - idle.count();
}

store::SessionRow row_of(const Session& session) {
  store::SessionRow row;
  row.key = sha256_hex(session.id);
  row.endpoint = session.endpoint;
  row.revision = mcp::text(session.revision);
  row.principal = session.principal;
  row.client_info = session.client_info;
  row.capabilities = session.client_capabilities;
  row.logs = session.logs;
  const std::uint8_t level = session.live.log_level.load();
  if (level != Session::kNoLevel) row.log_level = level;
  row.used_at = unix_used(session);
  return row;
}

// Null: of a revision this daemon does not know.
std::shared_ptr<Session> session_of_row(store::SessionRow row, const std::string& id) {
  const auto revision = mcp::parse_revision(row.revision);
  if (!revision || mcp::era_of(*revision) == mcp::Era::modern) return nullptr;
  auto session = std::make_shared<Session>();
  session->id = id;
  session->endpoint = std::move(row.endpoint);
  session->principal = std::move(row.principal);
  session->revision = *revision;
  session->client_info = std::move(row.client_info);
  session->client_capabilities = std::move(row.capabilities);
  session->describe();
  session->logs = row.logs;
  const bool known = row.log_level >= 0 && row.log_level < Session::kNoLevel &&
                     !Session::level_name(static_cast<std::uint8_t>(row.log_level)).empty();
  if (known) session->live.log_level.store(static_cast<std::uint8_t>(row.log_level));
  return session;
}

}  // namespace

Task<void> KeptSessions::load(Milliseconds idle, std::size_t limit) {
  auto rows = co_await store_.sessions().load(oldest_used(idle), limit);
  if (!rows) co_return;  // the store has logged why
  for (store::SessionRow& row : *rows) {
    std::string key = row.key;
    rows_.emplace(std::move(key), std::move(row));
  }
  if (!rows_.empty()) log::info("{} legacy sessions of before are known", rows_.size());
}

KeptSessions::Woken KeptSessions::take(const std::string& id) {
  Woken woken;
  const auto found = rows_.find(sha256_hex(id));
  if (found == rows_.end()) return woken;
  store::SessionRow row = std::move(found->second);
  rows_.erase(found);
  woken.subscriptions = std::move(row.subscriptions);
  woken.session = session_of_row(std::move(row), id);
  return woken;
}

void KeptSessions::expire(Milliseconds idle) {
  const std::int64_t oldest = oldest_used(idle);
  for (auto place = rows_.begin(); place != rows_.end();) {
    const auto here = place++;
    if (here->second.used_at >= oldest) continue;
    store_.sessions().drop(here->first);
    rows_.erase(here);
  }
}

Task<void> KeptSessions::put(const Session& session) {
  store::SessionRow row = row_of(session);
  if (listed_) row.subscriptions = listed_(session);
  // It can subscribe again; it cannot be another session.
  if (too_large(row)) row.subscriptions.clear();
  if (too_large(row)) co_return;
  const Result<void> kept = co_await store_.sessions().put(std::move(row), kPutWait);
  static_cast<void>(kept);  // the store has logged it; the session works without
}

Task<void> KeptSessions::settle() {
  std::function<Result<void>(store::Database&)> nothing = [](store::Database&) {
    return Result<void>();
  };
  const Result<void> done = co_await store_.write_within(kPutWait, std::move(nothing), 0);
  static_cast<void>(done);
}

void KeptSessions::forget(const Session& session) {
  store_.sessions().drop(sha256_hex(session.id));
}

void KeptSessions::used(const std::vector<SessionPtr>& sessions) {
  std::vector<store::Sessions::Use> uses;
  for (const SessionPtr& session : sessions)
    uses.emplace_back(sha256_hex(session->id), unix_used(*session));
  if (!uses.empty()) store_.sessions().used(std::move(uses));
}

}  // namespace mcpx::downstream
