// The keys of a server that is reached over HTTP.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "config/proxy.hpp"
#include "config/server_draft.hpp"
#include "config/url_parts.hpp"

namespace mcpx::config {
namespace {

constexpr std::array<Key<Tls>, 3> kTls = {{
    {"ca", place_key<&Tls::ca>, "ca: company-ca.pem"},
    {"cert", place_key<&Tls::cert>, "cert: client.pem"},
    {"key", place_key<&Tls::key>, "key: client.key"},
}};

}  // namespace

// A missing certificate is better told now than as a failed handshake.
void check_file(Context& context, std::string_view name, Position at, std::string& path) {
  if (path.empty()) return;
  if (path.front() != '/' && !context.directory.empty()) path = context.directory + '/' + path;
  if (context.forgive_references) return;
  struct stat info = {};
  std::string why;
  if (::stat(path.c_str(), &info) != 0) {
    why = std::strerror(errno);
  } else if (!S_ISREG(info.st_mode)) {
    why = "it is not a regular file";
  } else if (!std::ifstream(path, std::ios::binary)) {
    why = std::strerror(errno);
  }
  if (why.empty()) return;
  context.problems.add(at,
                       fmt::format("'{}' names '{}', which cannot be read: {}", name, path, why),
                       "paths are relative to the configuration file; name a PEM file that mcpxd "
                       "may read");
}

void check_pair(Context& context, const Field& field, const std::string& cert,
                const std::string& key) {
  const bool told_both = field.value.find("cert") != nullptr && field.value.find("key") != nullptr;
  if (cert.empty() == key.empty() || told_both) return;
  context.problems.add(field.at, "'cert' and 'key' belong together, and one of them is missing",
                       "set both; they may name one file that holds both");
}

void read_url(Context& context, const Field& field, ServerDraft& draft) {
  draft.url_at = field.at;
  std::string url;
  if (!read_text(context, field, Secrecy::secret, url)) return;
  if (context.forgive_references && url.find("://") == std::string::npos) return;
  const auto parts = split_url(url);
  // Never shown: it may hold a password.
  if (!parts) return wrong_type(context, field, "an address, http[s]://host[:port]/path");
  for (const std::string& secret : parts->secrets)
    add_secret(context, secret);
  draft.server.url = std::move(url);
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

bool same_header(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [lower](char x, char y) { return lower(x) == lower(y); });
}

bool is_token(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// Fields that the connection or the protocol sets, and a second value would break.
bool is_reserved_header(std::string_view name) {
  static constexpr std::array<std::string_view, 18> kReserved = {"host",
                                                                 "content-length",
                                                                 "transfer-encoding",
                                                                 "connection",
                                                                 "accept",
                                                                 "upgrade",
                                                                 "content-type",
                                                                 "content-encoding",
                                                                 "keep-alive",
                                                                 "proxy-connection",
                                                                 "te",
                                                                 "trailer",
                                                                 "expect",
                                                                 "last-event-id",
                                                                 "mcp-session-id",
                                                                 "mcp-protocol-version",
                                                                 "mcp-method",
                                                                 "mcp-name"};
  constexpr std::string_view kParameter = "mcp-param-";
  if (same_header(name.substr(0, kParameter.size()), kParameter)) return true;
  return std::any_of(kReserved.begin(), kReserved.end(),
                     [name](std::string_view reserved) { return same_header(name, reserved); });
}

void read_headers(Context& context, const Field& field, ServerDraft& draft) {
  http_only(field, draft);
  const auto accept = [&context](const Field& pair, const std::string& value) {
    std::string why;
    if (!is_token(pair.name)) why = "is no name of an HTTP header";
    if (is_reserved_header(pair.name)) why = "is a header that mcpx sets itself";
    if (has_control(value)) why = "has a value with a line end or another control character";
    if (!why.empty()) {
      context.problems.add(pair.at, fmt::format("'{}' {}", pair.name, why),
                           "remove it, or correct its spelling");
      return false;
    }
    add_secret(context, value);
    // "Bearer x": the token alone is the secret as well.
    const std::size_t space = value.find(' ');
    if (space != std::string::npos) add_secret(context, std::string_view(value).substr(space + 1));
    return true;
  };
  read_pairs(context, field, Secrecy::secret, draft.server.headers, accept);
}

void read_tls(Context& context, const Field& field, ServerDraft& draft) {
  http_only(field, draft);
  if (!field.value.entries.empty()) draft.tls_at = field.at;
  Tls& tls = draft.server.tls;
  read_mapping(context, field, std::span<const Key<Tls>>(kTls), tls);
  const auto at = [&field](std::string_view key) {
    const Node::Entry* entry = field.value.find(key);
    return entry == nullptr ? field.at : entry->value->at;
  };
  check_file(context, "ca", at("ca"), tls.ca);
  check_file(context, "cert", at("cert"), tls.cert);
  check_file(context, "key", at("key"), tls.key);
  check_pair(context, field, tls.cert, tls.key);
}

void check_tls(Context& context, const ServerDraft& draft) {
  if (!draft.tls_at || draft.server.url.rfind("http://", 0) != 0) return;
  context.problems.add(*draft.tls_at, "'tls' is set for an address that begins with http://",
                       "write https:// in 'url', or remove 'tls'");
}

void read_proxy(Context& context, const Field& field, std::optional<ProxyChoice>& out) {
  ProxyChoice choice;
  choice.at = field.value_at();
  std::string text;
  if (!read_text(context, field, Secrecy::secret, text)) return;
  if (text == "environment") {
    choice.kind = ProxyChoice::Kind::environment;
  } else if (text != "off") {
    const auto proxy = normal_proxy(text);
    if (!proxy && context.forgive_references) return;
    // Not shown: it may hold a password.
    if (!proxy) return out_of_range(context, field, "off, environment, or http://host:port");
    choice.kind = ProxyChoice::Kind::fixed;
    choice.url = *proxy;
    const auto parts = split_url(*proxy);
    for (const std::string& secret : parts->secrets)
      add_secret(context, secret);
  }
  out = std::move(choice);
}

void apply_proxy(Context& context, const ProxyChoice& choice, Server& server) {
  if (!server.is_http() || choice.kind == ProxyChoice::Kind::off) return;
  if (choice.kind == ProxyChoice::Kind::fixed) {
    server.proxy = choice.url;
    return;
  }
  EnvironmentProxy found = proxy_from_environment(server.url, context.environment);
  if (found.url.empty() && !found.variable.empty() && server.enabled) {
    context.problems.add(
        choice.at,
        fmt::format("server '{}' needs a proxy, and the variable {} holds no address of one",
                    server.name, found.variable),
        "set it to http://host:port (TLS or SOCKS to a proxy is not supported), or write "
        "'proxy: off'");
    return;
  }
  if (found.url.empty()) return;
  const auto parts = split_url(found.url);
  for (const std::string& secret : parts->secrets)
    add_secret(context, secret);
  server.proxy = std::move(found.url);
}

void add_url_keys(std::vector<std::string>& out) {
  add_keys(out, "tls.", kTls);
}

}  // namespace mcpx::config
