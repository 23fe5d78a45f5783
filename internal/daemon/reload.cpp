#include "daemon/reload.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/redact.hpp"
#include "log/log.hpp"
#include "runtime/hop.hpp"

namespace mcpx::daemon {
namespace {

config::Problem problem_with(const std::string& file, std::string message, std::string remedy) {
  config::Problem problem;
  problem.file = file;
  problem.message = std::move(message);
  problem.suggestion = std::move(remedy);
  return problem;
}

// A pipe, as `--config <(...)` makes one, was read when the daemon started: reading it again would
// wait for a writer for ever.
config::LoadResult read_again(const Reloader::Read& read, const std::string& file) {
  std::error_code failure;
  const auto status = std::filesystem::status(file, failure);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return std::vector<config::Problem>{problem_with(
        file, "is no ordinary file and cannot be read a second time", "restart mcpxd")};
  }
  // Caught in the middle of being written, as a rule.
  if (std::filesystem::is_regular_file(status) && std::filesystem::file_size(file, failure) == 0) {
    return std::vector<config::Problem>{problem_with(
        file, "is empty", "write `servers: {}` to be left without servers, else reload again")};
  }
  try {
    return read();
  } catch (const std::exception& error) {
    return std::vector<config::Problem>{problem_with(file, error.what(), "restart mcpxd")};
  }
}

bool enabled_in(const config::Config& config, const std::string& name) {
  for (const config::Server& server : config.servers) {
    if (server.name == name) return server.enabled;
  }
  return false;
}

// Endpoints that clients had and have not any more.
std::vector<std::string> gone_endpoints(const config::Config& before, const config::Config& after) {
  std::vector<std::string> names;
  for (const config::Server& server : before.servers) {
    if (server.enabled && !enabled_in(after, server.name)) names.push_back(server.name);
  }
  return names;
}

void sort_names(const config::Config& after, const config::Difference& difference,
                admin::Reloaded& report) {
  using config::Fate;
  for (std::size_t i = 0; i < after.servers.size(); ++i) {
    const std::string& name = after.servers[i].name;
    const Fate fate = difference.servers[i];
    if (fate == Fate::kept || fate == Fate::relisted) report.kept.push_back(name);
    if (fate == Fate::relisted) report.relisted.push_back(name);
    if (fate == Fate::changed) report.changed.push_back(name);
    if (fate == Fate::added) report.added.push_back(name);
  }
  report.removed = difference.removed;
}

// "4 kept, changed files, added web"
std::string summary(const admin::Reloaded& report) {
  std::string out = fmt::format("{} kept", report.kept.size());
  const auto add = [&out](std::string_view what, const std::vector<std::string>& names) {
    if (!names.empty()) out += fmt::format(", {} {}", what, fmt::join(names, " "));
  };
  add("of them shown otherwise", report.relisted);
  add("changed", report.changed);
  add("added", report.added);
  add("removed", report.removed);
  add("needing a restart of mcpxd:", report.restart_needed);
  return out;
}

}  // namespace

Reloader::Reloader(runtime::Shard& home, Read read, ConfigPtr running, registry::Registry& registry,
                   Servers& servers, Followers followers)
    : home_(home),
      read_(std::move(read)),
      started_with_(running),
      config_(std::move(running)),
      registry_(registry),
      servers_(servers),
      followers_(std::move(followers)),
      tasks_(home) {}

Task<admin::Reloaded> Reloader::reload() {
  const std::function<Task<admin::Reloaded>()> at_home = [this] { return ask(); };
  admin::Reloaded report = co_await runtime::run_on<admin::Reloaded>(home_, at_home);
  co_return report;
}

Task<admin::Reloaded> Reloader::ask() {
  auto waiting = std::make_shared<runtime::OneShot<admin::Reloaded>>();
  waiting_.push_back(waiting);
  if (!std::exchange(running_, true)) tasks_.spawn("reload", run());
  admin::Reloaded report = co_await waiting->wait();
  co_return report;
}

Task<void> Reloader::run() {
  while (!waiting_.empty()) {
    const Waiting served = std::exchange(waiting_, {});
    admin::Reloaded report = co_await once();
    for (const auto& waiting : served)
      waiting->set(report);
  }
  running_ = false;
}

Task<admin::Reloaded> Reloader::once() {
  admin::Reloaded report;
  if (stopping_) {
    report.error = Error("daemon.stopping", "mcpxd is stopping", "start it again");
    co_return report;
  }
  log::info("reading {} again", config_->file);
  const Loaded loaded = co_await load();
  if (!loaded->has_value()) {
    report = refused(loaded->error());
  } else {
    report = co_await apply(std::make_shared<const config::Config>(**loaded));
  }
  co_return report;
}

// Files may lie on a disk that dawdles, and no shard waits for a disk.
Task<Reloader::Loaded> Reloader::load() {
  auto done = std::make_shared<runtime::OneShot<Loaded>>();
  const auto work = [this, done, file = config_->file] {
    auto loaded = std::make_shared<const config::LoadResult>(read_again(read_, file));
    home_.post([done, loaded] { done->set(loaded); });
  };
  std::thread reader;
  try {
    reader = std::thread(work);
  } catch (const std::system_error& error) {
    done->set(std::make_shared<const config::LoadResult>(std::vector<config::Problem>{
        problem_with(config_->file, fmt::format("no thread to read it: {}", error.what()), "")}));
  }
  Loaded loaded = co_await done->wait();
  if (reader.joinable()) reader.join();
  co_return loaded;
}

admin::Reloaded Reloader::refused(const std::vector<config::Problem>& problems) const {
  admin::Reloaded report;
  for (const config::Problem& problem : problems) {
    report.problems.push_back(problem.text());
    log::error("not reloaded: {}", problem.text());
  }
  report.error =
      Error("config.invalid",
            fmt::format("not reloaded, nothing has changed:\n{}", fmt::join(report.problems, "\n")),
            "correct it and reload again; `mcpxd --check` only reads it");
  return report;
}

// A server that finishes may still say what was a secret when it was started.
std::vector<std::string> Reloader::secrets_with(const config::Config& after) {
  if (servers_.retiring() == 0) former_secrets_.clear();
  former_secrets_.insert(config_->secrets.begin(), config_->secrets.end());
  std::vector<std::string> all = after.secrets;
  all.insert(all.end(), former_secrets_.begin(), former_secrets_.end());
  return all;
}

Task<admin::Reloaded> Reloader::apply(ConfigPtr after) {
  const ConfigPtr before = config_;
  const config::Difference difference = config::difference(*before, *after);
  admin::Reloaded report;
  sort_names(*after, difference, report);
  report.restart_needed = config::restart_needed(*started_with_, *after);
  report.warnings = after->warnings;

  followers_.coming(after, std::make_shared<const Redactor>(secrets_with(*after)));
  ServerList next = servers_.next(*after, difference.servers);
  co_await registry_.replace(after, next, Clock::now() + after->ready_wait);
  config_ = after;
  servers_.adopt(std::move(next), after->reload_grace);
  std::vector<std::string> gone = gone_endpoints(*before, *after);
  co_await followers_.there(after, std::move(gone));

  for (const std::string& warning : after->warnings)
    log::warning("{}", warning);
  log::info("reloaded {}: {}", after->file, summary(report));
  co_return report;
}

void Reloader::hurry() {
  stopping_ = true;
  registry_.hurry();
}

Task<void> Reloader::join() {
  co_await tasks_.join();
}

}  // namespace mcpx::daemon
