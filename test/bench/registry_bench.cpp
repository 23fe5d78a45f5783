// Milliseconds of CPU for what the registry does when a server changes its lists, with thousands of
// tools, and twice as many to see what grows faster than they do: registry_bench. Not a test; the
// numbers of reviews come from a release build of this (docs/operations.md).
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "json/json.hpp"
#include "registry/builder.hpp"

namespace mcpx::registry {
namespace {

std::shared_ptr<upstream::Catalogue> catalogue(std::size_t server, std::size_t tools) {
  auto made = std::make_shared<upstream::Catalogue>();
  made->facts.capabilities = R"({"tools":{"listChanged":true}})";
  for (std::size_t i = 0; i < tools; ++i) {
    const std::string name = "operation_number_" + std::to_string(i);
    json::ObjectBuilder tool;
    tool.string("name", name).string("title", "Operation of server " + std::to_string(server));
    tool.string("description", std::string(300, 'd'));
    tool.raw("inputSchema",
             R"({"type":"object","properties":{"path":{"type":"string","description":"where"},)"
             R"("limit":{"type":"integer","minimum":1,"maximum":100},"query":{"type":"string"}},)"
             R"("required":["path"],"additionalProperties":false})");
    tool.raw("annotations", R"({"readOnlyHint":true,"openWorldHint":false})");
    made->lists[0].items.push_back({name, tool.take()});
  }
  made->note_traits();
  return made;
}

template <class Work>
auto measure(const char* name, Work work) {
  const std::clock_t start = std::clock();
  auto result = work();
  const double spent = static_cast<double>(std::clock() - start) * 1000.0 / CLOCKS_PER_SEC;
  std::printf("%-52s %9.2f ms\n", name, spent);
  return result;
}

void run(std::size_t count, std::size_t tools) {
  std::printf("%zu servers of %zu tools each\n", count, tools);
  std::vector<ServerView> servers;
  for (std::size_t i = 0; i < count; ++i) {
    auto config = std::make_shared<config::Server>();
    config->name = "server" + std::to_string(i);
    ServerView view;
    view.config = config;
    view.catalogue = catalogue(i, tools);
    servers.push_back(view);
  }
  BuildOptions options;
  options.profiles = std::make_shared<const Profiles>(config::Config());
  const auto first = measure("first snapshot", [&] { return build_snapshot(servers, options, 1); });
  servers[7].catalogue = catalogue(7, tools);
  const auto second = measure("next one, one server has changed",
                              [&] { return build_snapshot(servers, options, 2, first.get()); });
  measure("whether what is visible changed",
          [&] { return shows_same(*first->find(""), *second->find(""), mcp::ListKind::tools); });
  for (const mcp::Revision revision : mcp::kAllRevisions) {
    const std::string name = "first list for " + std::string(mcp::text(revision));
    const auto list = measure(
        name.c_str(), [&] { return second->find("")->list(mcp::ListKind::tools, revision); });
    std::printf("%-52s %9zu bytes\n", "", list->size());
  }
  const Profile cursor = second->find("")->profiles().of_name("cursor");
  measure("first list under other names", [&] {
    return second->find("")->page(mcp::ListKind::tools, mcp::kLatestModern, cursor, "");
  });
}

}  // namespace
}  // namespace mcpx::registry

int main() {
  mcpx::registry::run(20, 200);
  mcpx::registry::run(20, 400);
  mcpx::registry::run(40, 400);
}
