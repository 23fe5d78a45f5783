#include "upstream/lifecycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "log/log.hpp"
#include "upstream/backoff.hpp"
#include "upstream/questions.hpp"

namespace mcpx::upstream {
namespace {

// A burst of list_changed is read once, this long after its first.
constexpr Milliseconds kDebounce{50};
// A link that failed its start is ended without ceremony.
constexpr Milliseconds kNoGrace{0};
// A server that was ready this long starts a new count of failures; one that crashes at once does
// not.
constexpr Milliseconds kProven{30'000};

const std::vector<mcp::ListKind> kAllLists = {mcp::ListKind::tools, mcp::ListKind::prompts,
                                              mcp::ListKind::resources,
                                              mcp::ListKind::resource_templates};

std::uint64_t random_bits() {
  static thread_local std::mt19937_64 engine{std::random_device{}()};
  return engine();
}

bool same_items(const List& a, const List& b) {
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                    [](const Item& x, const Item& y) { return x.definition == y.definition; });
}

mcp::Protocol protocol_of(config::Protocol protocol) {
  switch (protocol) {
    case config::Protocol::modern:
      return mcp::Protocol::modern;
    case config::Protocol::legacy:
      return mcp::Protocol::legacy;
    case config::Protocol::automatic:
      break;
  }
  return mcp::Protocol::automatic;
}

}  // namespace

Lifecycle::Lifecycle(runtime::Shard& home_in, const config::Server& config_in,
                     const Environment& environment_in)
    : home(home_in),
      config(config_in),
      environment(environment_in),
      shared_(environment_in.shards.size()),
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
  while (!stopping_) {
    if (!wanted_) {
      set_state(State::idle);
      co_await event_.wait();
      continue;
    }
    co_await attempt();
    if (link_) co_await serve();
    if (!stopping_ && error_) co_await rest();
  }
  settle_waiting(Error("upstream.stopped", "the daemon is stopping"));
  settle_refresh(Error("upstream.stopped", "the daemon is stopping"));
}

Task<void> Lifecycle::attempt() {
  set_state(State::starting);
  ++starts_;
  relist_at_ = kNever;
  lists_read_ = false;
  dirty_.fill(true);
  announced_.fill(false);
  LinkResult opened = co_await open_link();
  if (!opened) {
    start_failed_ = true;
    failed(opened.error());
    co_return;
  }
  link_ = *opened;
  era_ = link_->facts().era();
  last_used_ = Clock::now();
  share_link(link_);
  settle_waiting(link_);
}

Task<LinkResult> Lifecycle::open_link() {
  const TimePoint deadline = Clock::now() + config.start_timeout;
  const bool probes = !config.is_http() && !era_ && config.protocol == config::Protocol::automatic;
  LinkResult opened = co_await open_once(era_, deadline);
  // Some legacy servers exit on a request before `initialize`: once more, without the probe.
  if (!opened && probes && opened.error().code == "upstream.exited" && !stopping_) {
    opened = co_await open_once(mcp::Era::legacy, deadline);
  }
  if (!opened) era_.reset();
  co_return opened;
}

