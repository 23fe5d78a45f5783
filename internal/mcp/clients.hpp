// Clients that are known to take less than the protocol allows, by the name they give themselves:
// what of names they can use, and whether they read more than the first page of a list. Data with
// its sources; docs/clients.md shows it. A name is what anybody says it is, so nothing that matters
// for security may hang on it. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "mcp/names.hpp"

namespace mcpx::mcp {

// Most clients put the name they know their server by in front of a tool's, and that counts towards
// their limit. This is what is left to it ("mcpx" is 4).
inline constexpr std::size_t kServerKey = 8;

struct KnownClient {
  std::string_view
      pattern;  // of clientInfo.name, in lower case: '*' at the end stands for any rest
  std::string_view product;
  std::size_t names_max;  // of what mcpx sends; 0: as by default
  NameCharset charset;
  bool first_page_only;  // it does not follow nextCursor
  std::string_view why, source;
};
std::span<const KnownClient> known_clients();

// The first row that fits; null when there is none. Letter case does not matter.
const KnownClient* known_client(std::string_view name);

}  // namespace mcpx::mcp
