#include "upstream/lifecycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.hpp"
#include "upstream/backoff.hpp"
#include "upstream/questions.hpp"

namespace mcpx::upstream {
namespace {

// A burst of list_changed is read once, this long after its first.
constexpr Milliseconds kDebounce{50};
// A server that announces changes without end is read this often at most (case C40); still soon
// enough for a change to reach a client within 800 ms (case C41).
constexpr Milliseconds kRelistPause{500};
// A server that was ready this long starts a new count of failures; one that crashes at once does
// not.
constexpr Milliseconds kProven{30'000};

constexpr std::size_t kRemarks = 50;       // kept of one link
constexpr std::size_t kCompletions = 256;  // expected, the oldest forgotten

bool same_list(const List& a, const List& b) {
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [](const Item& x, const Item& y) { return x.definition == y.definition; }) &&
         a.ttl_ms == b.ttl_ms && a.is_private == b.is_private;
}

bool differs(const std::shared_ptr<const Catalogue>& before, const Catalogue& now) {
  if (!before) return true;
  if (facts_text(*before) != facts_text(now)) return true;
  for (std::size_t i = 0; i < mcp::kListKinds; ++i) {
    if (!same_list(before->lists[i], now.lists[i])) return true;
  }
  return false;
}

}  // namespace

Lifecycle::Lifecycle(runtime::Shard& home_in, const config::Server& config_in,
                     const Environment& environment_in)
    : home(home_in),
      config(config_in),
      environment(environment_in),
      views_(std::make_shared<std::vector<View>>(environment_in.shards.size())),
      renewal_(home_in),
      memory_(config, environment_in.store),
      breaker_(config.breaker_failures, config.breaker_cooldown),
      opener_(home_in, config, environment),
      members_(home_in, config, opener_, events(), member_hooks()),
      watches_(home_in, config, std::string(), watch_hooks()),
      alarm_(home_in, [this] { event_.wake(); }),
      tasks_(home_in) {
  if (!config.enabled) state_ = State::disabled;
}

void Lifecycle::start() {
  if (stopping_ || state_ == State::disabled) return;
  wanted_ = true;
  if (!std::exchange(running_, true)) tasks_.spawn("server", run());
  event_.wake();
}

// --- The one loop

Task<void> Lifecycle::run() {
  co_await recall();
  while (!stopping_) {
    if (!wanted_) {
      set_state(State::idle);
      co_await event_.wait();
      continue;
    }
    co_await attempt();
    if (link_) co_await watches_.renew(link_, Clock::now() + config.list_timeout);
    if (link_) co_await serve();
    if (!stopping_ && error_) co_await rest();
  }
  settle_waiting(stopping_error(config.name));
  settle_refresh(stopping_error(config.name));
}

// What was known when the last daemon ended is served until the server has said it anew (case C13).
Task<void> Lifecycle::recall() {
  Known known = co_await memory_.recall();
  if (known.era) opener_.assume(*known.era);
  opener_.on_era([this](std::optional<mcp::Revision> revision) {
    tasks_.spawn("keep era", memory_.keep_era(revision));
  });
  if (!known.catalogue) co_return;
  from_store_ = true;
  publish(known.catalogue, {mcp::kAllLists.begin(), mcp::kAllLists.end()});
}

Task<void> Lifecycle::attempt() {
  set_state(State::starting);
  ++starts_;
  relist_at_ = kNever;
  lists_read_ = false;
  dirty_.fill(true);
  announced_.fill(false);
  remarks_.clear();
  LinkEvents mine = events();
  mine.lost = [this](const Error& error) { lost(error); };
  mine.covered = [this] { freshen(); };
  mine.updated = [this](const std::string& uri) { watches_.updated(uri); };
  mine.missed = [this] { watches_.missed(); };
  // No caller's; what is asked outside of calls may be answered all the same.
  const Opener::Purpose purpose(declared_for(config, environment.nobody_askable));
  LinkResult opened = co_await opener_.open(std::move(mine), purpose);
  if (!opened) {
    start_failed_ = true;
    last_stderr_ = opener_.stderr_of_failure();
    failed(opened.error());
    co_return;
  }
  link_ = *opened;
  last_used_ = Clock::now();
  update_views([link = link_](View& view) { view.link = link; });
  well();
  settle_waiting(link_);
}

void Lifecycle::expect_completion(const std::string& id, std::shared_ptr<call::Completion> told) {
  completions_.emplace_back(id, std::move(told));
  if (completions_.size() > kCompletions) completions_.pop_front();
}

void Lifecycle::completed(const std::string& params) {
  const auto id = json::find_string(params, "elicitationId");
  if (!id) return;
  for (const auto& [expected, told] : completions_) {
    if (expected == *id) told->complete(params);
  }
  std::erase_if(completions_, [&id](const auto& entry) { return entry.first == *id; });
}

// What every instance tells; `lost` is each one's own.
LinkEvents Lifecycle::events() {
  LinkEvents events;
  events.list_changed = [this](mcp::ListKind kind) { list_changed(kind); };
  events.asked = [this] { leases_ = !config.is_http(); };
  events.completed = [this](const std::string& params) { completed(params); };
  events.remark = [this](const std::string& remark) {
    const bool known = std::find(remarks_.begin(), remarks_.end(), remark) != remarks_.end();
    if (!known && remarks_.size() < kRemarks) remarks_.push_back(remark);
  };
  events.extension = [this](const std::string& json, const std::string& told) {
    say_extension(std::string(), json, told);
  };
  return events;
}

// Until the link is lost, the server has been idle too long, or the daemon stops.
Task<void> Lifecycle::serve() {
  while (!stopping_ && link_ && link_->alive()) {
    const TimePoint now = Clock::now();
    const bool due = std::find(dirty_.begin(), dirty_.end(), true) != dirty_.end() &&
                     (relist_at_ == kNever || relist_at_ <= now);
    if (due || !refreshing_.empty()) {
      relist_at_ = kNever;
      co_await read_lists();
      continue;
    }
    if (idle_too_long()) {
      wanted_ = false;
      log::info("server {}: stopped after {} ms without a call", config.name,
                config.idle_stop->count());
      break;
    }
    note(relist_at_);
    if (config.idle_stop) {
      // A call is counted down on its caller's shard, maybe after its wake came here: look again.
      note(in_flight == 0 ? last_used_ + *config.idle_stop : Clock::now() + *config.idle_stop);
    }
    co_await event_.wait();
  }
  co_await drop_link(config.stop_grace);
}

Task<void> Lifecycle::read_lists() {
  std::vector<mcp::ListKind> kinds;
  for (const mcp::ListKind kind : mcp::kAllLists) {
    const bool asked = !refreshing_.empty();
    if (asked || dirty_[static_cast<std::size_t>(kind)]) kinds.push_back(kind);
  }
  dirty_.fill(false);
  const bool announced = std::find(announced_.begin(), announced_.end(), true) != announced_.end();
  if (announced) relisted_at_ = Clock::now();
  std::shared_ptr<Link> link = link_;
  Result<std::shared_ptr<const Catalogue>> read =
      co_await read_catalogue(*link, kinds, catalogue, config.list_timeout);
  if (read) {
    lists_read_ = true;
    start_failed_ = false;
    error_.reset();
    well();
    if (state_ != State::ready) ready_since_ = Clock::now();
    if (differs(catalogue, **read)) {
      tasks_.spawn("keep catalogue", memory_.keep_catalogue(*read));
    }
    from_store_ = false;
    publish(*read, kinds);
    settle_lists(kinds, true);
    set_state(State::ready);
    settle_refresh(Result<void>());
    co_return;
  }
  settle_refresh(read.error());
  settle_lists(kinds, false);
  if (stopping_) co_return;
  if (!link->alive()) {
    // A process says itself that it is gone; a server over HTTP that forgets its session at once
    // would be asked again for ever without a back-off.
    if (state_ == State::failed) co_return;
    start_failed_ = !lists_read_;
    failed(redacted_error(environment, read.error()));
    co_return;
  }
  // Connected, but not ready: the lists are asked for again (case C12).
  for (const mcp::ListKind kind : kinds)
    dirty_[static_cast<std::size_t>(kind)] = true;
  ++failures_;
  ++failures_in_row_;
  error_ = redacted_error(
      environment, Error("upstream.not_ready",
                         fmt::format("server {} is connected, but its lists could not be read: {}",
                                     config.name, read.error().message),
                         "they are asked for again; see the server's stderr"));
  relist_at_ = Clock::now() + backoff_after(failures_in_row_);
  log::warning("{}", error_->message);
  if (on_state) on_state();
}

// Waits out the back-off; a call may cut it short after a crash, not after a failed start.
Task<void> Lifecycle::rest() {
  while (!stopping_ && Clock::now() < retry_at_) {
    if (!start_failed_ && !waiting_.empty()) break;
    if (!refreshing_.empty()) break;
    note(retry_at_);
    co_await event_.wait();
  }
}

Task<void> Lifecycle::drop_link(Milliseconds grace) {
  std::shared_ptr<Link> link = std::exchange(link_, nullptr);
  update_views([](View& view) { view.link = nullptr; });
  if (!link) co_return;
  freshen();  // nobody announces anything for now
  last_stderr_ = link->stderr_tail();
  const bool forgotten = config.is_http() && !link->alive() && !stopping_;
  if (forgotten) {  // a new session need not wait for the calls that the old one still has
    leaving_.push_back(link);
    tasks_.spawn("leave session", leave(std::move(link), grace));
    co_return;
  }
  co_await link->stop(grace);
}

Task<void> Lifecycle::leave(std::shared_ptr<Link> link, Milliseconds grace) {
  co_await link->stop(grace);
  std::erase(leaving_, link);
}

// Why nothing is started now for whoever asks; a start that just failed is not repeated for each.
std::optional<Error> Lifecycle::refused_now() const {
  if (stopping_) return stopping_error(config.name);
  if (state_ == State::disabled) {
    return Error("upstream.disabled", fmt::format("server {} is disabled", config.name),
                 "set `enabled: true` for it in the configuration");
  }
  const bool resting = state_ == State::failed && start_failed_ && Clock::now() < retry_at_;
  return resting ? error_ : std::nullopt;
}

Task<Result<void>> Lifecycle::refresh() {
  if (const auto refused = refused_now()) co_return *refused;
  auto waiting = std::make_shared<runtime::OneShot<Result<void>>>();
  refreshing_.push_back(waiting);
  start();
  Result<void> done = co_await waiting->wait();
  co_return done;
}

// --- Notes left for the loop

void Lifecycle::failed(Error error) {
  ++failures_;
  ++failures_in_row_;
  retry_at_ = Clock::now() + backoff_after(failures_in_row_);
  log::warning("{}", error.text());
  error_ = error;
  set_state(State::failed);
  settle_waiting(error);
  settle_refresh(error);
}

void Lifecycle::lost(const Error& error) {
  if (stopping_) return;
  if (link_) {
    start_failed_ = !lists_read_;
    if (lists_read_ && Clock::now() - ready_since_ > kProven) failures_in_row_ = 0;
    failed(redacted_error(environment, error));
  }
  event_.wake();
}

void Lifecycle::list_changed(mcp::ListKind kind) {
  if (std::find(dirty_.begin(), dirty_.end(), true) == dirty_.end() || relist_at_ == kNever) {
    relist_at_ = std::max(Clock::now() + kDebounce, relisted_at_ + kRelistPause);
  }
  const auto mark = [this](mcp::ListKind changed) {
    const auto at = static_cast<std::size_t>(changed);
    announced_[at] = dirty_[at] = true;
  };
  mark(kind);
  if (kind == mcp::ListKind::resources) {
    mark(mcp::ListKind::resource_templates);
    mark(mcp::ListKind::skills);  // whose files are resources
  }
  event_.wake();
}

void Lifecycle::note(TimePoint when) {
  if (when < alarm_.deadline()) alarm_.set(when);
}

bool Lifecycle::idle_too_long() const {
  return config.idle_stop && !config.is_http() && in_flight == 0 && watches_.empty() &&
         Clock::now() >= last_used_ + *config.idle_stop;
}

// --- What others learn

void Lifecycle::publish(std::shared_ptr<const Catalogue> fresh,
                        const std::vector<mcp::ListKind>& kinds) {
  const std::shared_ptr<const Catalogue> before = std::exchange(catalogue, std::move(fresh));
  log_remarks(before);
  update_views([offers = catalogue](View& view) { view.offers = offers; });
  if (!on_catalogue) return;
  for (const mcp::ListKind kind : kinds) {
    const auto at = static_cast<std::size_t>(kind);
    const bool changed = !before || !same_list(before->list(kind), catalogue->list(kind));
    const bool announced = std::exchange(announced_[at], false);
    if (changed || announced) on_catalogue(kind, changed);
  }
}

void Lifecycle::update_views(std::function<void(View&)> update) {
  for (runtime::Shard* shard : environment.shards) {
    auto change = [views = views_, index = shard->index(), update] { update((*views)[index]); };
    if (shard->is_current()) {
      change();
    } else {
      shard->post(std::move(change));
    }
  }
}

void Lifecycle::settle_waiting(const LinkResult& result) {
  for (const auto& waiting : std::exchange(waiting_, {}))
    waiting->set(result);
}

void Lifecycle::settle_refresh(const Result<void>& result) {
  for (const auto& waiting : std::exchange(refreshing_, {}))
    waiting->set(result);
}

void Lifecycle::set_state(State state) {
  if (state_ == state) return;
  state_ = state;
  if (on_state) on_state();
}

Status Lifecycle::status() const {
  Status status;
  status.name = config.name;
  status.state = state_;
  status.transport = config.is_http() ? "http" : "stdio";
  status.in_flight = in_flight;
  status.starts = starts_;
  status.failures = failures_;
  status.error = error_;
  status.children = (link_ ? link_->children() : 0) + members_.children();
  status.instances = (link_ ? 1u : 0u) + members_.size();
  status.breaker_open = breaker_.open();
  status.from_store = from_store_;
  status.stderr_tail = link_ ? link_->stderr_tail() : last_stderr_;
  if (catalogue) {
    status.revision = catalogue->facts.revision;
    status.server_info = catalogue->facts.server_info;
    status.remarks = catalogue->remarks;
    status.remarks.insert(status.remarks.end(), remarks_.begin(), remarks_.end());
    status.tools = catalogue->list(mcp::ListKind::tools).items.size();
    status.prompts = catalogue->list(mcp::ListKind::prompts).items.size();
    status.resources = catalogue->list(mcp::ListKind::resources).items.size();
    status.resource_templates = catalogue->list(mcp::ListKind::resource_templates).items.size();
  }
  if (state_ == State::failed) {
    const auto left = std::chrono::duration_cast<Milliseconds>(retry_at_ - Clock::now());
    status.retry_in_ms = std::max<std::int64_t>(left.count(), 0);
  }
  return status;
}

Task<void> Lifecycle::stop(TimePoint deadline) {
  stopping_ = true;
  const TimePoint patience = std::min(deadline, Clock::now() + config.stop_grace);
  runtime::Timer timer(home);
  while (in_flight != 0 && Clock::now() < patience) {
    co_await timer.sleep_for(Milliseconds(10));
  }
  event_.wake();
  opener_.stop();
  if (link_) link_->hurry();
  for (const auto& link : leaving_)
    link->hurry();
  members_.hurry();
  hurry_watching();
  co_await tasks_.join();
  co_await members_.stop();
  co_await stop_watching();
  set_state(config.enabled ? State::stopped : State::disabled);
}

}  // namespace mcpx::upstream
