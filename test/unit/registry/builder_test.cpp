#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "json/json.hpp"
#include "mcp/uris.hpp"
#include "world.hpp"

namespace mcpx::registry {
namespace {

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

TEST_CASE("an unchanged server's part of a snapshot is used again, whatever the others do") {
  World world;
  world.add("a", {"t", "u"});
  world.add("b", {"v"});
  const auto first = world.build();
  world.relist(1, ListKind::tools, {"v", "w"});
  const auto second = world.build(first.get());
  const auto before = first->find("");
  const auto after = second->find("");
  REQUIRE(listed(*after, ListKind::tools) ==
          std::vector<std::string>{"a__t", "a__u", "b__v", "b__w"});
  REQUIRE(before->tools().at(0) == after->tools().at(0));
  REQUIRE(before->tools().at(2) != after->tools().at(2));
  REQUIRE_FALSE(shows_same(*before, *after, ListKind::tools));
  REQUIRE(shows_same(*before, *after, ListKind::prompts));
  REQUIRE(shows_same(*first->find("a"), *second->find("a"), ListKind::tools));
}

TEST_CASE("a part is not used again under a name that another server has taken since") {
  World world;
  world.add("a", {}).prefix = "";
  world.add("b", {"t"}).prefix = "";
  const auto first = world.build();
  REQUIRE(first->find("")->tool("t")->server_name == "b");
  world.relist(0, ListKind::tools, {"t"});
  const auto second = world.build(first.get());
  REQUIRE(second->find("")->tool("t")->server_name == "a");
  REQUIRE(second->find("")->tool("b__t")->server_name == "b");
  world.relist(0, ListKind::tools, {});
  const auto third = world.build(second.get());
  REQUIRE(listed(*third->find(""), ListKind::tools) == std::vector<std::string>{"t"});
}

TEST_CASE("only servers that offer a list have a say in how long it is fresh",
          "[req:caching-server-must-hint]") {
  World world;
  world.add("a", {"t"});
  world.add("b", {});
  world.catalogue(0).lists[0].ttl_ms = 5000;
  world.catalogue(1).facts.capabilities = R"({"prompts":{}})";
  const auto endpoint = world.build()->find("");
  const std::string& list = *endpoint->list(ListKind::tools, Revision::r2026_07_28);
  REQUIRE(json::find(list, "ttlMs").value() == "5000");
  REQUIRE(json::find_string(list, "cacheScope") == "public");
}

TEST_CASE("what is left of a list's time is what a client is told",
          "[req:caching-server-must-hint]") {
  World world;
  world.add("a", {"t"});
  world.add("b", {"u"});
  const TimePoint now = Clock::now();
  for (std::size_t i : {0U, 1U}) {
    upstream::List& list = world.catalogue(i).lists[0];
    list.ttl_ms = 60'000;
    list.fresh_until = now + Milliseconds(i == 0 ? 60'000 : 1'500);
  }
  const auto endpoint = world.build()->find("");
  const Rendered page = endpoint->list(ListKind::tools, Revision::r2026_07_28);
  const auto ttl_at = [&](Milliseconds later) {
    const Rendered aged = endpoint->aged(page, ListKind::tools, now + later, nullptr);
    REQUIRE(json::find(*aged, "tools") == json::find(*page, "tools"));
    REQUIRE(json::find_string(*aged, "cacheScope") == "public");
    return json::as_integer(json::find(*aged, "ttlMs").value()).value();
  };
  REQUIRE(ttl_at(Milliseconds(0)) == 1'500);
  REQUIRE(ttl_at(Milliseconds(1'000)) == 500);
  REQUIRE(ttl_at(Milliseconds(9'000)) == 0);
  const auto all_announce = [](const upstream::Server&) { return true; };
  REQUIRE(endpoint->aged(page, ListKind::tools, now + Milliseconds(9'000), all_announce) == page);
  REQUIRE(endpoint->aged(nullptr, ListKind::tools, now, nullptr) == nullptr);
}

TEST_CASE("how long an endpoint is the same is what its servers say",
          "[req:caching-server-must-hint]") {
  World world;
  world.add("a", {"t"});
  world.add("b", {"u"});
  const TimePoint now = Clock::now();
  for (std::size_t i : {0U, 1U}) {
    mcp::ServerFacts& facts = world.catalogue(i).facts;
    facts.ttl_ms = i == 0 ? 5'000 : 60'000;
    facts.fresh_until = now + Milliseconds(facts.ttl_ms);
  }
  REQUIRE(world.build()->find("")->discovery(now).ttl_ms == 5'000);
  REQUIRE(world.build()->find("")->discovery(now + Milliseconds(4'000)).ttl_ms == 1'000);
  REQUIRE(world.build()->find("b")->discovery(now + Milliseconds(4'000)).ttl_ms == 56'000);
  REQUIRE_FALSE(world.build()->find("")->discovery(now).is_private);
  world.catalogue(1).facts.is_private = true;
  REQUIRE(world.build()->find("")->discovery(now).is_private);
  world.catalogue(0).facts.ttl_ms = 0;  // a legacy server says nothing
  REQUIRE(world.build()->find("")->discovery(now).ttl_ms == 0);
}

TEST_CASE("tools that are only for apps are for clients that show them") {
  World world;
  world.add("s", {"read", "tick"});
  upstream::Catalogue& catalogue = world.catalogue(0);
  catalogue.lists[0].items[1].definition =
      R"({"name":"tick","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}})";
  catalogue.note_traits();
  const auto snapshot = world.build();
  for (const char* name : {"", "s"}) {
    const auto endpoint = snapshot->find(name);
    Profile profile;
    const auto tools = [&] {
      return *endpoint->page(ListKind::tools, Revision::r2025_11_25, profile, "");
    };
    REQUIRE(tools().find("tick") != std::string::npos);
    profile.apps = false;
    REQUIRE(tools().find("tick") == std::string::npos);
    REQUIRE(tools().find("read") != std::string::npos);
    profile.page_size = 1;
    REQUIRE_FALSE(json::find(tools(), "nextCursor"));
    REQUIRE(endpoint->tool(*name ? "tick" : "s__tick"));
  }
}

constexpr const char* kSkillServer =
    R"({"resources":{},"experimental":{"com.example/x":{}},"extensions":{)"
    R"("io.modelcontextprotocol/skills":{"directoryRead":true},"com.example/more":{"k":[1]},)"
    R"("io.modelcontextprotocol/tasks":{}}})";

TEST_CASE("a pass-through endpoint advertises its server's extensions") {
  World world;
  world.add("a", {"t"});
  world.catalogue(0).facts.capabilities = kSkillServer;
  const auto endpoint = world.build()->find("a");
  for (const std::string& capabilities :
       {endpoint->capabilities_legacy, endpoint->capabilities_modern}) {
    REQUIRE(json::find(capabilities, "extensions") ==
            R"({"io.modelcontextprotocol/skills":{"directoryRead":true},)"
            R"("com.example/more":{"k":[1]}})");
    REQUIRE(json::find(capabilities, "experimental") == R"({"com.example/x":{}})");
  }
}

constexpr const char* kTaskCapability =
    R"({"list":{},"cancel":{},"requests":{"tools":{"call":{}}}})";

// A server of 2025-11-25 with the extension of 2026-07-28 has no tasks, and the other way round.
TEST_CASE("tasks are advertised in the words of both eras where a server has them",
          "[req:ext-tasks-server-advertise-discover][req:tasks-declare-capability]") {
  const std::string core = std::string(R"({"tools":{},"tasks":)") + kTaskCapability + "}";
  const std::string extension = R"({"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})";
  struct Case {
    const char* name;
    const std::string& capabilities;
    Revision revision;
    bool tasks;
  };
  const Case cases[] = {
      {"core of its own revision", core, Revision::r2025_11_25, true},
      {"core of an older one", core, Revision::r2025_06_18, false},
      {"core of a modern one", core, Revision::r2026_07_28, false},
      {"extension of its own revision", extension, Revision::r2026_07_28, true},
      {"extension of a legacy one", extension, Revision::r2025_11_25, false},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      World world;
      world.add("a", {"t"});
      world.add("b", {"t"});
      world.catalogue(0).facts.capabilities = c.capabilities;
      world.catalogue(0).facts.revision = c.revision;
      const auto snapshot = world.build();
      for (const char* name : {"", "a"}) {
        const auto endpoint = snapshot->find(name);
        CAPTURE(name);
        CHECK(endpoint->tasks == c.tasks);
        const auto legacy = json::find(endpoint->capabilities_legacy, "tasks");
        CHECK(legacy == (c.tasks ? std::optional<json::Raw>(kTaskCapability) : std::nullopt));
        CHECK_FALSE(json::find(endpoint->capabilities_modern, "tasks").has_value());
        CHECK(
            json::find(endpoint->capabilities_modern, "extensions", "io.modelcontextprotocol/tasks")
                .has_value() == c.tasks);
        CHECK(endpoint->tool(*name ? "t" : "a__t")->tasks == c.tasks);
      }
      CHECK_FALSE(snapshot->find("b")->tasks);
      CHECK_FALSE(snapshot->find("")->tool("b__t")->tasks);
    }
  }
}

TEST_CASE("tools of a modern server with tasks may be called as tasks by clients of 2025-11-25") {
  World world;
  world.add("a", {"t"});
  world.catalogue(0).facts.revision = Revision::r2026_07_28;
  world.catalogue(0).facts.capabilities =
      R"({"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})";
  const auto endpoint = world.build()->find("a");
  const auto shows = [&](Revision revision) {
    return endpoint->list(ListKind::tools, revision)->find("taskSupport") != std::string::npos;
  };
  CHECK(shows(Revision::r2025_11_25));
  CHECK_FALSE(shows(Revision::r2025_06_18));
  CHECK_FALSE(shows(Revision::r2026_07_28));
}

TEST_CASE("the aggregating endpoint advertises the extensions that it routes, while it does") {
  World world;
  world.add("a", {"t"});
  world.add("b", {"t"});
  REQUIRE_FALSE(json::find(world.build()->find("")->capabilities_modern, "extensions"));
  world.catalogue(0).facts.capabilities =
      R"({"extensions":{"io.modelcontextprotocol/skills":{},"com.example/more":{}}})";
  const auto extensions = [&] {
    return std::string(
        json::find(world.build()->find("")->capabilities_modern, "extensions").value());
  };
  REQUIRE(extensions() == R"({"io.modelcontextprotocol/skills":{}})");
  world.catalogue(1).facts.capabilities = kSkillServer;
  REQUIRE(extensions() == R"({"io.modelcontextprotocol/skills":{"directoryRead":true}})");
}

TEST_CASE(
    "skills are merged with the URIs of all their files qualified, and nothing else touched") {
  World world;
  world.add("a", {});
  world.catalogue(0).facts.capabilities = kSkillServer;
  const std::string entry =
      R"({"uri":"skill://r/SKILL.md","frontmatter":{"name":"r","uri":"skill://r/SKILL.md"},)"
      R"("resources":[{"uri":"skill://r/SKILL.md","digest":"sha256:00","size":7.0},)"
      R"({"uri":"skill://r/a/b.md","digest":"sha256:11","size":1}]})";
  const std::string dynamic =
      R"({"uri":"skill://d/SKILL.md","frontmatter":{"name":"d"},"resources":"dynamic"})";
  auto& skills = world.catalogue(0).lists[static_cast<std::size_t>(ListKind::skills)].items;
  skills.push_back({"skill://r/SKILL.md", entry});
  skills.push_back({"skill://d/SKILL.md", dynamic});
  const auto snapshot = world.build();
  REQUIRE(*snapshot->find("a")->list(ListKind::skills, Revision::r2025_11_25) ==
          R"({"skills":[)" + entry + "," + dynamic + "]}");
  REQUIRE(
      *snapshot->find("")->list(ListKind::skills, Revision::r2025_11_25) ==
      R"({"skills":[{"uri":"skill://mcpx.a/r/SKILL.md",)"
      R"("frontmatter":{"name":"r","uri":"skill://r/SKILL.md"},)"
      R"("resources":[{"uri":"skill://mcpx.a/r/SKILL.md","digest":"sha256:00","size":7.0},)"
      R"({"uri":"skill://mcpx.a/r/a/b.md","digest":"sha256:11","size":1}]},)"
      R"({"uri":"skill://mcpx.a/d/SKILL.md","frontmatter":{"name":"d"},"resources":"dynamic"}]})");
  REQUIRE(snapshot->find("")->resource("skill://mcpx.a/r")->original == "skill://r");
}

}  // namespace
}  // namespace mcpx::registry
