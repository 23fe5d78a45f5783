// Snapshot: the merged catalogue at one moment: what each endpoint lists, and where each name goes.
//
// Built by the Registry from the servers' catalogues, immutable, shared by every shard. A list is
// rendered for a revision when it is first asked for in it; from then on serving it is a write.
// Order is that of the configuration, then of each server's own list. Thread: any.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lazy.hpp"
#include "json/json.hpp"
#include "mcp/method.hpp"
#include "mcp/revision.hpp"
#include "registry/part.hpp"
#include "registry/profiles.hpp"
#include "registry/view.hpp"
#include "upstream/catalogue.hpp"

namespace mcpx::registry {

struct Target {
  upstream::Server* server = nullptr;  // there as long as the endpoint it was found by
  std::string server_name;
  std::string original;   // the name or URI the server knows
  bool own_uris = false;  // the endpoint shows the server's URIs as they are
  bool tasks = false;     // of a tool: its server may answer a call with a task
};

// Holds its servers: one that a reload took out is there until its last endpoint is let go.
class Endpoint {
 public:
  std::string name;  // empty: the aggregating endpoint /mcp; else the server of /mcp/{name}
  upstream::Server* server = nullptr;  // of a pass-through endpoint; null on /mcp
  std::shared_ptr<const config::Server> config;
  bool ready = false;  // pass-through: its server's lists were read once; aggregate: any server's
  bool speaks_extensions = false;  // pass-through: its server has some that mcpx does not know
  bool tasks = false;              // calls may become tasks, by a server's will or by ours
  std::string instructions;        // decoded; may be empty
  std::string capabilities_legacy, capabilities_modern;  // raw objects, as advertised

  // A list as a result body: `{"tools":[...]}` with what the revision asks for besides.
  const Rendered& list(mcp::ListKind kind, mcp::Revision revision) const;
  // The page that `cursor` (decoded; empty: the first) leads to, as a client of that profile is
  // shown it; null for a cursor that was not given out for this list.
  Rendered page(mcp::ListKind kind, mcp::Revision revision, const Profile& profile,
                std::string_view cursor) const;
  // The same page for a client that reads it now: how long it may be kept counts from when the
  // servers were asked (2026-07-28 server/utilities/caching), except where `announced` says that
  // the server tells of changes.
  using Announced = std::function<bool(const upstream::Server&)>;
  Rendered aged(Rendered page, mcp::ListKind kind, TimePoint now, const Announced& announced) const;
  // What of its DiscoverResult may be kept, by what its servers say of theirs.
  mcp::CacheHints discovery(TimePoint now) const;
  const Profiles& profiles() const { return *profiles_; }

  std::optional<Target> tool(std::string_view exposed) const;
  std::optional<Target> prompt(std::string_view exposed) const;
  std::optional<Target> resource(std::string_view exposed) const;  // listed, template or qualified
  // What a call of that tool depends on; null for one without traits, or that is not listed.
  const upstream::ToolTraits* tool_traits(std::string_view exposed) const;
  // What that server said it can do; "{}" while it has said nothing.
  json::Raw capabilities_of(const upstream::Server& server) const;
  bool aggregate() const { return server == nullptr; }
  const std::vector<upstream::Server*>& sources() const { return sources_; }  // all it lists of
  // In list order.
  const std::vector<const Entry*>& tools() const { return view_.of(mcp::ListKind::tools).entries; }

 private:
  friend class Builder;
  friend bool shows_same(const Endpoint& a, const Endpoint& b, mcp::ListKind kind);
  using Lists = std::array<std::array<Lazy<std::string>, mcp::kRevisions>, mcp::kListKinds>;
  struct Variant {
    Lazy<View> view;
    Lists lists;
  };

  std::optional<Target> own(std::string_view original) const;
  // Under whatever rules it was shown: a client may ask by a name that another profile, or an
  // earlier version of its own, was given. Null when nothing has that name.
  const Entry* named(mcp::ListKind kind, std::string_view exposed) const;
  // What a client of that profile is shown: 0 is the view as it is, then come those under other
  // rules for names, then, if some tools are only for apps, all of these without them.
  std::size_t variant_of(const Profile& profile) const;
  const View& variant(std::size_t number) const;
  const Rendered& whole(mcp::ListKind kind, mcp::Revision revision, std::size_t variant) const;

  std::string server_info_;  // of mcpx, for the _meta of modern lists
  std::vector<std::shared_ptr<const Part>> parts_;
  View view_;
  std::map<std::string, upstream::Server*, std::less<>> servers_;  // by name, for qualified URIs
  // The one server whose prefix is empty: a URI that is not qualified is one of its own.
  std::optional<Target> bare_;
  std::vector<upstream::Server*> sources_;
  bool complete_ = true;  // every server it is to show has been heard of
  std::vector<std::shared_ptr<upstream::Server>> held_;  // what the pointers above point to
  std::shared_ptr<const Profiles> profiles_;
  Lists lists_;
  std::size_t rules_ = 1;  // sets of rules for names; a pass-through endpoint has only one
  bool has_app_only_ = false;
  std::deque<Variant> variants_;  // by number, from 1 on
};

// True if both list the same items in the same order, whatever may be said of how long for.
bool shows_same(const Endpoint& a, const Endpoint& b, mcp::ListKind kind);

struct Snapshot {
  std::uint64_t version = 0;
  std::shared_ptr<const config::Config> config;            // in force
  std::vector<std::shared_ptr<upstream::Server>> servers;  // in the order of the configuration
  std::shared_ptr<const Profiles> profiles;
  std::vector<std::string> collisions;  // what was renamed and why, for /v1/status
  std::map<std::string, std::shared_ptr<const Endpoint>, std::less<>> endpoints;  // "" is /mcp

  std::shared_ptr<const Endpoint> find(std::string_view endpoint) const;
};

}  // namespace mcpx::registry
