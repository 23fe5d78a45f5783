#include "upstream/memory.hpp"

#include <chrono>
#include <utility>

#include "json/json.hpp"
#include "mcp/extensions.hpp"

namespace mcpx::upstream {
namespace {

// Of the texts; another one is not read. Raised when what is in them changes its meaning.
constexpr std::int64_t kFormat = 1;

std::int64_t unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::string_view text(mcp::Era era) {
  return era == mcp::Era::modern ? "modern" : "legacy";
}

bool readable(const std::string& text) {
  if (json::validate(text, json::Limits()).has_error()) return false;
  const auto format = json::find(text, "format");
  return format && json::as_integer(*format) == kFormat;
}

std::string list_text(const List& list) {
  std::string items = "[";
  for (const Item& item : list.items) {
    if (items.size() > 1) items += ',';
    items += item.definition;
  }
  json::ObjectBuilder object;
  object.integer("ttlMs", list.ttl_ms).raw("items", items + "]");
  return object.take();
}

List list_of(json::Raw object, const mcp::ListInfo& info) {
  List list;
  const auto ttl = json::find(object, "ttlMs");
  list.ttl_ms = ttl ? json::as_integer(*ttl).value_or(0) : 0;
  if (list.ttl_ms > 0) list.fresh_until = TimePoint();  // its age is not known
  const auto items = json::find(object, "items");
  if (!items || !json::is_array(*items)) return list;
  json::Elements elements(*items);
  while (const auto element = elements.next()) {
    auto id = json::find_string(*element, info.id_member);
    if (id) list.items.push_back({std::move(*id), std::string(*element)});
  }
  return list;
}

}  // namespace

std::string facts_text(const Catalogue& catalogue) {
  const mcp::ServerFacts& facts = catalogue.facts;
  json::ObjectBuilder object;
  object.integer("format", kFormat).string("revision", mcp::text(facts.revision));
  object.raw("capabilities", facts.capabilities);
  if (!facts.server_info.empty()) object.raw("serverInfo", facts.server_info);
  if (!facts.instructions.empty()) object.raw("instructions", facts.instructions);
  return object.take();
}

std::string lists_text(const Catalogue& catalogue) {
  json::ObjectBuilder object;
  object.integer("format", kFormat);
  for (std::size_t i = 0; i < mcp::kListKinds; ++i) {
    const List& list = catalogue.lists[i];
    if (!list.is_private) {
      object.raw(mcp::info(static_cast<mcp::ListKind>(i)).member, list_text(list));
    }
  }
  return object.take();
}

std::shared_ptr<const Catalogue> catalogue_of(const std::string& facts, const std::string& lists) {
  if (!readable(facts) || !readable(lists)) return nullptr;
  const auto said = json::find_string(facts, "revision");
  const auto revision = said ? mcp::parse_revision(*said) : std::nullopt;
  if (!revision) return nullptr;
  auto catalogue = std::make_shared<Catalogue>();
  catalogue->facts.revision = *revision;
  catalogue->facts.capabilities = json::find(facts, "capabilities").value_or("{}");
  catalogue->facts.server_info = json::find(facts, "serverInfo").value_or("");
  catalogue->facts.instructions = json::find(facts, "instructions").value_or("");
  for (std::size_t i = 0; i < mcp::kListKinds; ++i) {
    const auto kind = static_cast<mcp::ListKind>(i);
    const mcp::ListInfo& info = mcp::info(kind);
    if (const auto list = json::find(lists, info.member)) {
      catalogue->lists[i] = list_of(*list, info);
    } else if (mcp::offers(catalogue->facts.capabilities, kind)) {
      return nullptr;  // a private list: without it this would pass for a server that lists nothing
    }
  }
  catalogue->note_traits();
  return catalogue;
}

Memory::Memory(const config::Server& config, store::Store* store)
    : name_(config.name), digest_(store ? config::digest(config) : std::string()), store_(store) {}

Task<Known> Memory::recall() {
  Known known;
  if (!store_) co_return known;
  auto era = co_await store_->eras().find(digest_);
  if (era && *era) {
    known.era = (*era)->era == "modern" ? mcp::Era::modern : mcp::Era::legacy;
  }
  auto row = co_await store_->catalogues().find(name_, digest_);
  if (row && *row) known.catalogue = catalogue_of((*row)->facts, (*row)->lists);
  co_return known;
}

Task<void> Memory::keep_era(std::optional<mcp::Revision> revision) {
  if (!store_) co_return;
  Result<void> kept;
  if (revision) {
    store::EraRow row(digest_, name_, std::string(text(mcp::era_of(*revision))),
                      std::string(mcp::text(*revision)), unix_seconds());
    kept = co_await store_->eras().put(std::move(row));
  } else {
    kept = co_await store_->eras().drop(digest_);
  }
  static_cast<void>(kept);  // the store says itself what it could not do
}

Task<void> Memory::keep_catalogue(std::shared_ptr<const Catalogue> catalogue) {
  if (!store_) co_return;
  store::CatalogueRow row(name_, digest_, facts_text(*catalogue), lists_text(*catalogue),
                          unix_seconds());
  Result<void> kept = co_await store_->catalogues().put(std::move(row));
  static_cast<void>(kept);
}

}  // namespace mcpx::upstream
