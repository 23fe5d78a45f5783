// The service over a real registry and scripted servers, on one shard, and ways to talk to it.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "downstream/service.hpp"
#include "registry/registry.hpp"
#include "runtime/timer.hpp"
#include "unit/downstream/fake_exchange.hpp"
#include "unit/downstream/fake_upstream.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::test {

inline const FieldList kPlain = {{"Content-Type", "application/json"},
                                 {"Accept", "application/json, text/event-stream"}};

inline FieldList with(FieldList fields, const FieldList& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

// A modern body: `params` without its braces, may be empty.
inline std::string modern_body(const std::string& id, const std::string& method,
                               const std::string& params = {},
                               const std::string& capabilities = "{}") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":{)" +
         (params.empty() ? "" : params + ",") +
         R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)" +
         R"("io.modelcontextprotocol/clientCapabilities":)" + capabilities + "}}}";
}

inline FieldList modern_fields(const std::string& method, const std::string& name = {}) {
  FieldList fields = with(kPlain, {{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", method}});
  if (!name.empty()) fields.emplace_back("Mcp-Name", name);
  return fields;
}

class House {
 public:
  explicit House(runtime::Shard& shard, std::size_t sessions = 16) : shard_(shard), tasks(shard) {
    forget_scripts();
    config_->limits.sessions = sessions;
    config_->ready_wait = Milliseconds(200);
    for (const char* name : {"alpha", "beta"}) {
      config::Server server;
      server.name = name;
      config_->servers.push_back(server);
    }
    config::Server off;
    off.name = "off";
    off.enabled = false;
    config_->servers.push_back(off);
    std::vector<std::shared_ptr<upstream::Server>> servers;
    for (const auto& server : config_->servers)
      servers.push_back(std::make_shared<upstream::Server>(shard, server, environment_));
    registry_ = std::make_unique<registry::Registry>(shard, std::vector<runtime::Shard*>{&shard},
                                                     config_, R"({"name":"mcpx","version":"0"})",
                                                     std::move(servers));
    service_ =
        std::make_unique<downstream::Service>(*registry_, std::vector<runtime::Shard*>{&shard});
  }

  // Starts everything and waits until both servers' catalogues are served.
  Task<void> open() {
    registry_->start();
    co_await service_->start();
    registry_->on_change([this](const registry::Change& change) { changes.push(change); });
    co_await pause();  // the registry subscribes by post
    offer("alpha", {"echo", "add"}, {"greet"}, {"test://a/1"});
    offer("beta", {"echo"}, {}, {});
    co_await until_published();
  }

  // A server's lists change to these.
  void offer(const std::string& name, const std::vector<std::string>& tools,
             const std::vector<std::string>& prompts, const std::vector<std::string>& resources) {
    script(name).catalogue = catalogue_of(tools, prompts, resources);
    announce(name, mcp::ListKind::tools, true);
    script(name).on_state(upstream::State::ready);
  }
  void announce(const std::string& name, mcp::ListKind kind, bool changed) {
    script(name).on_catalogue(kind, changed);
  }

  Task<void> until_published() {
    const std::uint64_t before = registry_->current()->version;
    runtime::Timer timer(shard_);
    for (int i = 0; i < 2000 && registry_->current()->version == before; ++i) {
      co_await timer.sleep_for(Milliseconds(1));
    }
    REQUIRE(registry_->current()->version != before);
  }

  // Another configuration takes over. Servers that `changed` names get another one in their place.
  Task<void> replace(std::shared_ptr<const config::Config> next, std::vector<std::string> changed,
                     TimePoint patience) {
    std::vector<std::shared_ptr<upstream::Server>> servers;
    for (const config::Server& server : next->servers) {
      std::shared_ptr<upstream::Server> same;
      for (const auto& running : registry_->current()->servers) {
        if (running->name() == server.name) same = running;
      }
      const bool kept =
          same && std::find(changed.begin(), changed.end(), server.name) == changed.end();
      if (!kept) same = std::make_shared<upstream::Server>(shard_, server, environment_);
      servers.push_back(std::move(same));
    }
    co_await registry_->replace(std::move(next), std::move(servers), patience);
  }

  // Lets everything that is posted already run.
  Task<void> pause() {
    runtime::Timer timer(shard_);
    co_await timer.sleep_for(Milliseconds(1));
  }

  Task<void> close() {
    service_->begin_shutdown();
    co_await tasks.join();
    co_await service_->stop();
    co_await pause();
  }

  Task<void> serve(FakeExchange& exchange) {
    co_await service_->handle(exchange);
    REQUIRE(exchange.answers == 1);
  }

  Task<std::unique_ptr<FakeExchange>> send(std::string method, std::string target, FieldList fields,
                                           std::string body) {
    auto exchange = std::make_unique<FakeExchange>(shard_, method, target, std::move(fields), body);
    co_await serve(*exchange);
    co_return exchange;
  }

  // Opens a legacy session and answers its id.
  Task<std::string> open_session(std::string version, std::string target = "/mcp") {
    const std::string body =
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + version +
        R"(","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}})";
    const auto exchange = co_await send("POST", target, kPlain, body);
    REQUIRE(exchange->status == 200);
    co_return exchange->field("Mcp-Session-Id");
  }

  runtime::Shard& shard() { return shard_; }
  registry::Registry& registry() { return *registry_; }
  downstream::Service& service() { return *service_; }
  config::Config& config() { return *config_; }

 private:
  runtime::Shard& shard_;

 public:
  runtime::TaskGroup tasks;  // exchanges that run beside the test
  runtime::Mailbox<registry::Change> changes{256};

 private:
  std::shared_ptr<config::Config> config_ = std::make_shared<config::Config>();
  upstream::Environment environment_;
  std::unique_ptr<registry::Registry> registry_;
  std::unique_ptr<downstream::Service> service_;
};

}  // namespace mcpx::test
