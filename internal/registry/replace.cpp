// A reload, as the registry sees it: the servers of another configuration take the place of those
// there are.
#include <algorithm>
#include <utility>

#include "registry/following.hpp"
#include "runtime/hop.hpp"

namespace mcpx::registry {
namespace {

using upstream::State;

Task<bool> arrived() {
  co_return true;
}

}  // namespace

// Followed before they are started, so that nothing they say is missed.
Task<void> Registry::replace(std::shared_ptr<const config::Config> config,
                             std::vector<std::shared_ptr<upstream::Server>> servers,
                             TimePoint patience) {
  const std::shared_ptr<Impl> impl = impl_;
  for (const auto& server : servers) {
    const bool known =
        std::any_of(impl->entries.begin(), impl->entries.end(),
                    [&](const Impl::Entry& entry) { return entry.view.server == server; });
    if (known) continue;
    impl->incoming.push_back(impl->entry_of(server));
    impl->incoming.back().shown = false;
    impl->follow(impl->incoming.back());
    server->home().post([server] { server->start(); });
  }
  co_await impl->wait_for_incoming(patience);
  impl->take_over(std::move(config), servers);
  for (runtime::Shard* shard : impl->shards) {
    const std::function<Task<bool>()> there = arrived;
    co_await runtime::run_on<bool>(*shard, there);
  }
}

void Registry::hurry() {
  impl_->hurried = true;
  impl_->settle_incoming();
}

Task<void> Registry::Impl::wait_for_incoming(TimePoint patience) {
  arrival = std::make_shared<runtime::OneShot<bool>>();
  settle_incoming();
  runtime::Watchdog late(home, [all = arrival] { all->set(false); });
  late.set(patience);
  co_await arrival->wait();
  arrival = nullptr;
}

void Registry::Impl::settle_incoming() {
  if (!arrival) return;
  const bool all = std::all_of(incoming.begin(), incoming.end(), [](const Entry& entry) {
    return entry.settled_once || entry.state == State::disabled;
  });
  if (all || hurried) arrival->set(true);
}

void Registry::Impl::take_over(std::shared_ptr<const config::Config> config,
                               const std::vector<std::shared_ptr<upstream::Server>>& servers) {
  Entries next;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const auto is_it = [&](const Entry& entry) { return entry.view.server == servers[i]; };
    auto found = std::find_if(entries.begin(), entries.end(), is_it);
    const bool kept = found != entries.end();
    if (!kept) found = std::find_if(incoming.begin(), incoming.end(), is_it);
    Entry entry = *found;
    entry.shown = true;
    entry.view.config = std::shared_ptr<const config::Server>(config, &config->servers[i]);
    if (!kept && !entry.view.catalogue) inherit(entry);
    compared.insert(entry.view.config->name);
    next.push_back(std::move(entry));
  }
  entries = std::move(next);
  incoming.clear();
  options.profiles = std::make_shared<const Profiles>(*config);
  options.config = std::move(config);
  rebuild_alarm.clear();
  rebuild();
}

void Registry::Impl::inherit(Entry& heir) const {
  for (const Entry& before : entries) {
    if (before.view.config->name != heir.view.config->name) continue;
    heir.listed_by = before.listed_by;
    if (!before.view.catalogue || !may_inherit(heir)) return;
    heir.view.catalogue = before.view.catalogue;
    heir.inherited = true;
  }
}

bool Registry::Impl::may_inherit(const Entry& heir) {
  if (heir.listed) return true;
  if (heir.state == State::disabled) return false;
  return heir.failures < 2 || heir.listed_by == heir.digest;
}

void Registry::Impl::disinherit(Entry& entry) {
  entry.inherited = false;
  entry.view.catalogue = nullptr;
  compared.insert(entry.view.config->name);
  rebuild_soon();
}

}  // namespace mcpx::registry
