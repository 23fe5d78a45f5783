#include "registry/snapshot.hpp"

#include <algorithm>
#include <utility>

#include "config/config.hpp"
#include "mcp/extensions.hpp"
#include "mcp/uris.hpp"
#include "registry/cursor.hpp"

namespace mcpx::registry {
namespace {

const Entry* find(const Names& names, std::string_view exposed) {
  const auto found = names.find(exposed);
  return found == names.end() ? nullptr : found->second;
}

// Of a list or of what a server said of itself.
template <class Dated>
std::int64_t time_left(const Dated& dated, TimePoint now) {
  if (dated.fresh_until == kNever) return dated.ttl_ms;
  const auto left = std::chrono::duration_cast<Milliseconds>(dated.fresh_until - now).count();
  return std::clamp<std::int64_t>(left, 0, dated.ttl_ms);
}

std::optional<Target> target_of(const Entry* entry) {
  if (!entry) return std::nullopt;
  const Source& source = *entry->source;
  return Target{source.server, source.name, std::string(entry->original), source.own_uris,
                source.tasks};
}

}  // namespace

std::size_t Endpoint::variant_of(const Profile& profile) const {
  const std::size_t names = profile.rules < rules_ ? profile.rules : 0;
  return has_app_only_ && !profile.apps ? names + rules_ : names;
}

const View& Endpoint::variant(std::size_t number) const {
  if (number == 0) return view_;
  const auto make = [&] {
    if (number >= rules_) return without_app_only(variant(number - rules_));
    return renamed(view_, profiles_->rules()[number]);
  };
  return *variants_[number - 1].view.get(make);
}

const Rendered& Endpoint::whole(mcp::ListKind kind, mcp::Revision revision,
                                std::size_t number) const {
  const Lists& lists = number == 0 ? lists_ : variants_[number - 1].lists;
  const auto& cell = lists[static_cast<std::size_t>(kind)][static_cast<std::size_t>(revision)];
  return cell.get([&] {
    const View& view = variant(number);
    const Page page{kind, revision, 0, view.of(kind).entries.size(), {}};
    return std::make_shared<const std::string>(render(view, page, server_info_));
  });
}

const Rendered& Endpoint::list(mcp::ListKind kind, mcp::Revision revision) const {
  return whole(kind, revision, 0);
}

Rendered Endpoint::page(mcp::ListKind kind, mcp::Revision revision, const Profile& profile,
                        std::string_view cursor) const {
  const std::size_t number = variant_of(profile);
  const ListView& list = variant(number).of(kind);
  const std::size_t size = list.entries.size();
  Page page{kind, revision, 0, size, {}};
  if (!cursor.empty()) {
    const auto position = read_cursor(name, kind, cursor);
    if (!position) return nullptr;
    page.begin = entries_before(list, *position);
  }
  if (profile.page_size != 0)
    page.end = page.begin + std::min(profile.page_size, size - page.begin);
  if (page.begin == 0 && page.end == size) return whole(kind, revision, number);
  if (page.end < size) page.next_cursor = write_cursor(name, kind, position_behind(list, page.end));
  return std::make_shared<const std::string>(render(variant(number), page, server_info_));
}

Rendered Endpoint::aged(Rendered page, mcp::ListKind kind, TimePoint now,
                        const Announced& announced) const {
  const std::int64_t said = view_.of(kind).caching.ttl_ms;
  std::int64_t left = said;
  for (std::size_t i = 0; i < parts_.size() && left > 0; ++i) {
    const Source& source = parts_[i]->source;
    if (!mcp::offers(source.catalogue->facts.capabilities, kind)) continue;
    if (announced && announced(*source.server)) continue;
    left = std::min(left, time_left(source.catalogue->list(kind), now));
  }
  if (!page || left >= said) return page;
  return std::make_shared<const std::string>(with_ttl(*page, left));
}

mcp::CacheHints Endpoint::discovery(TimePoint now) const {
  mcp::CacheHints hints{0, false};
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const mcp::ServerFacts& facts = parts_[i]->source.catalogue->facts;
    const std::int64_t left = time_left(facts, now);
    hints.ttl_ms = i == 0 ? left : std::min(hints.ttl_ms, left);
    hints.is_private = hints.is_private || facts.is_private;
  }
  if (!complete_) hints.ttl_ms = 0;
  return hints;
}

const Entry* Endpoint::named(mcp::ListKind kind, std::string_view exposed) const {
  const Entry* entry = find(view_.names(kind), exposed);
  for (std::size_t rules = 1; !entry && rules < rules_; ++rules)
    entry = find(variant(rules).names(kind), exposed);
  return entry;
}

// A pass-through endpoint sends on whatever name the caller uses: the server knows best what it
// has, and its own error is the truest. Only what a filter hides is not there (case C72).
std::optional<Target> Endpoint::tool(std::string_view exposed) const {
  if (!server) return target_of(named(mcp::ListKind::tools, exposed));
  if (!config->tool_allowed(exposed)) return std::nullopt;
  std::optional<Target> target = own(exposed);
  target->tasks = !parts_.empty() && parts_.front()->source.tasks;
  return target;
}

std::optional<Target> Endpoint::prompt(std::string_view exposed) const {
  return server ? own(exposed) : target_of(named(mcp::ListKind::prompts, exposed));
}

// A qualified URI routes by itself: what a template expands to is in no list. Any other is for the
// server whose prefix is empty, if there is one.
std::optional<Target> Endpoint::resource(std::string_view exposed) const {
  if (server) return own(exposed);
  auto parsed = mcp::parse_exposed_uri(exposed);
  if (!parsed) {
    if (!bare_) return std::nullopt;
    Target target = *bare_;
    target.original = exposed;
    return target;
  }
  const auto found = servers_.find(parsed->server);
  if (found == servers_.end()) return std::nullopt;
  const bool own_uris = bare_ && bare_->server_name == parsed->server;
  return Target{found->second, std::move(parsed->server), std::move(parsed->original), own_uris};
}

const upstream::ToolTraits* Endpoint::tool_traits(std::string_view exposed) const {
  if (server) {
    if (!config->tool_allowed(exposed)) return nullptr;
    return parts_.empty() ? nullptr : parts_.front()->source.catalogue->traits_of(exposed);
  }
  const Entry* entry = named(mcp::ListKind::tools, exposed);
  return entry ? entry->source->catalogue->traits_of(entry->original) : nullptr;
}

json::Raw Endpoint::capabilities_of(const upstream::Server& wanted) const {
  for (const auto& part : parts_) {
    if (part->source.server == &wanted) return part->source.catalogue->facts.capabilities;
  }
  return "{}";
}

std::optional<Target> Endpoint::own(std::string_view original) const {
  return Target{server, name, std::string(original)};
}

bool shows_same(const Endpoint& a, const Endpoint& b, mcp::ListKind kind) {
  const auto& one = a.view_.of(kind).entries;
  const auto& other = b.view_.of(kind).entries;
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(),
      [](const Entry* x, const Entry* y) { return x == y || x->definition == y->definition; });
}

std::shared_ptr<const Endpoint> Snapshot::find(std::string_view endpoint) const {
  const auto found = endpoints.find(endpoint);
  return found == endpoints.end() ? nullptr : found->second;
}

}  // namespace mcpx::registry
