#include "registry/view.hpp"

#include <fmt/format.h>

#include "json/json.hpp"
#include "json/splice.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::registry {

std::string free_name(const Names& taken, const Source& source, std::string_view original,
                      const mcp::NameRules& rules) {
  std::string name = mcp::exposed_name(source.prefix, original, rules);
  if (taken.count(name) == 0) return name;
  name = mcp::exposed_name(source.name, original, rules);
  if (taken.count(name) == 0) return name;
  name = mcp::disambiguated_name(source.name, original, rules);
  return taken.count(name) == 0 ? name : std::string();
}

std::shared_ptr<const View> renamed(const View& plain, const mcp::NameRules& rules) {
  auto view = std::make_shared<View>();
  view->lists = plain.lists;
  for (const mcp::ListKind kind : {mcp::ListKind::tools, mcp::ListKind::prompts}) {
    ListView& list = view->lists[static_cast<std::size_t>(kind)];
    Names& names = kind == mcp::ListKind::tools ? view->tools : view->prompts;
    list.entries.clear();
    for (const Entry* entry : plain.of(kind).entries) {
      const std::string name = free_name(names, *entry->source, entry->original, rules);
      if (name.empty()) continue;
      if (name != entry->exposed) {
        json::Splice definition(entry->definition);
        definition.set(mcp::info(kind).id_member, json::quoted(name));
        const std::string_view shown = view->texts.emplace_back(name);
        const std::string_view text = view->texts.emplace_back(definition.text());
        entry = &view->own.emplace_back(
            Entry{entry->source, shown, entry->original, text, entry->app_only});
      }
      list.entries.push_back(entry);
      names.emplace(entry->exposed, entry);
    }
  }
  return view;
}

std::shared_ptr<const View> without_app_only(const View& plain) {
  auto view = std::make_shared<View>();
  view->lists = plain.lists;
  auto& tools = view->lists[static_cast<std::size_t>(mcp::ListKind::tools)].entries;
  std::erase_if(tools, [](const Entry* entry) { return entry->app_only; });
  return view;
}

namespace {

// What stands before the ttlMs of a modern page; behind it there is only what mcpx says itself.
constexpr std::string_view kBeforeTtl = R"(,"resultType":"complete","ttlMs":)";

}  // namespace

std::string with_ttl(const std::string& rendered, std::int64_t ttl_ms) {
  const std::size_t before = rendered.rfind(kBeforeTtl);
  if (before == std::string::npos) return rendered;
  const std::size_t number = before + kBeforeTtl.size();
  const std::size_t rest = rendered.find(',', number);
  std::string aged;
  aged.reserve(rendered.size());
  aged.append(rendered, 0, number).append(std::to_string(ttl_ms)).append(rendered, rest);
  return aged;
}

namespace {

// A server of 2026-07-28 decides with each call whether it becomes a task, so to a client of
// 2025-11-25 any of its tools may be called as one.
bool may_be_task(const Page& page, const Entry& entry) {
  if (page.kind != mcp::ListKind::tools || page.revision != mcp::Revision::r2025_11_25)
    return false;
  return entry.source->tasks && entry.source->catalogue->facts.era() == mcp::Era::modern;
}

void append_definition(std::string& out, const Page& page, const Entry& entry) {
  if (!may_be_task(page, entry)) {
    return mcp::append_definition_for(out, page.kind, entry.definition, page.revision);
  }
  std::string spelled;
  mcp::append_definition_for(spelled, page.kind, entry.definition, page.revision);
  json::Splice(spelled).set("execution", R"({"taskSupport":"optional"})").append_to(out);
}

}  // namespace

std::string render(const View& view, const Page& page, std::string_view server_info) {
  const ListView& list = view.of(page.kind);
  std::string text = fmt::format("{{\"{}\":[", mcp::info(page.kind).member);
  std::size_t size = text.size() + 256;
  for (std::size_t i = page.begin; i < page.end; ++i)
    size += list.entries[i]->definition.size() + 1;
  text.reserve(size);
  for (std::size_t i = page.begin; i < page.end; ++i) {
    if (i > page.begin) text += ',';
    append_definition(text, page, *list.entries[i]);
  }
  text += ']';
  if (!page.next_cursor.empty()) {
    text += ",\"nextCursor\":";
    json::append_string(text, page.next_cursor);
  }
  if (mcp::era_of(page.revision) == mcp::Era::modern) {
    text += kBeforeTtl;
    text += fmt::format(R"({},"cacheScope":"{}")", list.caching.ttl_ms,
                        list.caching.is_private ? "private" : "public");
    if (!server_info.empty()) {
      text += fmt::format(R"(,"_meta":{{"{}":{}}})", mcp::kMetaServerInfo, server_info);
    }
  }
  text += '}';
  return text;
}

}  // namespace mcpx::registry
