// Profiles: how lists and names are shown to a client, by the name it gives itself: what the table
// of known clients says (mcp/clients.hpp), and over that what `clients:` of the configuration does.
// Immutable. Thread: any.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "json/json.hpp"
#include "mcp/names.hpp"

namespace mcpx::registry {

struct Profile {
  std::size_t rules = 0;      // which of Profiles::rules()
  std::size_t page_size = 0;  // 0: one page
  // It shows interfaces of MCP Apps, and so keeps from its model the tools that are only for them.
  bool apps = true;
};

class Profiles {
 public:
  Profiles() : rules_(1) {}
  explicit Profiles(const config::Config& config);

  // `client_info` is a raw Implementation object, or empty.
  Profile of(json::Raw client_info) const;
  Profile of_name(std::string_view client) const;
  // Every set of rules there can be; the first is that of a client nothing is known of.
  const std::vector<mcp::NameRules>& rules() const { return rules_; }
  bool operator==(const Profiles& other) const { return rules_ == other.rules_; }

 private:
  std::size_t index_of(const mcp::NameRules& rules) const;
  void add(const mcp::NameRules& rules);

  std::vector<mcp::NameRules> rules_;
  std::vector<config::Client> clients_;
  std::size_t page_size_ = 0;
};

}  // namespace mcpx::registry
