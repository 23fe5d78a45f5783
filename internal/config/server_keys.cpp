// One server of the configuration: its table of keys, and what must hold between them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "config/keys.hpp"
#include "config/server_draft.hpp"

namespace mcpx::config {
namespace {

bool legal_characters(std::string_view name) {
  return name.size() <= 64 && name.find_first_not_of(
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_-") == std::string_view::npos;
}

void read_enabled(Context& context, const Field& field, ServerDraft& draft) {
  draft.enabled_at = field.at;
  read_bool(context, field, draft.server.enabled);
}

void read_disabled(Context& context, const Field& field, ServerDraft& draft) {
  draft.disabled_at = field.at;
  bool disabled = !draft.server.enabled;
  read_bool(context, field, disabled);
  draft.server.enabled = !disabled;
}

void read_prefix(Context& context, const Field& field, ServerDraft& draft) {
  // Digits alone are a prefix like any other.
  if (field.value.kind != Node::Kind::scalar || !legal_characters(field.value.scalar)) {
    return wrong_type(context, field, "at most 64 characters of A-Z a-z 0-9 _ -, or \"\"");
  }
  draft.server.prefix = field.value.scalar;
}

void read_type(Context& context, const Field& field, ServerDraft& draft) {
  static constexpr std::array<std::string_view, 6> kTypes = {
      "stdio", "http", "streamable-http", "streamableHttp", "streamable_http", "sse"};
  std::size_t index = 0;
  if (!read_choice(context, field, kTypes, index)) return;
  if (kTypes[index] == "sse") draft.server.http_transport = HttpTransport::sse_only;
  draft.type = std::string(kTypes[index]);
  draft.type_at = field.at;
}

void read_protocol(Context& context, const Field& field, ServerDraft& draft) {
  static constexpr std::array<std::string_view, 3> kProtocols = {"auto", "modern", "legacy"};
  std::size_t index = 0;
  if (read_choice(context, field, kProtocols, index)) {
    draft.server.protocol = static_cast<Protocol>(index);
    draft.protocol_at = field.at;
  }
}

template <auto Member>
void timeout(Context& context, const Field& field, ServerDraft& draft) {
  read_duration(context, field, Milliseconds{1}, draft.server.*Member);
}
void read_stop_grace(Context& context, const Field& field, ServerDraft& draft) {
  read_duration(context, field, Milliseconds{0}, draft.server.stop_grace);
}

// Keys of other programs that say nothing about the server itself.
void ignore(Context& context, const Field& field, ServerDraft& /*draft*/) {
  context.warn(field.at,
               fmt::format("'{}' is a setting of the client and has no effect here", field.name));
}

void read_call_timeout_max(Context& context, const Field& field, ServerDraft& draft) {
  draft.call_timeout_max_at = field.value_at();
  read_duration(context, field, Milliseconds{1}, draft.server.call_timeout_max);
}
void read_own_proxy(Context& context, const Field& field, ServerDraft& draft) {
  http_only(field, draft);
  read_proxy(context, field, draft.proxy);
}
void read_own_roots(Context& context, const Field& field, ServerDraft& draft) {
  read_roots(context, field, draft.roots);
}

constexpr std::array<Key<ServerDraft>, 34> kServer = {{
    {"command", read_command, "command: npx"},
    {"args", read_args, "args: [\"-y\", \"some-mcp-server\"]"},
    {"env", read_env, "env: {API_TOKEN: \"${env:API_TOKEN}\"}"},
    {"inherit_env", read_inherit_env, "inherit_env: [SSH_AUTH_SOCK]"},
    {"cwd", read_cwd, "cwd: /srv/project"},
    {"url", read_url, "url: http://127.0.0.1:3000/mcp"},
    {"headers", read_headers, "headers: {Authorization: \"Bearer ${env:API_TOKEN}\"}"},
    {"auth", read_auth, "auth: {type: bearer, token: \"${env:API_TOKEN}\"}"},
    {"tls", read_tls, "tls: {ca: company-ca.pem}"},
    {"proxy", read_own_proxy, "proxy: http://proxy.example:3128"},
    {"enabled", read_enabled, "enabled: true"},
    {"prefix", read_prefix, "prefix: files"},
    {"tools", read_tools, "tools: {allow: [\"read_*\"]}"},
    {"protocol", read_protocol, "protocol: auto"},
    {"scope", read_scope, "scope: shared"},
    {"instances", read_instances, "instances: {max: 8}"},
    {"roots", read_own_roots, "roots: [/srv/project]"},
    {"start_timeout", timeout<&Server::start_timeout>, "start_timeout: 30s"},
    {"probe_timeout", timeout<&Server::probe_timeout>, "probe_timeout: 3s"},
    {"call_timeout", timeout<&Server::call_timeout>, "call_timeout: 60s"},
    {"call_timeout_max", read_call_timeout_max, "call_timeout_max: 10m"},
    {"list_timeout", timeout<&Server::list_timeout>, "list_timeout: 15s"},
    {"stop_grace", read_stop_grace, "stop_grace: 2s"},
    {"idle_stop", read_idle_stop, "idle_stop: 10m"},
    {"breaker", read_breaker, "breaker: {failures: 5, cooldown: 15s}"},
    {"type", read_type, "type: stdio"},
    {"disabled", read_disabled, "disabled: false"},
    {"autoApprove", ignore, ""},
    {"alwaysAllow", ignore, ""},
    {"trust", ignore, ""},
    {"description", ignore, ""},
    {"gallery", ignore, ""},
    {"version", ignore, ""},
    {"icon", ignore, ""},
}};
constexpr std::size_t kOwnServerKeys = 27;  // the rest is ignored

bool is_switched_off(const Node& server) {
  const Node::Entry* enabled = server.find("enabled");
  const Node::Entry* disabled = server.find("disabled");
  return (enabled && enabled->value->scalar == "false") ||
         (disabled && disabled->value->scalar == "true");
}

void check_transport(Context& context, ServerDraft& draft) {
  const std::string& name = draft.server.name;
  if (draft.command_at && draft.url_at) {
    context.problems.add(*draft.url_at,
                         fmt::format("server '{}' has both 'command' and 'url'", name),
                         "keep 'command' for a program to run, or 'url' for one that runs");
    return;
  }
  if (!draft.command_at && !draft.url_at) {
    context.problems.add(draft.at, fmt::format("server '{}' has neither 'command' nor 'url'", name),
                         "add 'command' for a program to run, or 'url' for one that runs");
    return;
  }
  const bool http = draft.url_at.has_value();
  if (draft.type && (*draft.type != "stdio") != http) {
    context.problems.add(
        draft.type_at,
        fmt::format("'type: {}' does not go with '{}'", *draft.type, http ? "url" : "command"),
        "remove 'type'; it follows from 'command' or 'url'");
  }
  const bool sse = draft.server.http_transport == HttpTransport::sse_only;
  if (sse && draft.server.protocol == Protocol::modern) {
    context.problems.add(*draft.protocol_at, "'protocol: modern' does not go with 'type: sse'",
                         "HTTP+SSE is the transport of 2024-11-05: remove one of them");
  }
  if (http && draft.stdio_only_at) {
    context.warn(*draft.stdio_only_at,
                 fmt::format("'{}' has no effect on a server with 'url'", draft.stdio_only));
  }
  if (!http && draft.http_only_at) {
    context.warn(*draft.http_only_at,
                 fmt::format("'{}' has no effect on a server with 'command'", draft.http_only));
  }
}

void check_prefix(Context& context, const Server& server, Position at, Draft& draft) {
  const std::string prefix = server.prefix.value_or(server.name);
  if (prefix.empty() || !server.enabled) return;
  const auto [first, fresh] = draft.prefixes.emplace(prefix, at);
  if (fresh) return;
  context.problems.add(at,
                       fmt::format("server '{}' has the prefix '{}' of the server at line {}",
                                   server.name, prefix, first->second.line),
                       "give one of them another 'prefix'");
}

void read_server(Context& context, const Node::Entry& entry, Draft& draft) {
  ServerDraft one;
  one.server.name = entry.key;
  one.at = entry.at;
  if (entry.key.empty() || !legal_characters(entry.key)) {
    context.problems.add(entry.at, fmt::format("'{}' is no name of a server", entry.key),
                         "use 1 to 64 characters of A-Z a-z 0-9 _ -");
  }
  const auto [first, fresh] = draft.names.emplace(entry.key, entry.at);
  if (!fresh) {
    context.problems.add(entry.at, fmt::format("server '{}' is defined twice", entry.key),
                         fmt::format("the first one is at line {}, column {}; rename or remove one",
                                     first->second.line, first->second.column));
  }
  const Field field = {entry.key, "files: {command: mcp-server-files}", entry.at, *entry.value};
  if (entry.value->kind == Node::Kind::null || !require_mapping(context, field)) {
    if (entry.value->kind == Node::Kind::null) wrong_type(context, field, "a mapping");
    return;
  }
  context.forgive_references = is_switched_off(*entry.value);
  read_mapping(context, field, std::span<const Key<ServerDraft>>(kServer), one);
  check_tls(context, one);
  apply_auth(context, one);
  context.forgive_references = false;
  if (one.enabled_at && one.disabled_at) {
    context.problems.add(*one.disabled_at, "'enabled' and 'disabled' are both set",
                         "keep 'enabled'");
  }
  check_transport(context, one);
  check_care(context, one);
  if (fresh) check_prefix(context, one.server, entry.at, draft);
  draft.config.servers.push_back(std::move(one.server));
  draft.defaults.push_back({std::move(one.proxy), std::move(one.roots)});
}

}  // namespace

void stdio_only(const Field& field, ServerDraft& draft) {
  const Node& value = field.value;
  if (value.entries.empty() && value.items.empty() && value.scalar.empty()) return;
  draft.stdio_only = field.name;
  draft.stdio_only_at = field.at;
}

void http_only(const Field& field, ServerDraft& draft) {
  const Node& value = field.value;
  if (value.entries.empty() && value.scalar.empty()) return;
  draft.http_only = field.name;
  draft.http_only_at = field.at;
}

void read_servers(Context& context, const Field& field, Draft& draft) {
  if (!require_mapping(context, field)) return;
  for (const Node::Entry& entry : field.value.entries) {
    // x-NAME under `servers:` would be a legal name of a server; only the root has room for
    // anchors.
    read_server(context, entry, draft);
  }
}

std::vector<std::string> known_server_keys() {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kOwnServerKeys; ++i)
    out.emplace_back(kServer[i].name);
  add_care_keys(out);
  add_url_keys(out);
  add_auth_keys(out);
  return out;
}

}  // namespace mcpx::config
