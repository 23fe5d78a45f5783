#include "registry/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "json/json.hpp"
#include "mcp/extensions.hpp"
#include "mcp/names.hpp"
#include "registry/capabilities.hpp"
#include "registry/uri_map.hpp"

namespace mcpx::registry {
namespace {

constexpr std::size_t kCollisionsReported = 50;

// A server that was never heard of may offer it.
bool may_subscribe(const ServerView& view) {
  if (!view.catalogue) return view.config->enabled;
  return json::find(view.catalogue->facts.capabilities, "resources", "subscribe") == "true";
}

bool offers_tasks(const ServerView& view) {
  const mcp::ServerFacts& facts = view.catalogue->facts;
  return mcp::offers_tasks(facts.capabilities, facts.revision);
}

using PartPtr = std::shared_ptr<const Part>;

bool shown(const config::Server& config, mcp::ListKind kind, const std::string& id) {
  return kind != mcp::ListKind::tools || config.tool_allowed(id);
}

bool app_only(const ServerView& view, mcp::ListKind kind, const std::string& id) {
  if (kind != mcp::ListKind::tools) return false;
  const upstream::ToolTraits* traits = view.catalogue->traits_of(id);
  return traits && traits->app_only;
}

bool has_name(mcp::ListKind kind) {
  return kind == mcp::ListKind::tools || kind == mcp::ListKind::prompts;
}

// The narrowest of what contributes (2026-07-28 server/utilities/caching).
void narrow(ListView& list, const upstream::Catalogue& catalogue, mcp::ListKind kind, bool first) {
  const upstream::List& own = catalogue.list(kind);
  list.caching.ttl_ms = first ? own.ttl_ms : std::min(list.caching.ttl_ms, own.ttl_ms);
  list.caching.is_private = list.caching.is_private || own.is_private;
}

}  // namespace

class Builder {
 public:
  Builder(const BuildOptions& options, Snapshot& snapshot, const Snapshot* before)
      : options_(options), snapshot_(snapshot), before_(before) {}

  std::shared_ptr<Endpoint> aggregate(const std::vector<ServerView>& servers) {
    auto endpoint = std::make_shared<Endpoint>();
    endpoint->server_info_ = options_.server_info;
    endpoint->profiles_ = options_.profiles;
    endpoint->rules_ = options_.profiles->rules().size();
    endpoint->bare_ = bare_server(servers);
    std::vector<std::string_view> capabilities;
    for (std::size_t place = 0; place < servers.size(); ++place) {
      const ServerView& view = servers[place];
      endpoint->servers_.emplace(view.config->name, view.server.get());
      hold(*endpoint, view);
      if (!view.catalogue) {
        if (view.config->enabled) endpoint->complete_ = false;
        continue;
      }
      endpoint->ready = true;
      add_instructions(*endpoint, view);
      capabilities.push_back(view.catalogue->facts.capabilities);
      endpoint->parts_.push_back(qualified_part(*endpoint, view, place));
      list_part(endpoint->view_, *endpoint->parts_.back());
    }
    const bool subscribe = std::any_of(servers.begin(), servers.end(), may_subscribe);
    endpoint->capabilities_legacy = endpoint->capabilities_modern =
        merged_capabilities(capabilities, subscribe);
    advertise_tasks(*endpoint);
    report_shared_prompts(endpoint->view_);
    make_variants(*endpoint);
    return endpoint;
  }

  std::shared_ptr<Endpoint> pass_through(const ServerView& view) {
    auto endpoint = std::make_shared<Endpoint>();
    endpoint->name = view.config->name;
    endpoint->server = view.server.get();
    hold(*endpoint, view);
    endpoint->config = view.config;
    endpoint->ready = view.catalogue != nullptr;
    endpoint->server_info_ = options_.server_info;
    endpoint->profiles_ = options_.profiles;
    endpoint->capabilities_legacy = merged_capabilities({}, true);
    if (view.catalogue) {
      const mcp::ServerFacts& facts = view.catalogue->facts;
      endpoint->capabilities_legacy = passed_capabilities(facts.capabilities);
      if (auto text = json::decode_string(facts.instructions)) {
        endpoint->instructions = std::move(*text);
      }
      endpoint->parts_.push_back(own_part(view));
      list_part(endpoint->view_, *endpoint->parts_.back());
    }
    endpoint->capabilities_modern = endpoint->capabilities_legacy;
    advertise_tasks(*endpoint);
    endpoint->speaks_extensions = mcp::declares_others(endpoint->capabilities_modern);
    make_variants(*endpoint);
    return endpoint;
  }

