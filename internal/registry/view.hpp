// View: the lists of one endpoint in order, and its tools and prompts by the name they are shown by
// under one set of rules for names. Refers to the parts it was made from. Immutable once made.
// Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/method.hpp"
#include "mcp/names.hpp"
#include "mcp/revision.hpp"
#include "mcp/spelling.hpp"
#include "registry/part.hpp"

namespace mcpx::registry {

// A list result body.
using Rendered = std::shared_ptr<const std::string>;

struct ListView {
  std::vector<const Entry*> entries;
  std::size_t contributors = 0;  // servers that offer such a list
  // Of what contributes: the smallest ttlMs, private if one is.
  mcp::CacheHints caching{0, false};
};

struct View {
  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  const ListView& of(mcp::ListKind kind) const { return lists[static_cast<std::size_t>(kind)]; }
  const Names& names(mcp::ListKind kind) const {
    return kind == mcp::ListKind::tools ? tools : prompts;
  }

  std::array<ListView, mcp::kListKinds> lists;
  Names tools, prompts;
  // What is shown by another name than in the parts.
  std::deque<Entry> own;
  std::deque<std::string> texts;
};

// The name for `original` of a server that no other server has taken; empty if there is none.
std::string free_name(const Names& taken, const Source& source, std::string_view original,
                      const mcp::NameRules& rules);
// The same lists under other rules for names. `plain` outlives it.
std::shared_ptr<const View> renamed(const View& plain, const mcp::NameRules& rules);

// The same lists without the tools that are not for models. `plain` outlives it.
std::shared_ptr<const View> without_app_only(const View& plain);

struct Page {
  mcp::ListKind kind;
  mcp::Revision revision;
  std::size_t begin = 0, end = 0;  // of the list's entries
  std::string next_cursor;         // empty: the last page
};
// `server_info` is raw, or empty.
std::string render(const View& view, const Page& page, std::string_view server_info);
// A modern page that was rendered with another ttlMs.
std::string with_ttl(const std::string& rendered, std::int64_t ttl_ms);

}  // namespace mcpx::registry
