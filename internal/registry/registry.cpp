#include "registry/registry.hpp"

#include <algorithm>
#include <utility>

#include "registry/following.hpp"
#include "runtime/hop.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::registry {
namespace {

// One rebuild for a burst of changes.
constexpr Milliseconds kCoalesce{20};
// During warm-up a list waits this long for the other servers once one of them is there.
constexpr Milliseconds kStragglers{500};
// What a list waits at most for servers whose own list is stale.
constexpr Milliseconds kRenewal{1'000};

using upstream::State;

}  // namespace

Registry::Impl::Impl(runtime::Shard& home_in, std::vector<runtime::Shard*> shards_in,
                     BuildOptions options_in)
    : home(home_in),
      shards(std::move(shards_in)),
      options(std::move(options_in)),
      callbacks(shards.size()),
      update_callbacks(shards.size()),
      replaced_callbacks(shards.size()),
      rebuild_alarm(home_in, [this] { rebuild(); }),
      stragglers_alarm(home_in, [this] { settle_waiting(); }) {
  // Whoever asks before the first snapshot finds no endpoints, and the configuration.
  auto nothing = std::make_shared<Snapshot>();
  nothing->config = options.config;
  newest = nothing;
  views.resize(shards.size(), newest);
}

Registry::Registry(runtime::Shard& home, std::vector<runtime::Shard*> shards,
                   std::shared_ptr<const config::Config> config, std::string server_info,
                   std::vector<std::shared_ptr<upstream::Server>> servers) {
  BuildOptions options;
  options.profiles = std::make_shared<const Profiles>(*config);
  options.config = std::move(config);
  options.server_info = std::move(server_info);
  impl_ = std::make_shared<Impl>(home, std::move(shards), std::move(options));
  for (std::shared_ptr<upstream::Server>& server : servers)
    impl_->entries.push_back(impl_->entry_of(std::move(server)));
}

Registry::~Registry() = default;

void Registry::start() {
  for (const Impl::Entry& entry : impl_->entries)
    impl_->follow(entry);
  impl_->rebuild();
}

std::shared_ptr<const Snapshot> Registry::current() const {
  return impl_->views[runtime::Shard::current().index()];
}

const config::Config& Registry::config() const {
  return *impl_->views[runtime::Shard::current().index()]->config;
}

void Registry::on_change(std::function<void(const Change&)> changed) {
  impl_->callbacks[runtime::Shard::current().index()].push_back(std::move(changed));
}

void Registry::on_updates(std::function<void(const Updates&)> told) {
  impl_->update_callbacks[runtime::Shard::current().index()].push_back(std::move(told));
}

void Registry::on_replaced(std::function<void()> replaced) {
  impl_->replaced_callbacks[runtime::Shard::current().index()].push_back(std::move(replaced));
}

// --- Servers

Registry::Impl::Entry Registry::Impl::entry_of(std::shared_ptr<upstream::Server> server) {
  Entry entry;
  entry.id = ++last_id;
  entry.view.config = std::shared_ptr<const config::Server>(server, &server->config());
  entry.digest = config::digest(*entry.view.config);
  if (!entry.view.config->enabled) entry.state = State::disabled;
  entry.view.server = std::move(server);
  return entry;
}

// The server may outlive the registry's interest in it, and the registry.
void Registry::Impl::follow(const Entry& entry) {
  const std::weak_ptr<Impl> weak = weak_from_this();
  entry.view.server->home().post(
      [weak, &at = home, shards = shards, server = entry.view.server, id = entry.id] {
        upstream::Server* raw = server.get();
        server->on_catalogue([weak, &at, raw, id](mcp::ListKind kind, bool) {
          at.post([weak, id, kind, catalogue = raw->catalogue()] {
            if (const auto impl = weak.lock()) impl->catalogue_changed(id, catalogue, kind);
          });
        });
        server->on_updated(
            [weak, shards, name = raw->name()](std::vector<upstream::ResourceUpdate> news) {
              tell(weak, shards, std::make_shared<const Updates>(name, std::move(news)));
            });
        server->on_extension([weak, shards, name = raw->name()](upstream::ExtensionNotice notice) {
          auto updates = std::make_shared<Updates>(name, std::vector<upstream::ResourceUpdate>());
          updates->notice = std::move(notice);
          tell(weak, shards, updates);
        });
        server->on_state([weak, &at, id](State state) {
          at.post([weak, id, state] {
            if (const auto impl = weak.lock()) impl->state_changed(id, state);
          });
        });
      });
}

// From the server's shard to all.
void Registry::Impl::tell(const std::weak_ptr<Impl>& impl,
                          const std::vector<runtime::Shard*>& shards,
                          const std::shared_ptr<const Updates>& updates) {
  for (runtime::Shard* shard : shards) {
    shard->post([impl, index = shard->index(), updates] {
      const auto there = impl.lock();
      if (!there) return;
      for (const auto& callback : there->update_callbacks[index])
        callback(*updates);
    });
  }
}

Registry::Impl::Entry* Registry::Impl::find(std::uint64_t id) {
  for (Entries* some : {&entries, &incoming}) {
    for (Entry& entry : *some) {
      if (entry.id == id) return &entry;
    }
  }
  return nullptr;
}

// --- What the servers report

void Registry::Impl::catalogue_changed(std::uint64_t id,
                                       std::shared_ptr<const upstream::Catalogue> catalogue,
                                       mcp::ListKind kind) {
  Entry* entry = find(id);
  if (!entry) return;
  entry->view.catalogue = std::move(catalogue);
  entry->listed_by = entry->digest;
  if (!entry->shown) return;
  // Templates have no notification of their own, nor have skills, whose files are resources.
  if (kind == mcp::ListKind::resource_templates || kind == mcp::ListKind::skills) {
    kind = mcp::ListKind::resources;
  }
  if (entry->inherited) {
    entry->listed = true;
    compared.insert(entry->view.config->name);
  } else {
    announced.emplace(entry->view.config->name, kind);
  }
  rebuild_soon();
}

void Registry::Impl::state_changed(std::uint64_t id, State state) {
  Entry* entry = find(id);
  if (!entry) return;
  entry->state = state;
  if (settled(state)) entry->settled_once = true;
  if (state == State::failed) ++entry->failures;
  if (entry->inherited && !may_inherit(*entry)) disinherit(*entry);
  settle_incoming();
  // A ready server's lists are on their way to the next snapshot; that one settles the waiting.
  if (state != State::ready || rebuild_alarm.deadline() == kNever) settle_waiting();
}

void Registry::Impl::rebuild_soon() {
  if (rebuild_alarm.deadline() == kNever) rebuild_alarm.set(Clock::now() + kCoalesce);
}

void Registry::Impl::rebuild() {
  std::vector<ServerView> servers;
  for (Entry& entry : entries) {
    servers.push_back(entry.view);
    if (entry.listed) entry.inherited = false;
  }
  auto snapshot = build_snapshot(servers, options, newest->version + 1, newest.get());
  const std::vector<Change> changes = changes_since(*newest, *snapshot);
  newest = snapshot;
  announced.clear();
  compared.clear();
  publish(snapshot, changes);
  settle_waiting();
}

bool lists_differ(const Endpoint& a, const Endpoint& b, mcp::ListKind kind) {
  if (!shows_same(a, b, kind)) return true;
  return kind == mcp::ListKind::resources &&
         !(shows_same(a, b, mcp::ListKind::resource_templates) &&
           shows_same(a, b, mcp::ListKind::skills));
}

// /mcp: what is visible changed. /mcp/{server}: its server said so (case C41), or it is another
// one.
std::vector<Change> Registry::Impl::changes_since(const Snapshot& before, const Snapshot& after) {
  std::vector<Change> changes;
  const auto old_endpoint = before.find("");
  if (!old_endpoint) return changes;  // the first snapshot: nobody saw another
  for (const mcp::ListKind kind : kTold) {
    if (lists_differ(*old_endpoint, *after.find(""), kind)) changes.push_back({"", kind});
  }
  for (const std::string& name : compared) {
    const auto was = before.find(name);
    const auto is = after.find(name);
    if (!was || !is) continue;
    for (const mcp::ListKind kind : kTold) {
      if (lists_differ(*was, *is, kind)) announced.emplace(name, kind);
    }
  }
  for (const auto& [endpoint, kind] : announced)
    changes.push_back({endpoint, kind});
  return changes;
}

void Registry::Impl::publish(std::shared_ptr<const Snapshot> snapshot,
                             const std::vector<Change>& changes) {
  for (runtime::Shard* shard : shards) {
    auto swap = [this, index = shard->index(), snapshot, changes] {
      const bool replaced = views[index]->servers != snapshot->servers;
      views[index] = snapshot;
      for (const auto& callback : replaced_callbacks[index]) {
        if (replaced) callback();
      }
      for (const Change& change : changes) {
        for (const auto& callback : callbacks[index])
          callback(change);
      }
    };
    if (shard->is_current()) {
      swap();
    } else {
      shard->post(std::move(swap));
    }
  }
}

// --- Warm-up

bool Registry::Impl::ready(const std::string& endpoint) const {
  if (!endpoint.empty()) {
    for (const Entry& entry : entries) {
      if (entry.view.config->name != endpoint) continue;
      return entry.view.catalogue != nullptr || settled(entry.state);
    }
    return true;
  }
  const bool all = std::all_of(entries.begin(), entries.end(), [](const Entry& entry) {
    return entry.view.catalogue != nullptr || entry.settled_once || settled(entry.state);
  });
  const bool any = std::any_of(entries.begin(), entries.end(),
                               [](const Entry& entry) { return entry.view.catalogue != nullptr; });
  return all || (any && Clock::now() >= stragglers_until);
}

void Registry::Impl::settle_waiting() {
  const bool any = std::any_of(entries.begin(), entries.end(),
                               [](const Entry& entry) { return entry.view.catalogue != nullptr; });
  if (any && stragglers_until == kNever) {
    stragglers_until = Clock::now() + kStragglers;
    stragglers_alarm.set(stragglers_until);
  }
  if (rebuild_alarm.deadline() != kNever) return;  // rebuild() calls again
  std::vector<std::shared_ptr<Waiting>> still;
  for (auto& entry : waiting) {
    if (ready(entry->endpoint)) {
      entry->done.set(true);
    } else {
      still.push_back(std::move(entry));
    }
  }
  waiting = std::move(still);
}

namespace {

Task<bool> wait_for(std::shared_ptr<Registry::Impl> impl, std::string endpoint,
                    TimePoint deadline) {
  // What is about to be published settles the waiting itself: until then it cannot be listed.
  const bool publishing = impl->rebuild_alarm.deadline() != kNever;
  if (!publishing && impl->ready(endpoint)) co_return true;
  auto entry = std::make_shared<Registry::Impl::Waiting>();
  entry->endpoint = std::move(endpoint);
  impl->waiting.push_back(entry);
  runtime::Watchdog patience(impl->home, [impl = impl.get(), entry] {
    std::erase(impl->waiting, entry);
    entry->done.set(false);
  });
  patience.set(deadline);
  const bool in_time = co_await entry->done.wait();
  co_return in_time;
}

}  // namespace

Task<void> Registry::wait_ready(std::string endpoint, TimePoint deadline) {
  std::shared_ptr<Impl> impl = impl_;
  const std::function<Task<bool>()> at_home = [impl, endpoint, deadline] {
    return wait_for(impl, endpoint, deadline);
  };
  co_await runtime::run_on<bool>(impl->home, at_home);
}

// --- Stale lists

namespace {

Task<void> renew_one(upstream::Server& server, mcp::ListKind kind, TimePoint deadline) {
  const bool read = co_await server.renew(kind, deadline);
  static_cast<void>(read);  // else the old list is as good as it gets
}

}  // namespace

bool Registry::stale(const Endpoint& endpoint, mcp::ListKind kind) {
  const TimePoint now = Clock::now();
  return std::any_of(endpoint.sources().begin(), endpoint.sources().end(),
                     [&](const upstream::Server* server) { return server->stale(kind, now); });
}

Rendered Registry::aged(const Endpoint& endpoint, Rendered page, mcp::ListKind kind) {
  const auto announced = [kind](const upstream::Server& server) { return server.announces(kind); };
  return endpoint.aged(std::move(page), kind, Clock::now(), announced);
}

Task<void> Registry::renew(std::shared_ptr<const Endpoint> endpoint, mcp::ListKind kind) {
  const TimePoint now = Clock::now();
  const TimePoint deadline = now + kRenewal;
  runtime::TaskGroup reading(runtime::Shard::current());
  for (upstream::Server* server : endpoint->sources()) {
    if (server->stale(kind, now)) reading.spawn("renewal", renew_one(*server, kind, deadline));
  }
  co_await reading.join();
  // A list that came out different was reported to the registry before its server answered here.
  std::string name = endpoint->name;
  co_await wait_ready(std::move(name), deadline);
}

}  // namespace mcpx::registry
