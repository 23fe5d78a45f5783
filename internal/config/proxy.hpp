// Which proxy a server over HTTP is reached through. Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/config.hpp"

namespace mcpx::config {

// "http://[user:password@]host[:port][/]" as "http://[user:password@]host[:port]"; nullopt for
// anything else, proxies that are spoken to over TLS or SOCKS among it.
std::optional<std::string> normal_proxy(std::string_view text);

struct EnvironmentProxy {
  std::string url;       // normalised; empty: none, or one that cannot be used
  std::string variable;  // that named one, usable or not; empty: none did
};
// What the environment says about `url`: HTTPS_PROXY or HTTP_PROXY by its scheme, else ALL_PROXY,
// unless NO_PROXY names its host. Lower-case names win over upper-case ones. Loopback addresses are
// never proxied: the proxy would take them for its own.
EnvironmentProxy proxy_from_environment(std::string_view url, const Environment& environment);

}  // namespace mcpx::config
