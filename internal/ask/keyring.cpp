#include "ask/keyring.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <utility>

#include "ask/state.hpp"
#include "base/digest.hpp"
#include "store/store.hpp"

namespace mcpx::ask {
namespace {

constexpr Milliseconds kUsed = std::chrono::hours(24);      // for sealing
constexpr Milliseconds kAhead = std::chrono::hours(1);      // it is made before that
constexpr Milliseconds kKept = std::chrono::hours(24 * 9);  // from its first use: a day, a week of
                                                            // the longest state_ttl, and one more
constexpr Milliseconds kOften = std::chrono::minutes(10);
constexpr Milliseconds kSoon{5'000};  // while the store has not been read yet

// nullopt: it is none of ours.
std::optional<Seal::Key> key_of(const store::SealKeyRow& row) {
  Seal::Key key;
  if (row.id.empty() || row.secret.size() != 2 * key.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.bytes.size(); ++i) {
    const char* const at = row.secret.data() + 2 * i;
    const auto [end, failure] = std::from_chars(at, at + 2, key.bytes[i], 16);
    if (failure != std::errc() || end != at + 2) return std::nullopt;
  }
  key.id = row.id;
  key.from = row.from;
  return key;
}

store::SealKeyRow row_of(const Seal::Key& key) {
  store::SealKeyRow row;
  row.id = key.id;
  row.secret = hex({reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size()});
  row.from = key.from;
  return row;
}

}  // namespace

std::optional<Seal::Key> due_key(const std::vector<Seal::Key>& keys, std::int64_t now) {
  if (keys.empty()) return Seal::random_key(now);
  const std::int64_t next = keys.back().from + kUsed.count();
  if (next - kAhead.count() > now) return std::nullopt;
  return Seal::random_key(std::max(next, now + kAhead.count()));
}

Task<Keyring::SealPtr> Keyring::refresh() {
  const auto rows = co_await store_.seals().keys();
  if (!rows) co_return nullptr;
  read_ = true;
  std::vector<Seal::Key> keys;
  for (const store::SealKeyRow& row : *rows) {
    if (auto key = key_of(row)) keys.push_back(std::move(*key));
  }
  const std::int64_t now = unix_now();
  const bool makes = keys.empty() || store_.seals().makes_keys();
  const std::optional<Seal::Key> due = makes ? due_key(keys, now) : std::nullopt;
  if (due) {
    store::SealKeyRow row = row_of(*due);
    const Result<void> kept = co_await store_.seals().add_key(std::move(row), now - kKept.count());
    // What is not kept is still good for this run.
    if (kept || keys.empty()) keys.push_back(*due);
  }
  co_return std::make_shared<const Seal>(std::move(keys));
}

Task<void> Keyring::tend(std::function<void(SealPtr)> publish) {
  while (true) {
    const Milliseconds pause = read_ ? kOften : kSoon;
    const bool slept = co_await pause_.sleep_for(pause);
    if (!slept) co_return;
    SealPtr seal = co_await refresh();
    if (seal) publish(std::move(seal));
  }
}

}  // namespace mcpx::ask
