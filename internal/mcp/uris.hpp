// Resource URIs as the aggregating endpoint shows them: each names its server and routes by itself.
//
//   "{scheme}://..." of server "files"  ->  "mcpx+{scheme}://files/..."? No: opaque schemes and
// templates must survive too, so the form is one that keeps the original whole and readable:
//   original:  file:///a b.txt
//   exposed:   mcpx://files/file:///a b.txt        (server name, '/', the original untouched)
// `ui://` resources keep their scheme, as hosts look at it:  ui://mcpx.files/{rest after ui://}.
// Templates are qualified the same way: the variables stay variables. Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mcpx::mcp {

std::string exposed_uri(std::string_view server, std::string_view original);

struct QualifiedUri {
  std::string server;
  std::string original;
};
// The inverse of exposed_uri; nullopt when the URI is not one of ours.
std::optional<QualifiedUri> parse_exposed_uri(std::string_view exposed);

}  // namespace mcpx::mcp
