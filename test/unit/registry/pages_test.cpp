// Lists in pages, while what they list changes; names and pages by client.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "registry/cursor.hpp"
#include "world.hpp"

namespace mcpx::registry {
namespace {

std::vector<std::string> names(const std::string& prefix, std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(prefix + std::to_string(i));
  return out;
}

// Reads a list page by page; `between` runs before each page but the first.
std::vector<std::string> read_pages(const World& world, const std::string& name,
                                    std::size_t page_size, const std::function<void()>& between) {
  std::vector<std::string> ids;
  std::string cursor;
  for (std::size_t pages = 0; pages < 100; ++pages) {
    if (pages > 0) between();
    const auto endpoint = world.build()->find(name);
    const Rendered page =
        endpoint->page(ListKind::tools, Revision::r2025_11_25, Profile{0, page_size}, cursor);
    REQUIRE(page);
    for (std::string& id : ids_of(*page, ListKind::tools))
      ids.push_back(std::move(id));
    const auto next = json::find_string(*page, "nextCursor");
    if (!next) return ids;
    cursor = *next;
  }
  FAIL("the list does not end");
  return ids;
}

TEST_CASE("pages are the whole list, in its order", "[req:pagination-stable-cursors]") {
  World world;
  world.add("a", names("t", 5));
  world.add("b", {});
  world.add("c", names("u", 4));
  for (const char* endpoint : {"", "a", "c"}) {
    const auto whole = listed(*world.build()->find(endpoint), ListKind::tools);
    for (std::size_t size = 1; size <= 10; ++size) {
      CAPTURE(endpoint, size);
      REQUIRE(read_pages(world, endpoint, size, [] {}) == whole);
    }
  }
}

TEST_CASE("the only page of a list has no cursor, and all pages say the same of caching",
          "[req:caching-page-same-scope]") {
  World world;
  world.add("a", names("t", 3));
  world.catalogue(0).lists[0].ttl_ms = 700;
  world.catalogue(0).lists[0].is_private = true;
  const auto endpoint = world.build()->find("");
  const auto page = [&](std::size_t size, const std::string& cursor) {
    return *endpoint->page(ListKind::tools, Revision::r2026_07_28, Profile{0, size}, cursor);
  };
  REQUIRE_FALSE(json::find(page(3, ""), "nextCursor"));
  REQUIRE(page(3, "") == *endpoint->list(ListKind::tools, Revision::r2026_07_28));
  const std::string first = page(2, "");
  const std::string second = page(2, json::find_string(first, "nextCursor").value());
  for (const std::string& text : {first, second}) {
    REQUIRE(json::find(text, "ttlMs") == "700");
    REQUIRE(json::find_string(text, "cacheScope") == "private");
  }
  REQUIRE(ids_of(second, ListKind::tools) == std::vector<std::string>{"a__t2"});
}

TEST_CASE("servers that come and go between pages take and repeat nothing of those that stay",
          "[req:pagination-stable-cursors]") {
  for (std::size_t size = 1; size <= 6; ++size) {
    for (std::size_t gone = 0; gone < 3; ++gone) {
      CAPTURE(size, gone);
      World world;
      for (const char* name : {"a", "b", "c"})
        world.add(name, names("t", 4));
      bool there = true;
      const auto seen = read_pages(world, "", size, [&] {
        there = !there;
        if (there) world.recall_catalogue(gone);
        if (!there) world.forget_catalogue(gone);
      });
      REQUIRE(std::set<std::string>(seen.begin(), seen.end()).size() == seen.size());
      world.forget_catalogue(gone);
      for (const std::string& stayed : listed(*world.build()->find(""), ListKind::tools)) {
        CAPTURE(stayed);
        REQUIRE(std::find(seen.begin(), seen.end(), stayed) != seen.end());
      }
    }
  }
}

TEST_CASE("entries that come and go between pages take and repeat nothing of those that stay") {
  World world;
  world.add("a", {"t0", "t1", "t2", "t3", "t4", "t5"});
  std::size_t turn = 0;
  const auto seen = read_pages(world, "", 2, [&] {
    ++turn;
    // What the cursor stands behind is gone, and something new stands before it.
    if (turn == 1) world.relist(0, ListKind::tools, {"new", "t0", "t2", "t3", "t4", "t5"});
    if (turn == 2) world.relist(0, ListKind::tools, {"new", "t0", "t2", "t4", "t5"});
  });
  REQUIRE(seen == std::vector<std::string>{"a__t0", "a__t1", "a__t2", "a__t3", "a__t4", "a__t5"});
}

TEST_CASE("a cursor that was not given out for the list is found out",
          "[req:pagination-invalid-cursor-graceful]") {
  World world;
  world.add("a", names("t", 4), names("p", 4));
  world.add("b", {});
  const auto snapshot = world.build();
  const auto page = [&](const char* endpoint, ListKind kind, const std::string& cursor) {
    return snapshot->find(endpoint)->page(kind, Revision::r2025_11_25, Profile{0, 2}, cursor);
  };
  const auto good = json::find_string(*page("", ListKind::tools, ""), "nextCursor").value();
  REQUIRE(page("", ListKind::tools, good));
  REQUIRE_FALSE(page("a", ListKind::tools, good));
  REQUIRE_FALSE(page("b", ListKind::tools, good));
  REQUIRE_FALSE(page("", ListKind::prompts, good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string other = good;
    other[i] = other[i] == '0' ? '1' : '0';
    CAPTURE(i);
    REQUIRE_FALSE(page("", ListKind::tools, other));
    REQUIRE_FALSE(page("", ListKind::tools, good.substr(0, i + 1 == good.size() ? i : i + 1)));
  }
  REQUIRE_FALSE(page("", ListKind::tools, good + "00"));
  REQUIRE_FALSE(page("", ListKind::tools, std::string(100'000, 'a')));
  REQUIRE_FALSE(page("", ListKind::tools, "1"));
}

TEST_CASE("any position is read back, and what it holds is bounded") {
  Position position{"server", 7, {1, 0xFFFF'FFFF'FFFF'FFFFu}};
  const std::string text = write_cursor("e", ListKind::skills, position);
  const auto back = read_cursor("e", ListKind::skills, text);
  REQUIRE(back);
  REQUIRE(back->server == "server");
  REQUIRE(back->place == 7);
  REQUIRE(back->anchors == position.anchors);
  position.anchors.assign(1000, 5);
  REQUIRE(write_cursor("", ListKind::tools, position).size() < 300);
}

// --- By client

std::string info(const std::string& name) {
  return R"({"version":"1","name":)" + json::quoted(name) + "}";
}

const std::string kLong = "a_tool_whose_name_is_so_long_that_not_every_client_can_take_it";

TEST_CASE("a client that takes shorter names is shown shorter ones, and calls by them") {
  World world;
  world.add("files", {"read", kLong, kLong + "_2"}, {"ask"});
  const auto endpoint = world.build()->find("");
  const auto shown_to = [&](const std::string& client) {
    const Profile profile = endpoint->profiles().of(info(client));
    return ids_of(*endpoint->page(ListKind::tools, Revision::r2025_11_25, profile, ""),
                  ListKind::tools);
  };
  const auto plain = shown_to("somebody");
  const auto cursor = shown_to("cursor-vscode");
  REQUIRE(plain == listed(*endpoint, ListKind::tools));
  REQUIRE(plain[0] == cursor[0]);
  REQUIRE(cursor.size() == 3);
  REQUIRE(cursor[1] != cursor[2]);
  const auto again = world.build()->find("");  // a restart: no name was kept
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(plain[i], cursor[i]);
    REQUIRE(cursor[i].size() <= 51);
    const auto target = again->tool(cursor[i]);
    REQUIRE(target);
    REQUIRE(target->original == again->tool(plain[i])->original);
  }
  REQUIRE(shown_to("Visual Studio Code") == cursor);  // which happens to take as much
  REQUIRE_FALSE(endpoint->tool("files__nothing"));
}

TEST_CASE("a client that takes fewer characters is shown none of the others") {
  World world;
  world.add("my-files", {"read-it", "read_it"}, {"ask-me"});
  world.add("1st", {"go"});
  const auto endpoint = world.build()->find("");
  const Profile profile = endpoint->profiles().of(info("Q-DEV-CLI"));
  for (const ListKind kind : {ListKind::tools, ListKind::prompts}) {
    const auto names_shown =
        ids_of(*endpoint->page(kind, Revision::r2025_11_25, profile, ""), kind);
    for (const std::string& name : names_shown) {
      CAPTURE(name);
      REQUIRE(name.find('-') == std::string::npos);
      REQUIRE(std::isalpha(static_cast<unsigned char>(name[0])));
      const auto target = kind == ListKind::tools ? endpoint->tool(name) : endpoint->prompt(name);
      REQUIRE(target);
    }
    REQUIRE(std::set<std::string>(names_shown.begin(), names_shown.end()).size() ==
            (kind == ListKind::tools ? 3u : 1u));
  }
}

TEST_CASE("the configuration has the last word on what a client is shown") {
  config::Config config;
  config.names_max = 60;
  config.page_size = 20;
  config.clients.push_back({"cursor*", 40, std::nullopt, std::nullopt});
  config.clients.push_back({"cursor-*", 30, std::nullopt, std::nullopt});
  config.clients.push_back({"claude-code", std::nullopt, config::NameCharset::word, 5});
  const Profiles profiles(config);
  const auto rules = [&](const char* client) {
    return profiles.rules()[profiles.of(info(client)).rules];
  };
  const auto page_size = [&](const char* client) { return profiles.of(info(client)).page_size; };
  REQUIRE(rules("somebody") == mcp::NameRules(60));
  REQUIRE(rules("cursor-vscode") == mcp::NameRules(40));  // the first that fits
  REQUIRE(rules("claude-code") == mcp::NameRules(49, mcp::NameCharset::word));
  REQUIRE(page_size("somebody") == 20);
  REQUIRE(page_size("cursor-vscode") == 20);
  REQUIRE(page_size("codex-mcp-client") == 0);  // reads one page only
  REQUIRE(page_size("claude-code") == 5);
  REQUIRE(profiles.of("").page_size == 20);
  REQUIRE(profiles.of(R"({"name":7})").rules == 0);
  config.names_max = 30;
  REQUIRE(Profiles(config).rules()[Profiles(config).of_name("codex").rules].max == 30);
}

}  // namespace
}  // namespace mcpx::registry
