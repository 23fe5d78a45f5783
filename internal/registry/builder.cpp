#include "registry/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "json/splice.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/names.hpp"
#include "mcp/uris.hpp"
#include "registry/uri_map.hpp"

namespace mcpx::registry {
namespace {

constexpr std::array kKinds = {mcp::ListKind::tools, mcp::ListKind::prompts,
                               mcp::ListKind::resources, mcp::ListKind::resource_templates};
constexpr std::size_t kCollisionsReported = 50;

// What the aggregating endpoint offers whatever its servers do at the moment: they come and go, and
// a legacy client asks once.
std::string aggregate_capabilities(bool subscribe) {
  const std::string_view resources =
      subscribe ? R"({"subscribe":true,"listChanged":true})" : R"({"listChanged":true})";
  return fmt::format(R"({{"completions":{{}},"logging":{{}},"prompts":{{"listChanged":true}},)"
                     R"("resources":{},"tools":{{"listChanged":true}}}})",
                     resources);
}

// A server that was never heard of may offer it.
bool may_subscribe(const ServerView& view) {
  if (!view.catalogue) return view.config->enabled;
  return json::find(view.catalogue->facts.capabilities, "resources", "subscribe") == "true";
}

bool shown(const config::Server& config, mcp::ListKind kind, const std::string& id) {
  return kind != mcp::ListKind::tools || config.tool_allowed(id);
}

// A server's own capabilities as far as mcpx carries them: a member that is not routed is not
// advertised (design section 5).
std::string passed_capabilities(json::Raw own) {
  json::ObjectBuilder out;
  for (const std::string_view key : {"completions", "logging"}) {
    if (const auto value = json::find(own, key)) out.raw(key, *value);
  }
  for (const std::string_view key : {"prompts", "resources", "tools"}) {
    const auto value = json::find(own, key);
    if (!value || !json::is_object(*value)) continue;
    json::Splice member(*value);
    member.set("listChanged", "true");
    out.raw(key, member.text());
  }
  return out.take();
}

}  // namespace

class Builder {
 public:
  Builder(const BuildOptions& options, std::vector<std::string>& collisions)
      : options_(options), collisions_(collisions) {}

  std::shared_ptr<Endpoint> aggregate(const std::vector<ServerView>& servers) {
    auto endpoint = std::make_shared<Endpoint>();
    const bool subscribe = std::any_of(servers.begin(), servers.end(), may_subscribe);
    endpoint->capabilities_legacy = aggregate_capabilities(subscribe);
    endpoint->capabilities_modern = endpoint->capabilities_legacy;
    endpoint->bare_ = bare_server(servers);
    for (const ServerView& view : servers) {
      endpoint->servers_.emplace(view.config->name, view.server.get());
      hold(*endpoint, view);
      if (!view.catalogue) continue;
      endpoint->ready = true;
      add_instructions(*endpoint, view);
    }
    for (const mcp::ListKind kind : kKinds) {
      Rendering rendering(kind, options_);
      for (const ServerView& view : servers) {
        if (view.catalogue) add_qualified(*endpoint, rendering, view, kind);
      }
      rendering.finish(endpoint->lists_[static_cast<std::size_t>(kind)]);
    }
    return endpoint;
  }

  std::shared_ptr<Endpoint> pass_through(const ServerView& view) {
    auto endpoint = std::make_shared<Endpoint>();
    endpoint->name = view.config->name;
    endpoint->server = view.server.get();
    hold(*endpoint, view);
    endpoint->config = view.config;
    endpoint->ready = view.catalogue != nullptr;
    endpoint->capabilities_legacy = aggregate_capabilities(true);
    if (view.catalogue) {
      endpoint->capabilities_legacy = passed_capabilities(view.catalogue->facts.capabilities);
      if (auto text = json::decode_string(view.catalogue->facts.instructions)) {
        endpoint->instructions = std::move(*text);
      }
    }
    endpoint->capabilities_modern = endpoint->capabilities_legacy;
    for (const mcp::ListKind kind : kKinds) {
      Rendering rendering(kind, options_);
      if (view.catalogue) add_own(*endpoint, rendering, view, kind);
      rendering.finish(endpoint->lists_[static_cast<std::size_t>(kind)]);
    }
    return endpoint;
  }

 private:
  static void hold(Endpoint& endpoint, const ServerView& view) {
    endpoint.sources_.push_back(view.server.get());
    endpoint.held_.push_back(view.server);
  }

  // One list being rendered for all revisions at once.
  class Rendering {
   public:
    Rendering(mcp::ListKind kind, const BuildOptions& options) : kind_(kind), options_(options) {
      for (std::string& text : texts_) {
        text = fmt::format("{{\"{}\":[", mcp::info(kind).member);
      }
    }

    void add(json::Raw definition) {
      for (const mcp::Revision revision : mcp::kAllRevisions) {
        std::string& text = texts_[static_cast<std::size_t>(revision)];
        if (any_) text += ',';
        mcp::append_definition_for(text, kind_, definition, revision);
      }
      any_ = true;
    }

    // The narrowest of what contributes (requirement: an aggregate takes the smallest ttlMs and is
    // private if any page is).
    void caching(const upstream::List& list) {
      ttl_ms_ = ttl_ms_ ? std::min(*ttl_ms_, list.ttl_ms) : list.ttl_ms;
      is_private_ = is_private_ || list.is_private;
    }

