#include "daemon/front_door.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values.hpp"
#include "log/log.hpp"
#include "net/tls.hpp"

namespace mcpx::daemon {
namespace {

// For the store, the log, timers and the like; and for each server: four of a child, or some
// connections to an HTTP server.
constexpr std::size_t kOwnFiles = 64;
constexpr std::size_t kFilesPerServer = 16;

http::Token token_of(const config::Token& from) {
  http::Token token;
  token.name = from.name;
  token.sha256 = from.sha256;
  token.paths = from.endpoints;
  // HTTP+SSE (2024-11-05) is another way to the same endpoints.
  for (const std::string& endpoint : from.endpoints)
    token.paths.push_back("/sse" + endpoint.substr(std::string_view("/mcp").size()));
  if (from.endpoints.empty()) token.paths = {"/mcp/*", "/sse/*"};
  if (from.admin) token.paths.emplace_back("/v1/*");
  return token;
}

std::shared_ptr<const http::Access> access_of(const config::Config& config) {
  http::AccessOptions options;
  for (const config::Token& token : config.listen.tokens)
    options.tokens.push_back(token_of(token));
  options.requests = config.limits.requests;
  options.requests_per_second = config.limits.requests_per_second;
  options.burst = config.limits.request_burst;
  return std::make_shared<const http::Access>(std::move(options));
}

// An address of this machine that was chosen to listen on is no name that could be re-bound.
std::vector<std::string> allowed_hosts(const config::Listen& listen) {
  std::vector<std::string> out = listen.allowed_hosts;
  const std::string& host = listen.http_host;
  if (host == "0.0.0.0" || host == "::") return out;
  out.push_back(host.find(':') == std::string::npos ? host : '[' + host + ']');
  return out;
}

}  // namespace

config::LoadResult load(const std::string& file, const config::Environment& environment) {
  config::LoadResult loaded = config::load_file(file, environment);
  if (!loaded) return loaded;
  const auto options = server_options(*loaded);
  if (options) return loaded;
  config::Problem problem;
  problem.file = file;
  problem.message = options.error().message;
  problem.suggestion = options.error().remedy;
  return std::vector<config::Problem>{std::move(problem)};
}

bool open_to_others(const config::Listen& listen) {
  return listen.http_enabled && !config::is_loopback(listen.http_host);
}

Result<http::ServerOptions> server_options(const config::Config& config) {
  const config::Listen& listen = config.listen;
  http::ServerOptions options;
  options.limits.head_bytes = config.limits.head_bytes;
  options.limits.body_bytes = config.limits.body_bytes;
  options.limits.fields = config.limits.header_fields;
  options.connections = config.limits.connections;
  options.bodies_bytes = config.limits.bodies_bytes;
  options.handshake_timeout = listen.timeouts.handshake;
  options.head_timeout = listen.timeouts.head;
  options.body_timeout = listen.timeouts.body;
  options.idle_timeout = listen.timeouts.idle;
  options.write_timeout = listen.timeouts.write;
  options.allowed_hosts = allowed_hosts(listen);
  options.allowed_origins = listen.allowed_origins;
  options.access = access_of(config);
  if (!listen.tls.enabled()) return options;
  net::TlsServerOptions tls;
  tls.certificate_file = listen.tls.cert;
  tls.key_file = listen.tls.key;
  tls.only_tls13 = listen.tls.only_tls13;
  auto context = net::TlsContext::make_server(tls);
  if (!context) {
    Error error = context.error();
    error.message = "listen." + error.message;  // it begins with the key: tls.cert, tls.key
    return error;
  }
  options.tls = std::move(*context);
  return options;
}

OpenFiles raise_open_files() {
  const auto number = [](rlim_t limit) {
    return limit == RLIM_INFINITY ? std::numeric_limits<std::size_t>::max()
                                  : static_cast<std::size_t>(limit);
  };
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  OpenFiles out;
  out.before = out.now = number(limit.rlim_cur);
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) out.now = number(limit.rlim_cur);
  return out;
}

std::size_t affordable_connections(const config::Config& config, std::size_t open_files) {
  const std::size_t wanted = config.limits.connections;
  if (open_files == 0) return wanted;
  // Half of a small number is better than nothing at all of it.
  const std::size_t reserve =
      std::min(kOwnFiles + kFilesPerServer * config.servers.size(), open_files / 2);
  if (wanted <= open_files - reserve) return wanted;
  log::warning(
      "{} files may be open, so {} connections are taken instead of {}; raise the limit of open "
      "files (LimitNOFILE=, ulimit -n) or lower limits.connections",
      open_files, open_files - reserve, wanted);
  return open_files - reserve;
}

}  // namespace mcpx::daemon