 private:
  // Where a server has tasks, in the words of both eras. A call that mcpx itself makes one of is
  // for clients that say they take tasks with each request: legacy ones ask for one, of a tool that
  // says it can be one.
  void advertise_tasks(Endpoint& endpoint) const {
    const auto& parts = endpoint.parts_;
    const bool theirs = std::any_of(parts.begin(), parts.end(),
                                    [](const PartPtr& part) { return part->source.tasks; });
    const bool ours = options_.config && options_.config->tasks.after.count() > 0;
    endpoint.tasks = theirs || ours;
    if (endpoint.tasks) {
      endpoint.capabilities_modern = with_tasks_extension(endpoint.capabilities_modern);
    }
    if (theirs) {
      endpoint.capabilities_legacy = with_tasks_capability(endpoint.capabilities_legacy);
    }
  }
  static void make_variants(Endpoint& endpoint) {
    const auto& tools = endpoint.tools();
    endpoint.has_app_only_ =
        std::any_of(tools.begin(), tools.end(), [](const Entry* entry) { return entry->app_only; });
    const std::size_t count = endpoint.rules_ * (endpoint.has_app_only_ ? 2 : 1);
    for (std::size_t i = 1; i < count; ++i)
      endpoint.variants_.emplace_back();
  }
  static void hold(Endpoint& endpoint, const ServerView& view) {
    endpoint.sources_.push_back(view.server.get());
    endpoint.held_.push_back(view.server);
  }

  // The server that is shown under its own names and URIs; none when two ask for it.
  static std::optional<Target> bare_server(const std::vector<ServerView>& servers) {
    std::optional<Target> found;
    for (const ServerView& view : servers) {
      if (view.config->prefix != "") continue;
      if (found) return std::nullopt;
      found = Target{view.server.get(), view.config->name, std::string(), true};
    }
    return found;
  }

  static void add_instructions(Endpoint& endpoint, const ServerView& view) {
    const auto text = json::decode_string(view.catalogue->facts.instructions);
    if (!text || text->empty()) return;
    if (!endpoint.instructions.empty()) endpoint.instructions += "\n\n";
    endpoint.instructions += fmt::format("## {}\n\n{}", view.config->name, *text);
  }

  void report(std::string text) {
    if (snapshot_.collisions.size() < kCollisionsReported) {
      snapshot_.collisions.push_back(std::move(text));
    }
  }

  // --- Parts

  // What the snapshot before has of a server that lists the same and is shown the same way.
  PartPtr part_before(std::string_view endpoint, const ServerView& view, bool own_uris) const {
    const auto old = before_ ? before_->find(endpoint) : nullptr;
    if (!old || before_->profiles->rules().front() != rules()) return nullptr;
    for (const PartPtr& part : old->parts_) {
      const Source& source = part->source;
      if (source.catalogue == view.catalogue && source.config == view.config &&
          source.server == view.server.get() && source.own_uris == own_uris && !part->renamed) {
        return part;
      }
    }
    return nullptr;
  }
  const mcp::NameRules& rules() const { return options_.profiles->rules().front(); }

  static std::shared_ptr<Part> empty_part(const ServerView& view, std::size_t place,
                                          bool own_uris) {
    auto part = std::make_shared<Part>();
    part->source = {view.server.get(),
                    view.config,
                    view.config->name,
                    view.config->prefix.value_or(view.config->name),
                    place,
                    own_uris,
                    offers_tasks(view),
                    view.catalogue};
    return part;
  }

