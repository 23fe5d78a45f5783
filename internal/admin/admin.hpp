// Admin: the /v1 routes: what the daemon runs and sees, and calling a tool by hand.
//
//   admin::Facts facts{...};   // what other rooms know: see below
//   admin::Admin admin(registry, redactor, std::move(facts));
//   http::Server server(options, {{"/v1", &admin}, ...});
//
// The registry outlives it. It keeps nothing running: to stop it, stop
// the http server. Every reply is JSON; errors are {"error":{"code","message","remedy"}}. Texts
// that come from a server, its output or an error pass the Redactor, names and states do not.
// Thread: handle() on the exchange's shard; made and destroyed at startup.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/redact.hpp"
#include "http/server.hpp"
#include "registry/registry.hpp"
#include "store/store.hpp"
#include "upstream/server.hpp"

namespace mcpx::admin {

// Callable from any thread; one left empty counts as zero or nothing.
struct Facts {
  std::function<std::size_t()> sessions;                // legacy sessions
  std::function<std::size_t()> connections;             // of clients
  std::function<std::vector<std::string>()> listening;  // "127.0.0.1:7332", "unix:/run/..."
  std::function<store::Status()> store;
};

class Admin final : public http::Handler {
 public:
  Admin(registry::Registry& registry, std::shared_ptr<const Redactor> redactor, Facts facts);
  ~Admin() override;
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  Task<void> handle(http::Exchange& exchange) override;

 private:
  struct Reply;
  Task<Reply> route(http::Exchange& exchange, std::string_view path);
  Reply health() const;
  Task<Reply> status();
  Task<Reply> all_servers();
  Task<Reply> one_server(std::string name);
  Task<Reply> refresh(std::string name);
  std::shared_ptr<upstream::Server> server_named(const std::string& name) const;  // null: none
  Reply tools(std::string_view query) const;
  Task<Reply> call_tool(http::Exchange& exchange, std::string name);

  registry::Registry& registry_;
  std::shared_ptr<const Redactor> redactor_;
  Facts facts_;
  TimePoint started_;
};

}  // namespace mcpx::admin
