// Resource URIs as the aggregating endpoint shows them: each names its server and routes by itself.
//
//   original                        exposed by server "files"
//   file:///srv/a%20b.txt?x=1#top   mcpx://files/file:///srv/a%20b.txt?x=1#top
//   urn:isbn:0451450523             mcpx://files/urn:isbn:0451450523
//   test://template/{id}/data       mcpx://files/test://template/{id}/data
//   ui://widget/main.html           ui://mcpx.files/widget/main.html     (hosts look at the scheme)
//   skill://review/SKILL.md         skill://mcpx.files/review/SKILL.md   (the same)
//   http://[::1]/a                  mcpx://files/=/http://%5B::1%5D/a
//
// The original stands whole behind the server's name, so nothing in it is decoded, and expanding a
// template commutes with qualifying it. Behind an authority RFC 3986 allows every character that
// may stand in a path; an original with others (brackets, spaces, non-ASCII, a stray '%') is
// escaped behind "=/", which starts no URI. A text with braces is a template and never escaped, as
// the client's expansion does that. Qualifying twice (an upstream that is mcpx itself) nests. Pure.
// Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mcpx::mcp {

// `server` is a configured name: [A-Za-z0-9_-]+.
std::string exposed_uri(std::string_view server, std::string_view original);

struct QualifiedUri {
  std::string server;
  std::string original;
};
// The inverse of exposed_uri; nullopt when the URI is not one of ours.
std::optional<QualifiedUri> parse_exposed_uri(std::string_view exposed);

}  // namespace mcpx::mcp
