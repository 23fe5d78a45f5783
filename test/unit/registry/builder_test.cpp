#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "json/json.hpp"
#include "mcp/uris.hpp"
#include "registry/builder.hpp"

namespace mcpx::registry {
namespace {

using mcp::ListKind;
using mcp::Revision;

// Servers and their configurations for one snapshot. Server pointers are only carried along, so
// numbers stand for them.
class World {
 public:
  config::Server& add(const std::string& name, const std::vector<std::string>& tools,
                      const std::vector<std::string>& prompts = {},
                      const std::vector<std::string>& resources = {}) {
    auto config = std::make_shared<config::Server>();
    config->name = name;
    auto catalogue = std::make_shared<upstream::Catalogue>();
    catalogue->facts.capabilities =
        R"({"tools":{},"prompts":{},"resources":{"subscribe":true},"logging":{},"weird":{}})";
    const auto fill = [&](ListKind kind, const std::vector<std::string>& ids) {
      for (const std::string& id : ids) {
        const std::string member(mcp::info(kind).id_member);
        catalogue->lists[static_cast<std::size_t>(kind)].items.push_back(
            {id, "{\"" + member + "\":" + json::quoted(id) + ",\"x\":1.0}"});
      }
    };
    fill(ListKind::tools, tools);
    fill(ListKind::prompts, prompts);
    fill(ListKind::resources, resources);
    ServerView view;
    view.config = config;
    view.server = std::shared_ptr<upstream::Server>(
        std::shared_ptr<void>(), reinterpret_cast<upstream::Server*>(views_.size() + 1));
    view.catalogue = catalogue;
    catalogues_.push_back(catalogue);
    views_.push_back(view);
    configs_.push_back(std::move(config));
    return *configs_.back();
  }
  upstream::Catalogue& catalogue(std::size_t i) { return *catalogues_[i]; }
  void forget_catalogue(std::size_t i) { views_[i].catalogue = nullptr; }

  std::shared_ptr<const Snapshot> build() const {
    BuildOptions options;
    options.server_info = R"({"name":"mcpx"})";
    return build_snapshot(views_, options, 1);
  }

