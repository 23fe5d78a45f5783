#include "daemon/app.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "admin/admin.hpp"
#include "base/redact.hpp"
#include "broker/broker.hpp"
#include "broker/stand_in.hpp"
#include "daemon/front_door.hpp"
#include "daemon/notify.hpp"
#include "daemon/recovery.hpp"
#include "daemon/reload.hpp"
#include "daemon/servers.hpp"
#include "daemon/signals.hpp"
#include "downstream/service.hpp"
#include "http/server.hpp"
#include "log/log.hpp"
#include "mcp/self.hpp"
#include "net/endpoint.hpp"
#include "registry/registry.hpp"
#include "runtime/hop.hpp"
#include "runtime/shard.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "store/store.hpp"
#include "upstream/server.hpp"
#include "upstream/start_gate.hpp"

namespace mcpx::daemon {
namespace {

constexpr std::size_t kDefaultThreads = 4;
constexpr Milliseconds kStoreWait{2'000};  // of a start, and of the end, for the disk

log::Level level_of(const std::string& text) {
  if (text == "trace") return log::Level::trace;
  if (text == "debug") return log::Level::debug;
  if (text == "warning") return log::Level::warning;
  if (text == "error") return log::Level::error;
  if (text == "off") return log::Level::off;
  return log::Level::info;
}

// Beside this program (a build tree), or in libexec (installed).
std::string find_supervisor() {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path here = fs::read_symlink("/proc/self/exe", failure).parent_path();
  for (const fs::path& candidate :
       {here / "mcpx-supervise", here.parent_path() / "libexec/mcpx/mcpx-supervise",
        here.parent_path() / "mcpx-supervise/mcpx-supervise"}) {
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return {};
}

std::vector<std::unique_ptr<runtime::Shard>> make_shards(const config::Config& config) {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t count = config.threads != 0 ? config.threads : std::min(kDefaultThreads, cores);
  std::vector<std::unique_ptr<runtime::Shard>> shards;
  for (std::size_t i = 0; i < count; ++i)
    shards.push_back(std::make_unique<runtime::Shard>(i));
  return shards;
}

Task<bool> stop_http(http::Server& server, runtime::Shard& shard, TimePoint deadline) {
  co_await server.stop(shard, deadline);
  co_return true;
}

std::vector<runtime::Shard*> pointers_to(
    const std::vector<std::unique_ptr<runtime::Shard>>& shards) {
  std::vector<runtime::Shard*> pointers;
  for (const auto& shard : shards)
    pointers.push_back(shard.get());
  return pointers;
}

log::Options log_options(const config::Config& config) {
  log::Options options;
  options.level = level_of(config.log_level);
  options.format =
      config.log_format == config::LogFormat::json ? log::Format::json : log::Format::human;
  options.file = config.log_file;
  return options;
}

// What a service manager wants to know of a reload: that it began, and by READY=1 that it is over.
std::string reloading() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto microseconds = static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
  return fmt::format("RELOADING=1\nMONOTONIC_USEC={}", microseconds);
}

class App {
 public:
  App(std::shared_ptr<const config::Config> config, const Options& options)
      : config_(std::move(config)),
        options_(options),
        shards_(make_shards(*config_)),
        pointers_(pointers_to(shards_)) {}

  int run() {
    runtime::Shard& main = *shards_.front();
    for (std::size_t i = 1; i < shards_.size(); ++i)
      shards_[i]->start();
    main.post([this, &main] { runtime::start(main, live()); });
    main.run();
    for (const auto& shard : shards_)
      shard->join();
    return status_;
  }

 private:
  Task<void> live() {
    const bool started = co_await start();
    if (started) {
      log::info("mcpx {} is ready on {}", MCPX_VERSION, fmt::join(addresses_, ", "));
      notify_service_manager("READY=1");
      co_await wait_for_the_end();
      notify_service_manager("STOPPING=1");
    } else {
      status_ = 1;
    }
    co_await stop();
    for (const auto& shard : shards_)
      shard->finish();
  }

  Task<bool> start() {
    Result<http::ServerOptions> front_door = server_options(*config_);
    if (!front_door) {
      log::error("{}", front_door.error().text());
      co_return false;
    }
    front_door->connections = affordable_connections(*config_, open_files_.now);
    access_ = front_door->access;
    co_await open_store();
    broker_ = std::make_unique<broker::Broker>(*pointers_.front(), *store_, config_->broker);
    broker_->limit(config_->ask.per_server);
    std::vector<store::QuestionRow> unanswered = co_await broker_->load();
    make_servers();
    registry_ = std::make_unique<registry::Registry>(*pointers_.front(), pointers_, config_,
                                                     std::string(mcp::kSelf), servers_.running());
    registry_->start();
    service_ = std::make_unique<downstream::Service>(*registry_, pointers_);
    service_->keep_sessions(*store_);
    service_->ask_instead(*broker_);
    co_await service_->start();
    make_reloader();
    make_admin();
    std::vector<http::Route> routes;
    routes.push_back({"/mcp", service_.get()});
    routes.push_back({"/sse", service_.get()});
    routes.push_back({"/v1", admin_.get()});
    http_ = std::make_unique<http::Server>(*front_door, std::move(routes));
    for (const auto& server : servers_.running()) {
      server->home().post([server] { server->start(); });
    }
    service_->redrive(std::move(unanswered));
    co_return listen();
  }

  // Before any server: what was left running may hold what they need, and what is remembered of
  // them is served at once. A slow disk holds up neither for long; the sweep then goes on behind.
  Task<void> open_store() {
    runtime::Shard& main = *pointers_.front();
    const TimePoint deadline = Clock::now() + kStoreWait;
    store::Options options;
    options.state_dir = config_->state_dir;
    store_ = store::Store::open(std::move(options));
    background_.spawn("recovery", recover());
    co_await store_->opened(kStoreWait);
    runtime::Watchdog late(main, [this] { recovered_.set(false); });
    late.set(deadline);
    co_await recovered_.wait();
    background_.spawn("prune", forget_others(config_));
  }

  Task<void> recover() {
    co_await end_left_children(*pointers_.front(), *store_);
    recovered_.set(true);
  }

  Task<void> forget_others(Reloader::ConfigPtr config) {
    std::vector<std::string> names;
    for (const config::Server& server : config->servers)
      names.push_back(server.name);
    co_await store_->keep_only(std::move(names));  // the store logs its failures
  }

  void make_servers() {
    upstream::Environment environment;
    environment.supervisor = options_.supervisor.empty() ? find_supervisor() : options_.supervisor;
    environment.client_info = mcp::kSelf;
    environment.shards = pointers_;
    environment.open_files = open_files_.before;
    environment.starts = &starts_;
    environment.store = store_.get();
    environment.redactor = redactor_;
    environment.nobody = std::make_shared<broker::Unattended>(*broker_);
    equip(std::move(environment), *config_);
    const std::vector<config::Fate> fates(config_->servers.size(), config::Fate::added);
    servers_.adopt(servers_.next(*config_, fates), Milliseconds(0));
  }

  // What servers are given of a configuration besides their own part of it.
  void equip(upstream::Environment environment, const config::Config& config) {
    environment.path_extra = config.path_extra;
    environment.limits = config.limits;
    environment.nobody_askable = config.broker.declare;
    servers_.use(std::move(environment));
  }

  // Before anything else of a reload: a token that was taken away must not be good for long.
  void change_front_door(const config::Config& config) {
    Result<http::ServerOptions> next = server_options(config);
    if (!next) {  // it was fine when it was read, a moment ago
      log::error("clients are let in as before: {}", next.error().text());
      return;
    }
    next->connections = affordable_connections(config, open_files_.now);
    // The address stays the one that was bound, whatever the file says now.
    if (open_to_others_ && config.listen.tokens.empty()) {
      log::warning("other machines reach mcpx until it is restarted, so the tokens stay in force");
      next->access = access_;
    }
    access_ = next->access;
    http_->reconfigure(*next);
  }

  void make_reloader() {
    Reloader::Followers followers;
    followers.coming = [this](const Reloader::ConfigPtr& config,
                              std::shared_ptr<const Redactor> redactor) {
      log::set_redactor(redactor);
      log::configure(log_options(*config));
      change_front_door(*config);
      admin_->set_redactor(redactor);
      starts_.set_limit(config->starts_at_once);
      upstream::Environment environment = servers_.environment();
      environment.redactor = std::move(redactor);
      equip(std::move(environment), *config);
    };
    followers.there = [this](Reloader::ConfigPtr config, std::vector<std::string> gone) {
      return follow(std::move(config), std::move(gone));
    };
    reloader_ = std::make_unique<Reloader>(*pointers_.front(), options_.read, config_, *registry_,
                                           servers_, std::move(followers));
  }

  Task<void> follow(Reloader::ConfigPtr config, std::vector<std::string> gone) {
    config_ = config;
    broker_->configure(config->broker);
    broker_->limit(config->ask.per_server);
    co_await service_->reconfigured(std::move(gone));
    background_.spawn("prune", forget_others(std::move(config)));
  }

  void make_admin() {
    admin::Facts facts;
    facts.sessions = [this] { return service_->sessions(); };
    facts.connections = [this] { return http_->connections(); };
    facts.listening = [this] { return addresses_; };
    facts.store = [this] { return store_->status(); };
    facts.broker = broker_.get();
    facts.retiring = [this] { return servers_.retiring(); };
    if (options_.read) facts.reload = [this] { return reloader_->reload(); };
    admin_ = std::make_unique<admin::Admin>(*registry_, redactor_, std::move(facts));
  }

  // Binds everything before anything is accepted, so that what a request sees does not change.
  bool listen() {
    runtime::Shard& main = *pointers_.front();
    const bool tcp = config_->listen.http_enabled;
    const bool local = !config_->listen.unix_path.empty();
    if (tcp && !bind(net::listen_tcp(main, config_->listen.http_host, config_->listen.http_port),
                     http::Server::Transport::tcp)) {
      return false;
    }
    if (local &&
        !bind(net::listen_unix(main, config_->listen.unix_path), http::Server::Transport::local)) {
      return false;
    }
    for (const auto& [listener, transport] : listeners_) {
      listener->start(pointers_, [this, how = transport](runtime::Shard& shard,
                                                         std::unique_ptr<net::ByteStream> stream) {
        http_->serve(shard, std::move(stream), how);
      });
    }
    return true;
  }

  bool bind(Result<std::unique_ptr<net::Listener>> listener, http::Server::Transport transport) {
    if (!listener) {
      log::error("{}", listener.error().text());
      return false;
    }
    addresses_.push_back((*listener)->address());
    listeners_.emplace_back(std::move(*listener), transport);
    return true;
  }

  Task<void> wait_for_the_end() {
    Signals signals(*pointers_.front());
    while (true) {
      const int signal = co_await signals.next();
      if (signal == SIGHUP) {
        background_.spawn("reload", reload());
        continue;
      }
      log::info("stopping on {}", signal == SIGINT ? "SIGINT" : "SIGTERM");
      break;
    }
    signals.close();
  }

  // What comes of it is in the log.
  Task<void> reload() {
    notify_service_manager(reloading());
    const admin::Reloaded report = co_await reloader_->reload();
    static_cast<void>(report);
    notify_service_manager("READY=1");
  }

  // The order of style.md P8: nothing new, finish what is in progress, then the servers.
  Task<void> stop() {
    const TimePoint deadline = Clock::now() + config_->shutdown_grace;
    for (const auto& [listener, transport] : listeners_)
      listener->stop();
    if (reloader_) reloader_->hurry();
    if (broker_) broker_->shut_down();
    if (admin_) admin_->begin_shutdown();
    if (service_) service_->begin_shutdown();
    if (http_) {
      for (runtime::Shard* shard : pointers_) {
        const std::function<Task<bool>()> there = [this, shard, deadline] {
          return stop_http(*http_, *shard, deadline);
        };
        co_await runtime::run_on<bool>(*shard, there);
      }
    }
    if (admin_) co_await admin_->stop();
    if (service_) co_await service_->stop();
    if (reloader_) co_await reloader_->join();
    starts_.open_wide();
    co_await servers_.stop(deadline);
    // What a server posts to the registry, and what the registry posts to every shard.
    co_await settle(pointers_);
    listeners_.clear();
    http_.reset();
    admin_.reset();
    service_.reset();
    reloader_.reset();
    registry_.reset();
    servers_.clear();
    co_await background_.join();
    if (broker_) co_await broker_->join();
    broker_.reset();  // and its alarm, for which its shard would stay
    if (store_) co_await store_->close(Clock::now() + kStoreWait);
    log::info("stopped");
  }

  Reloader::ConfigPtr config_;  // in force
  const Options& options_;
  std::shared_ptr<const Redactor> redactor_ = std::make_shared<const Redactor>(config_->secrets);
  const OpenFiles open_files_ = raise_open_files();
  const bool open_to_others_ = open_to_others(config_->listen);
  std::shared_ptr<const http::Access> access_;  // in force
  int status_ = 0;
  std::vector<std::unique_ptr<runtime::Shard>> shards_;  // before, so after, everything on them
  std::vector<runtime::Shard*> pointers_;
  upstream::StartGate starts_{*shards_.front(), config_->starts_at_once};
  std::unique_ptr<store::Store> store_;     // outlives the servers
  std::unique_ptr<broker::Broker> broker_;  // too
  runtime::TaskGroup background_{*shards_.front()};
  runtime::OneShot<bool> recovered_;
  Servers servers_{pointers_};
  std::unique_ptr<registry::Registry> registry_;
  std::unique_ptr<Reloader> reloader_;
  std::unique_ptr<downstream::Service> service_;
  std::unique_ptr<admin::Admin> admin_;
  std::unique_ptr<http::Server> http_;
  std::vector<std::pair<std::unique_ptr<net::Listener>, http::Server::Transport>> listeners_;
  std::vector<std::string> addresses_;
};

}  // namespace

int run(const config::Config& config, const Options& options) {
  block_signals();  // before spdlog or a shard starts a thread
  log::configure(log_options(config));
  log::set_redactor(std::make_shared<const Redactor>(config.secrets));
  for (const std::string& warning : config.warnings)
    log::warning("{}", warning);
  int status = 0;
  {
    App app(std::make_shared<const config::Config>(config), options);
    status = app.run();
  }
  log::shutdown();
  return status;
}

}  // namespace mcpx::daemon