  // The server's items under names that no other server has taken in `endpoint` so far.
  PartPtr qualified_part(const Endpoint& endpoint, const ServerView& view, std::size_t place) {
    const bool own_uris = endpoint.bare_ && endpoint.bare_->server_name == view.config->name;
    PartPtr known = part_before("", view, own_uris);
    if (known && known->source.place == place && !taken(endpoint.view_, *known)) return known;
    const auto part = empty_part(view, place, own_uris);
    for (const mcp::ListKind kind : mcp::kAllLists) {
      for (const upstream::Item& item : view.catalogue->list(kind).items) {
        if (!shown(*view.config, kind, item.id)) continue;
        std::string exposed = has_name(kind) ? unique_name(*part, item.id, endpoint.view_, kind)
                                             : shown_uri(view.config->name, item.id, own_uris);
        if (exposed.empty()) continue;
        std::string definition =
            expose_definition(kind, item.definition, exposed, view.config->name, own_uris);
        const std::string_view name = part->keep(std::move(exposed));
        part->entries[static_cast<std::size_t>(kind)].push_back({&part->source, name, item.id,
                                                                 part->keep(std::move(definition)),
                                                                 app_only(view, kind, item.id)});
      }
    }
    return part;
  }

  PartPtr own_part(const ServerView& view) const {
    if (PartPtr known = part_before(view.config->name, view, true)) return known;
    const auto part = empty_part(view, 0, true);
    for (const mcp::ListKind kind : mcp::kAllLists) {
      for (const upstream::Item& item : view.catalogue->list(kind).items) {
        if (!shown(*view.config, kind, item.id)) continue;
        part->entries[static_cast<std::size_t>(kind)].push_back(
            {&part->source, item.id, item.id, item.definition, app_only(view, kind, item.id)});
      }
    }
    return part;
  }

  static bool taken(const View& view, const Part& part) {
    const auto any = [&](mcp::ListKind kind) {
      const std::vector<Entry>& entries = part.of(kind);
      return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
        return view.names(kind).count(entry.exposed) != 0;
      });
    };
    return any(mcp::ListKind::tools) || any(mcp::ListKind::prompts);
  }

  // The name under which an item of a server appears; empty when there is none left.
  std::string unique_name(Part& part, const std::string& original, const View& view,
                          mcp::ListKind kind) {
    const Names& names = view.names(kind);
    const auto other = names.find(mcp::exposed_name(part.source.prefix, original, rules()));
    std::string name = free_name(names, part.source, original, rules());
    if (other == names.end()) return name;
    part.renamed = true;
    if (name.empty()) return name;
    report(fmt::format("'{}' of server {} is shown as '{}': '{}' was taken by server {}", original,
                       part.source.name, name, other->second->exposed,
                       other->second->source->name));
    return name;
  }

  // --- Lists

  static void list_part(View& view, const Part& part) {
    for (const mcp::ListKind kind : mcp::kAllLists) {
      ListView& list = view.lists[static_cast<std::size_t>(kind)];
      const upstream::Catalogue& catalogue = *part.source.catalogue;
      if (mcp::offers(catalogue.facts.capabilities, kind)) {
        narrow(list, catalogue, kind, list.contributors == 0);
        ++list.contributors;
      }
      Names* names = nullptr;
      if (kind == mcp::ListKind::tools) names = &view.tools;
      if (kind == mcp::ListKind::prompts) names = &view.prompts;
      for (const Entry& entry : part.of(kind)) {
        list.entries.push_back(&entry);
        if (names) names->emplace(entry.exposed, &entry);
      }
    }
  }

  // People pick prompts by name, so it is said when two servers offer one of the same name, though
  // both are usable under their prefixes (case C43).
  void report_shared_prompts(const View& view) {
    std::map<std::string_view, const Source*> first;
    for (const Entry* prompt : view.of(mcp::ListKind::prompts).entries) {
      const auto [at, fresh] = first.emplace(prompt->original, prompt->source);
      if (fresh || at->second == prompt->source) continue;
      report(
          fmt::format("prompt '{}' is offered by {} and by {}; each is shown under its own prefix",
                      prompt->original, at->second->name, prompt->source->name));
    }
  }

  const BuildOptions& options_;
  Snapshot& snapshot_;
  const Snapshot* before_;
};

std::shared_ptr<const Snapshot> build_snapshot(const std::vector<ServerView>& servers,
                                               const BuildOptions& options, std::uint64_t version,
                                               const Snapshot* before) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->version = version;
  snapshot->config = options.config;
  snapshot->profiles = options.profiles;
  Builder builder(options, *snapshot, before);
  snapshot->endpoints.emplace("", builder.aggregate(servers));
  for (const ServerView& view : servers) {
    snapshot->servers.push_back(view.server);
    snapshot->endpoints.emplace(view.config->name, builder.pass_through(view));
  }
  return snapshot;
}

}  // namespace mcpx::registry
