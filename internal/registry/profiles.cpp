#include "registry/profiles.hpp"

#include <algorithm>

#include "config/glob.hpp"
#include "mcp/clients.hpp"

namespace mcpx::registry {
namespace {

// What the table says never allows more than the configuration does for everybody.
mcp::NameRules rules_for(const mcp::NameRules& common, const mcp::KnownClient* known,
                         const config::Client* own) {
  mcp::NameRules rules = common;
  if (known) {
    rules.charset = known->charset;
    if (known->names_max != 0) rules.max = std::min(rules.max, known->names_max);
  }
  if (own && own->names_max) rules.max = *own->names_max;
  if (own && own->names_charset) {
    rules.charset = *own->names_charset == config::NameCharset::word ? mcp::NameCharset::word
                                                                     : mcp::NameCharset::dashes;
  }
  return rules;
}

}  // namespace

Profiles::Profiles(const config::Config& config)
    : rules_{mcp::NameRules(config.names_max)},
      clients_(config.clients),
      page_size_(config.page_size) {
  const mcp::NameRules common = rules_.front();
  std::vector<const config::Client*> own = {nullptr};
  for (const config::Client& client : clients_)
    own.push_back(&client);
  for (const config::Client* client : own) {
    add(rules_for(common, nullptr, client));
    for (const mcp::KnownClient& known : mcp::known_clients())
      add(rules_for(common, &known, client));
  }
}

void Profiles::add(const mcp::NameRules& rules) {
  if (std::find(rules_.begin(), rules_.end(), rules) == rules_.end()) rules_.push_back(rules);
}

std::size_t Profiles::index_of(const mcp::NameRules& rules) const {
  const auto found = std::find(rules_.begin(), rules_.end(), rules);
  return found == rules_.end() ? 0 : static_cast<std::size_t>(found - rules_.begin());
}

Profile Profiles::of(json::Raw client_info) const {
  const auto name = client_info.empty() ? std::nullopt : json::find_string(client_info, "name");
  return of_name(name.value_or(""));
}

Profile Profiles::of_name(std::string_view client) const {
  const mcp::KnownClient* known = mcp::known_client(client);
  const config::Client* own = nullptr;
  for (const config::Client& candidate : clients_) {
    if (!own && config::glob_match(candidate.pattern, client)) own = &candidate;
  }
  Profile profile;
  profile.rules = index_of(rules_for(rules_.front(), known, own));
  profile.page_size = known && known->first_page_only ? 0 : page_size_;
  if (own && own->page_size) profile.page_size = *own->page_size;
  return profile;
}

}  // namespace mcpx::registry
