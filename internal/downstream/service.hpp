// Service: the server face of mcpx, at /mcp and /mcp/{server}, for clients of every revision.
//
//   downstream::Service service(registry, shards);  // both outlive it
//   co_await service.start();          // once, after registry.start(), on any shard
//   http::Server server(options, {{"/mcp", &service}, ...});
//   ...
//   service.begin_shutdown();          // ends GET and listen streams gracefully; any thread
//   co_await server.stop(shard, deadline);  // on each shard: the requests in progress end
//   co_await service.stop();           // once, on any shard; then it may be destroyed
//
// `shards` are all shards that serve connections; their index() is small and unique. A modern
// request is answered from what it carries; a legacy one from its session, which every shard knows.
// Thread: handle() on the exchange's shard; the rest as each member says.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "http/server.hpp"
#include "registry/registry.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::broker {
class Broker;
}
namespace mcpx::store {
class Store;
struct QuestionRow;
}  // namespace mcpx::store

namespace mcpx::downstream {

struct Core;

class Service final : public http::Handler {
 public:
  Service(registry::Registry& registry, std::vector<runtime::Shard*> shards);
  ~Service() override;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Before start(): legacy sessions outlive the daemon in `store`, which outlives the service.
  void keep_sessions(store::Store& store) { store_ = &store; }
  // Before start(): asked what clients cannot be, where the configuration says so. It outlives the
  // service.
  void ask_instead(broker::Broker& broker);
  // What Broker::load() said is to be made again. The first shard, once, after start().
  void redrive(std::vector<store::QuestionRow> rows);
  // Begins to pass changes of the registry on to the clients. Any shard, once.
  Task<void> start();
  Task<void> handle(http::Exchange& exchange) override;
  // Another configuration is in force in the registry; the endpoints named are gone: their sessions
  // and streams end, the calls they have under way finish. The first shard.
  Task<void> reconfigured(std::vector<std::string> gone);
  void begin_shutdown();         // any thread
  Task<void> stop();             // any shard, once, after begin_shutdown()
  std::size_t sessions() const;  // legacy sessions held now; any thread

 private:
  std::shared_ptr<Core> core_;
  store::Store* store_ = nullptr;
};

}  // namespace mcpx::downstream