Task<LinkResult> Lifecycle::open_once(std::optional<mcp::Era> known_era, TimePoint deadline) {
  LinkContext context{home, config, environment, {}};
  context.events.list_changed = [this](mcp::ListKind kind) { list_changed(kind); };
  context.events.lost = [this](const Error& error) { lost(error); };
  context.events.asked = [] {};
  context.events.remark = [](const std::string&) {};
  LinkResult opened = Error("upstream.stopped", "the daemon is stopping");
  if (config.is_http()) {
    opened = open_http_link(std::move(context));
  } else {
    opened = co_await open_stdio_link(std::move(context));
  }
  if (!opened) co_return redacted_error(environment, opened.error());
  std::shared_ptr<Link> link = *opened;
  opening_ = link;
  if (stopping_) link->hurry();  // stop() came while the process was being started

  mcp::Handshake::Options options;
  options.protocol = protocol_of(config.protocol);
  options.known_era = known_era;
  options.client_info = environment.client_info;
  options.client_capabilities = declared_capabilities(config.roots);
  Result<mcp::ServerFacts> facts =
      co_await shake_hands(*link, std::move(options), config.probe_timeout, deadline);
  opening_.reset();
  if (facts) {
    link->established(*facts);
    co_return link;
  }
  last_stderr_ = link->stderr_tail();
  Error error = facts.error();
  if (error.code == "upstream.timeout") {
    error = Error("upstream.start_timeout",
                  fmt::format("server {} did not finish its handshake within {} ms", config.name,
                              config.start_timeout.count()),
                  "raise start_timeout for this server, or see its stderr");
  }
  co_await link->stop(kNoGrace);  // before any retry (case C05)
  co_return redacted_error(environment, std::move(error));
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
  for (const mcp::ListKind kind : kAllLists) {
    const bool asked = !refreshing_.empty();
    if (asked || dirty_[static_cast<std::size_t>(kind)]) kinds.push_back(kind);
  }
  dirty_.fill(false);
  std::shared_ptr<Link> link = link_;
  Result<std::shared_ptr<const Catalogue>> read =
      co_await read_catalogue(*link, kinds, catalogue, config.list_timeout);
  if (read) {
    lists_read_ = true;
    start_failed_ = false;
    error_.reset();
    if (state_ != State::ready) ready_since_ = Clock::now();
    publish(*read, kinds);
    set_state(State::ready);
    settle_refresh(Result<void>());
    co_return;
  }
  settle_refresh(read.error());
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
  relist_at_ = Clock::now() + backoff_after(failures_in_row_, random_bits());
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
  share_link(nullptr);
  if (!link) co_return;
  last_stderr_ = link->stderr_tail();
  co_await link->stop(grace);
}

Task<Result<void>> Lifecycle::refresh() {
  if (stopping_) co_return Error("upstream.stopped", "the daemon is stopping");
  if (state_ == State::disabled) {
    co_return Error("upstream.disabled", fmt::format("server {} is disabled", config.name),
                    "set `enabled: true` for it in the configuration");
  }
  if (state_ == State::failed && start_failed_ && error_ && Clock::now() < retry_at_) {
    co_return *error_;
  }
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
  retry_at_ = Clock::now() + backoff_after(failures_in_row_, random_bits());
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
  const auto at = static_cast<std::size_t>(kind);
  announced_[at] = true;
  if (std::find(dirty_.begin(), dirty_.end(), true) == dirty_.end() || relist_at_ == kNever) {
    relist_at_ = Clock::now() + kDebounce;
  }
  dirty_[at] = true;
  event_.wake();
}

void Lifecycle::note(TimePoint when) {
  if (when < alarm_.deadline()) alarm_.set(when);
}

bool Lifecycle::idle_too_long() const {
  return config.idle_stop && !config.is_http() && in_flight == 0 &&
         Clock::now() >= last_used_ + *config.idle_stop;
}

// --- What others learn

void Lifecycle::publish(std::shared_ptr<const Catalogue> fresh,
                        const std::vector<mcp::ListKind>& kinds) {
  const std::shared_ptr<const Catalogue> before = std::exchange(catalogue, std::move(fresh));
  if (!on_catalogue) return;
  for (const mcp::ListKind kind : kinds) {
    const auto at = static_cast<std::size_t>(kind);
    const bool changed = !before || !same_items(before->list(kind), catalogue->list(kind));
    const bool announced = std::exchange(announced_[at], false);
    if (changed || announced) on_catalogue(kind, changed);
  }
}

void Lifecycle::share_link(std::shared_ptr<Link> link) {
  for (runtime::Shard* shard : environment.shards) {
    auto swap = [this, index = shard->index(), link] { shared_[index] = link; };
    if (shard->is_current()) {
      swap();
    } else {
      shard->post(std::move(swap));
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
  status.children = link_ ? link_->children() : 0;
  status.stderr_tail = link_ ? link_->stderr_tail() : last_stderr_;
  if (catalogue) {
    status.revision = catalogue->facts.revision;
    status.server_info = catalogue->facts.server_info;
    status.remarks = catalogue->remarks;
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
  if (opening_) opening_->hurry();
  if (link_) link_->hurry();
  co_await tasks_.join();
  set_state(config.enabled ? State::stopped : State::disabled);
}

}  // namespace mcpx::upstream
