// Servers with lists, and what an endpoint shows of them.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "json/json.hpp"
#include "registry/builder.hpp"

namespace mcpx::registry {

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
    fill(*catalogue, ListKind::tools, tools);
    fill(*catalogue, ListKind::prompts, prompts);
    fill(*catalogue, ListKind::resources, resources);
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
  void recall_catalogue(std::size_t i) { views_[i].catalogue = catalogues_[i]; }
  // The server lists something else from now on.
  void relist(std::size_t i, ListKind kind, const std::vector<std::string>& ids) {
    catalogues_[i] = std::make_shared<upstream::Catalogue>(*catalogues_[i]);
    catalogues_[i]->lists[static_cast<std::size_t>(kind)].items.clear();
    fill(*catalogues_[i], kind, ids);
    views_[i].catalogue = catalogues_[i];
  }

  std::shared_ptr<const Snapshot> build(const Snapshot* before = nullptr) const {
    BuildOptions options;
    options.server_info = R"({"name":"mcpx"})";
    options.profiles = std::make_shared<const Profiles>(common);
    return build_snapshot(views_, options, 1, before);
  }

  config::Config common;  // what is not of one server

 private:
  static void fill(upstream::Catalogue& catalogue, ListKind kind,
                   const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      const std::string member(mcp::info(kind).id_member);
      catalogue.lists[static_cast<std::size_t>(kind)].items.push_back(
          {id, "{\"" + member + "\":" + json::quoted(id) + ",\"x\":1.0}"});
    }
  }

  std::vector<std::shared_ptr<config::Server>> configs_;
  std::vector<std::shared_ptr<upstream::Catalogue>> catalogues_;
  std::vector<ServerView> views_;
};

inline std::vector<std::string> ids_of(const std::string& list, ListKind kind) {
  std::vector<std::string> ids;
  const auto array = json::find(list, mcp::info(kind).member);
  json::Elements elements(array.value());
  while (const auto item = elements.next()) {
    ids.push_back(json::find_string(*item, mcp::info(kind).id_member).value());
  }
  return ids;
}

inline std::vector<std::string> listed(const Endpoint& endpoint, ListKind kind) {
  return ids_of(*endpoint.list(kind, Revision::r2025_11_25), kind);
}

}  // namespace mcpx::registry
