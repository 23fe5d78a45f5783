#include "registry/registry.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "registry/builder.hpp"
#include "runtime/hop.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"

namespace mcpx::registry {
namespace {

// One rebuild for a burst of changes.
constexpr Milliseconds kCoalesce{20};
// During warm-up a list waits this long for the other servers once one of them is there.
constexpr Milliseconds kStragglers{500};
// What a list waits at most for servers whose own list is stale.
constexpr Milliseconds kRenewal{1'000};

using upstream::State;

bool settled(State state) {
  return state == State::ready || state == State::failed || state == State::disabled ||
         state == State::stopped;
}

}  // namespace

struct Registry::Impl {
  struct Entry {
    ServerView view;
    State state = State::idle;
    bool settled_once = false;
  };
  struct Waiting {
    std::string endpoint;
    runtime::OneShot<bool> done;
  };

  Impl(runtime::Shard& home_in, std::vector<runtime::Shard*> shards_in, BuildOptions options_in)
      : home(home_in),
        shards(std::move(shards_in)),
        options(std::move(options_in)),
        views(shards.size()),
        callbacks(shards.size()),
        rebuild_alarm(home_in, [this] { rebuild(); }),
        stragglers_alarm(home_in, [this] { settle_waiting(); }) {}

  void catalogue_changed(std::size_t index, std::shared_ptr<const upstream::Catalogue> catalogue,
                         mcp::ListKind kind);
  void state_changed(std::size_t index, State state);
  void rebuild();
  void publish(std::shared_ptr<const Snapshot> snapshot, const std::vector<Change>& changes);
  std::vector<Change> changes_since(const Snapshot& before, const Snapshot& after);
  bool ready(const std::string& endpoint) const;
  void settle_waiting();

  runtime::Shard& home;
  std::vector<runtime::Shard*> shards;
  BuildOptions options;
  std::vector<Entry> entries;
  std::set<std::pair<std::string, mcp::ListKind>> announced;  // by pass-through endpoint
  std::shared_ptr<const Snapshot> newest = std::make_shared<Snapshot>();
  std::vector<std::shared_ptr<const Snapshot>> views;  // by shard, each used only there
  std::vector<std::vector<std::function<void(const Change&)>>> callbacks;  // likewise
  std::vector<std::shared_ptr<Waiting>> waiting;
  TimePoint stragglers_until = kNever;
  runtime::Watchdog rebuild_alarm, stragglers_alarm;
};

Registry::Registry(runtime::Shard& home, std::vector<runtime::Shard*> shards,
                   const config::Config& config, std::string server_info,
                   std::vector<upstream::Server*> servers) {
  BuildOptions options;
  options.names_max = config.names_max;
  options.server_info = std::move(server_info);
  impl_ = std::make_shared<Impl>(home, std::move(shards), std::move(options));
  for (upstream::Server* server : servers) {
    Impl::Entry entry;
    entry.view.config = &server->config();
    entry.view.server = server;
    impl_->entries.push_back(std::move(entry));
  }
}

Registry::~Registry() = default;

void Registry::start() {
  Impl& impl = *impl_;
  for (std::size_t i = 0; i < impl.entries.size(); ++i) {
    upstream::Server* server = impl.entries[i].view.server;
    if (!server->config().enabled) impl.entries[i].state = State::disabled;
    server->home().post([&impl, server, i] {
      server->on_catalogue([&impl, server, i](mcp::ListKind kind, bool) {
        impl.home.post([&impl, i, kind, catalogue = server->catalogue()] {
          impl.catalogue_changed(i, catalogue, kind);
        });
      });
      server->on_state([&impl, i](State state) {
        impl.home.post([&impl, i, state] { impl.state_changed(i, state); });
      });
    });
  }
  impl.rebuild();
}

std::shared_ptr<const Snapshot> Registry::current() const {
  return impl_->views[runtime::Shard::current().index()];
}

void Registry::on_change(std::function<void(const Change&)> changed) {
  impl_->callbacks[runtime::Shard::current().index()].push_back(std::move(changed));
}

// --- What the servers report

void Registry::Impl::catalogue_changed(std::size_t index,
                                       std::shared_ptr<const upstream::Catalogue> catalogue,
                                       mcp::ListKind kind) {
  // Templates have no notification of their own.
  if (kind == mcp::ListKind::resource_templates) kind = mcp::ListKind::resources;
  entries[index].view.catalogue = std::move(catalogue);
  announced.emplace(entries[index].view.config->name, kind);
  if (rebuild_alarm.deadline() == kNever) rebuild_alarm.set(Clock::now() + kCoalesce);
}

void Registry::Impl::state_changed(std::size_t index, State state) {
  entries[index].state = state;
  if (settled(state)) entries[index].settled_once = true;
  // A ready server's lists are on their way to the next snapshot; that one settles the waiting.
  if (state != State::ready || rebuild_alarm.deadline() == kNever) settle_waiting();
}

void Registry::Impl::rebuild() {
  std::vector<ServerView> servers;
  for (const Entry& entry : entries)
    servers.push_back(entry.view);
  auto snapshot = build_snapshot(servers, options, newest->version + 1);
  const std::vector<Change> changes = changes_since(*newest, *snapshot);
  newest = snapshot;
  announced.clear();
  publish(snapshot, changes);
  settle_waiting();
}

// /mcp: what is visible changed. /mcp/{server}: its server said so (case C41).
std::vector<Change> Registry::Impl::changes_since(const Snapshot& before, const Snapshot& after) {
  std::vector<Change> changes;
  const auto old_endpoint = before.find("");
  const auto new_endpoint = after.find("");
  if (!old_endpoint) return changes;  // the first snapshot: nobody saw another
  const auto differs = [&](mcp::ListKind kind) {
    return *old_endpoint->list(kind, mcp::kLatestModern) !=
           *new_endpoint->list(kind, mcp::kLatestModern);
  };
  for (const mcp::ListKind kind :
       {mcp::ListKind::tools, mcp::ListKind::prompts, mcp::ListKind::resources}) {
    const bool templates =
        kind == mcp::ListKind::resources && differs(mcp::ListKind::resource_templates);
    if (differs(kind) || templates) changes.push_back({"", kind});
  }
  for (const auto& [endpoint, kind] : announced)
    changes.push_back({endpoint, kind});
  return changes;
}

void Registry::Impl::publish(std::shared_ptr<const Snapshot> snapshot,
                             const std::vector<Change>& changes) {
  for (runtime::Shard* shard : shards) {
    auto swap = [this, index = shard->index(), snapshot, changes] {
      views[index] = snapshot;
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