 private:
  std::vector<std::shared_ptr<config::Server>> configs_;
  std::vector<std::shared_ptr<upstream::Catalogue>> catalogues_;
  std::vector<ServerView> views_;
};

std::vector<std::string> listed(const Endpoint& endpoint, ListKind kind) {
  std::vector<std::string> ids;
  const auto array =
      json::find(*endpoint.list(kind, Revision::r2025_11_25), mcp::info(kind).member);
  json::Elements elements(array.value());
  while (const auto item = elements.next()) {
    ids.push_back(json::find_string(*item, mcp::info(kind).id_member).value());
  }
  return ids;
}

TEST_CASE("C42: each name routes to its own server, never by splitting it") {
  World world;
  world.add("ha", {"mcp__x", "y"});
  world.add("ha-mcp", {"x"});
  world.add("b1", {"x_y"});
  world.add("b1_x", {"y"});
  const auto endpoint = world.build()->find("");
  std::set<std::pair<void*, std::string>> targets;
  for (const std::string& name : listed(*endpoint, ListKind::tools)) {
    const auto target = endpoint->tool(name);
    REQUIRE(target);
    targets.emplace(target->server, target->original);
  }
  REQUIRE(targets.size() == 5);
}

TEST_CASE("C43: two servers with one prompt name are both usable, and it is reported") {
  World world;
  world.add("a", {}, {"greet"});
  world.add("b", {}, {"greet"});
  const auto snapshot = world.build();
  const auto names = listed(*snapshot->find(""), ListKind::prompts);
  REQUIRE(names == std::vector<std::string>{"a__greet", "b__greet"});
  REQUIRE(snapshot->collisions.size() == 1);
  REQUIRE(snapshot->collisions[0].find("greet") != std::string::npos);
}

TEST_CASE("names that collide under empty prefixes are told apart the same way every time") {
  World world;
  world.add("a", {"t"}).prefix = "";
  world.add("b", {"t"}).prefix = "";
  const auto first = listed(*world.build()->find(""), ListKind::tools);
  REQUIRE(first == std::vector<std::string>{"t", "b__t"});
  REQUIRE(listed(*world.build()->find(""), ListKind::tools) == first);
  REQUIRE(world.build()->find("")->tool("t")->server_name == "a");
  REQUIRE(world.build()->find("")->tool("b__t")->server_name == "b");
  REQUIRE_FALSE(world.build()->collisions.empty());
}

TEST_CASE("C72: a tool that a filter hides is not listed and not callable, on either endpoint") {
  World world;
  config::Server& config = world.add("s", {"read", "write", "delete"});
  config.tools_allow = {"read", "delete"};
  config.tools_deny = {"delete"};
  const auto snapshot = world.build();
  REQUIRE(listed(*snapshot->find(""), ListKind::tools) == std::vector<std::string>{"s__read"});
  REQUIRE(listed(*snapshot->find("s"), ListKind::tools) == std::vector<std::string>{"read"});
  REQUIRE(snapshot->find("")->tool("s__read"));
  REQUIRE_FALSE(snapshot->find("")->tool("s__write"));
  REQUIRE_FALSE(snapshot->find("")->tool("s__delete"));
  REQUIRE(snapshot->find("s")->tool("read"));
  REQUIRE_FALSE(snapshot->find("s")->tool("delete"));
}

TEST_CASE("order is that of the configuration, then of each server's own list") {
  World world;
  world.add("z", {"b", "a"});
  world.add("a", {"c"});
  REQUIRE(listed(*world.build()->find(""), ListKind::tools) ==
          std::vector<std::string>{"z__b", "z__a", "a__c"});
}

TEST_CASE("resources route by themselves, listed or expanded from a template") {
  World world;
  world.add("a", {}, {}, {"file:///x"});
  const auto endpoint = world.build()->find("");
  const auto listed_uri = listed(*endpoint, ListKind::resources).at(0);
  REQUIRE(endpoint->resource(listed_uri)->original == "file:///x");
  REQUIRE(endpoint->resource(mcp::exposed_uri("a", "test://t/7/data"))->original ==
          "test://t/7/data");
  REQUIRE_FALSE(endpoint->resource(mcp::exposed_uri("nobody", "x:y")));
  REQUIRE_FALSE(endpoint->resource("file:///x"));
}

TEST_CASE("a pass-through endpoint shows its server as it is") {
  World world;
  world.add("a", {"t"}, {"p"}, {"file:///x"});
  const auto endpoint = world.build()->find("a");
  REQUIRE(*endpoint->list(ListKind::tools, Revision::r2025_11_25) ==
          R"({"tools":[{"name":"t","x":1.0}]})");
  REQUIRE(endpoint->resource("file:///x")->original == "file:///x");
  REQUIRE(endpoint->tool("unlisted")->original == "unlisted");
  // Capabilities that mcpx does not route are not advertised.
  REQUIRE(json::find(endpoint->capabilities_legacy, "logging"));
  REQUIRE_FALSE(json::find(endpoint->capabilities_legacy, "weird"));
  REQUIRE(json::find(endpoint->capabilities_legacy, "resources", "subscribe") == "true");
}

TEST_CASE("a modern list carries the narrowest caching of what contributes",
          "[req:caching-server-must-hint][req:caching-page-same-scope]") {
  World world;
  world.add("a", {"t"});
  world.add("b", {"u"});
  world.catalogue(0).lists[0].ttl_ms = 5000;
  world.catalogue(1).lists[0].ttl_ms = 300;
  world.catalogue(1).lists[0].is_private = true;
  const auto endpoint = world.build()->find("");
  const std::string& list = *endpoint->list(ListKind::tools, Revision::r2026_07_28);
  REQUIRE(json::find(list, "ttlMs").value() == "300");
  REQUIRE(json::find_string(list, "cacheScope") == "private");
  REQUIRE(json::find_string(list, "resultType") == "complete");
  REQUIRE_FALSE(json::find(*endpoint->list(ListKind::tools, Revision::r2025_11_25), "ttlMs"));
}

TEST_CASE("a server without a catalogue takes nothing from the others") {
  World world;
  world.add("up", {"t"});
  world.add("down", {"u"});
  world.forget_catalogue(1);
  const auto snapshot = world.build();
  REQUIRE(snapshot->find("")->ready);
  REQUIRE_FALSE(snapshot->find("down")->ready);
  REQUIRE(listed(*snapshot->find(""), ListKind::tools) == std::vector<std::string>{"up__t"});
}

TEST_CASE("a server with an empty prefix keeps its URIs, and what is not qualified goes to it") {
  World world;
  world.add("own", {}, {}, {"file:///x", "mcpx://files/file:///y"}).prefix = "";
  world.add("files", {}, {}, {"file:///x"});
  const auto endpoint = world.build()->find("");
  // One that looks qualified would lead to another server.
  const std::string nested = mcp::exposed_uri("own", "mcpx://files/file:///y");
  const std::string other = mcp::exposed_uri("files", "file:///x");
  REQUIRE(listed(*endpoint, ListKind::resources) ==
          std::vector<std::string>{"file:///x", nested, other});
  const auto leads = [&](const std::string& uri, const char* server, const char* original) {
    const auto target = endpoint->resource(uri);
    REQUIRE(target);
    REQUIRE(target->server_name == server);
    REQUIRE(target->original == original);
    REQUIRE(target->own_uris == (target->server_name == "own"));
  };
  leads("file:///x", "own", "file:///x");
  leads("file:///expanded/by/the/client", "own", "file:///expanded/by/the/client");
  leads(mcp::exposed_uri("own", "file:///x"), "own", "file:///x");
  leads(nested, "own", "mcpx://files/file:///y");
  leads(other, "files", "file:///x");
  leads("mcpx://files/file:///y", "files", "file:///y");
}

TEST_CASE("two empty prefixes leave no server to take what is not qualified") {
  World world;
  world.add("a", {}, {}, {"file:///x"}).prefix = "";
  world.add("b", {}, {}, {"file:///x"}).prefix = "";
  const auto endpoint = world.build()->find("");
  REQUIRE_FALSE(endpoint->resource("file:///x"));
  REQUIRE(endpoint->resource(mcp::exposed_uri("b", "file:///x"))->server_name == "b");
}

}  // namespace
}  // namespace mcpx::registry