    void finish(std::array<Rendered, mcp::kRevisions>& into) {
      for (const mcp::Revision revision : mcp::kAllRevisions) {
        const auto at = static_cast<std::size_t>(revision);
        std::string& text = texts_[at];
        text += ']';
        if (mcp::era_of(revision) == mcp::Era::modern) {
          text += fmt::format(R"(,"resultType":"complete","ttlMs":{},"cacheScope":"{}")",
                              ttl_ms_.value_or(0), is_private_ ? "private" : "public");
          if (!options_.server_info.empty()) {
            text +=
                fmt::format(R"(,"_meta":{{"{}":{}}})", mcp::kMetaServerInfo, options_.server_info);
          }
        }
        text += '}';
        // Revisions that spell a list alike share its bytes.
        into[at] = at > 0 && *into[at - 1] == text
                       ? into[at - 1]
                       : std::make_shared<const std::string>(std::move(text));
      }
    }

   private:
    mcp::ListKind kind_;
    const BuildOptions& options_;
    std::array<std::string, mcp::kRevisions> texts_;
    std::optional<std::int64_t> ttl_ms_;
    bool is_private_ = false, any_ = false;
  };

  static Endpoint::Names& names_of(Endpoint& endpoint, mcp::ListKind kind) {
    if (kind == mcp::ListKind::tools) return endpoint.tools_;
    if (kind == mcp::ListKind::prompts) return endpoint.prompts_;
    return endpoint.resources_;
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
    if (collisions_.size() < kCollisionsReported) collisions_.push_back(std::move(text));
  }

  // The name under which an item of a server appears; unique among `taken`.
  std::string unique_name(const ServerView& view, const std::string& original,
                          const Endpoint::Names& taken) {
    const std::string prefix = view.config->prefix.value_or(view.config->name);
    std::string name = mcp::exposed_name(prefix, original, options_.names_max);
    if (taken.count(name) == 0) return name;
    const std::string plain = name;
    name = mcp::exposed_name(view.config->name, original, options_.names_max);
    if (taken.count(name) != 0) {
      name = mcp::disambiguated_name(view.config->name, original, options_.names_max);
    }
    if (taken.count(name) != 0) return {};
    report(fmt::format("'{}' of server {} is shown as '{}': '{}' was taken by server {}", original,
                       view.config->name, name, plain, taken.at(plain).server_name));
    return name;
  }

  void add_qualified(Endpoint& endpoint, Rendering& rendering, const ServerView& view,
                     mcp::ListKind kind) {
    const bool by_name = kind == mcp::ListKind::tools || kind == mcp::ListKind::prompts;
    const std::string& server = view.config->name;
    const bool own_uris = endpoint.bare_ && endpoint.bare_->server_name == server;
    Endpoint::Names& names = names_of(endpoint, kind);
    const upstream::List& list = view.catalogue->list(kind);
    for (const upstream::Item& item : list.items) {
      if (!shown(*view.config, kind, item.id)) continue;
      if (kind == mcp::ListKind::prompts) note_shared(item.id, server);
      const std::string exposed =
          by_name ? unique_name(view, item.id, names) : shown_uri(server, item.id, own_uris);
      if (exposed.empty()) continue;
      const std::string definition =
          expose_definition(kind, item.definition, exposed, server, own_uris);
      rendering.add(definition);
      names.emplace(exposed, Target{view.server.get(), server, item.id, own_uris});
      if (kind == mcp::ListKind::tools) {
        endpoint.tool_rows_.push_back({exposed, item.id, server, definition});
      }
    }
    rendering.caching(list);
  }

  void add_own(Endpoint& endpoint, Rendering& rendering, const ServerView& view,
               mcp::ListKind kind) {
    const upstream::List& list = view.catalogue->list(kind);
    for (const upstream::Item& item : list.items) {
      if (!shown(*view.config, kind, item.id)) continue;
      rendering.add(item.definition);
      if (kind == mcp::ListKind::tools) {
        endpoint.tool_rows_.push_back({item.id, item.id, view.config->name, item.definition});
      }
    }
    rendering.caching(list);
  }

  // People pick prompts by name, so it is said when two servers offer one of the same name, though
  // both are usable under their prefixes (case C43).
  void note_shared(const std::string& name, const std::string& server) {
    const auto [at, fresh] = first_server_.emplace(name, server);
    if (!fresh && at->second != server) {
      report(
          fmt::format("prompt '{}' is offered by {} and by {}; each is shown under its own prefix",
                      name, at->second, server));
    }
  }

  const BuildOptions& options_;
  std::vector<std::string>& collisions_;
  std::map<std::string, std::string> first_server_;  // of each prompt
};

std::shared_ptr<const Snapshot> build_snapshot(const std::vector<ServerView>& servers,
                                               const BuildOptions& options, std::uint64_t version) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->version = version;
  snapshot->config = options.config;
  Builder builder(options, snapshot->collisions);
  snapshot->endpoints.emplace("", builder.aggregate(servers));
  for (const ServerView& view : servers) {
    snapshot->servers.push_back(view.server);
    snapshot->endpoints.emplace(view.config->name, builder.pass_through(view));
  }
  return snapshot;
}

}  // namespace mcpx::registry
