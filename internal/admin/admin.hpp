// Admin: the /v1 routes: what the daemon runs and sees, and calling a tool by hand.
//
//   admin::Facts facts{...};   // what other rooms know: see below
//   admin::Admin admin(registry, redactor, std::move(facts));
//   http::Server server(options, {{"/v1", &admin}, ...});
//
// The registry outlives it. It keeps running only calls that wait for answers (Calls): stop().
// Every reply is JSON; errors are {"error":{"code","message","remedy"}}. Texts that come from a
// server, its output or an error pass the Redactor, names and states do not. Thread: handle() on
// the exchange's shard; made and destroyed at startup.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/redact.hpp"
#include "base/result.hpp"
#include "http/server.hpp"
#include "registry/registry.hpp"
#include "store/store.hpp"
#include "upstream/server.hpp"

namespace mcpx::broker {
class Broker;
}

namespace mcpx::admin {

class Calls;
struct Reply;

// What came of POST /v1/reload.
struct Reloaded {
  Reloaded() = default;  // no aggregate, so that coroutines may return it

  std::optional<Error> error;         // nothing has changed, and why
  std::vector<std::string> problems;  // of the configuration, if it was that
  // Names of servers. Those kept run on, the `relisted` among them are shown otherwise; in the
  // place of those changed there are other ones.
  std::vector<std::string> kept, relisted, changed, added, removed;
  std::vector<std::string> restart_needed;  // settings
  std::vector<std::string> warnings;
};

// Callable from any thread; one left empty counts as zero or nothing.
struct Facts {
  std::function<std::size_t()> sessions;                // legacy sessions
  std::function<std::size_t()> connections;             // of clients
  std::function<std::vector<std::string>()> listening;  // "127.0.0.1:7332", "unix:/run/..."
  std::function<store::Status()> store;
  std::function<std::size_t()> retiring;   // servers that a reload took out and that still finish
  std::function<Task<Reloaded>()> reload;  // empty: there is no reloading
  broker::Broker* broker = nullptr;        // outlives the admin; null: no questions are kept
};

class Admin final : public http::Handler {
 public:
  Admin(registry::Registry& registry, std::shared_ptr<const Redactor> redactor, Facts facts);
  ~Admin() override;
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  Task<void> handle(http::Exchange& exchange) override;
  void begin_shutdown();  // event streams end; any thread
  Task<void> stop();      // calls that wait for answers end; once, on the first shard
  std::shared_ptr<const Redactor> redactor() const { return std::atomic_load(&redactor_); }
  bool closing() const { return closing_.load(std::memory_order_relaxed); }
  void set_redactor(std::shared_ptr<const Redactor> redactor);  // any thread

 private:
  Task<Reply> route(http::Exchange& exchange, std::string_view path);
  Reply health() const;
  Task<Reply> status();
  Task<Reply> all_servers();
  Task<Reply> one_server(std::string name);
  Task<Reply> refresh(std::string name);
  Task<Reply> reload();
  std::shared_ptr<upstream::Server> server_named(const std::string& name) const;  // null: none
  Reply tools(std::string_view query) const;
  Task<Reply> call_tool(http::Exchange& exchange, std::string name);

  registry::Registry& registry_;
  std::shared_ptr<const Redactor> redactor_;  // read and swapped with std::atomic_load/store
  Facts facts_;
  TimePoint started_;
  std::atomic<bool> closing_{false};
  std::unique_ptr<Calls> calls_;  // null without a broker
};

}  // namespace mcpx::admin
