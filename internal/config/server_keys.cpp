// One server of the configuration: its table of keys, and what must hold between them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "config/keys.hpp"
#include "config/url_parts.hpp"
#include "config/values.hpp"

namespace mcpx::config {
namespace {

// A server while it is read: what was said, and where.
struct ServerDraft {
  Server server;
  Position at;  // of its name
  std::optional<Position> command_at, url_at, enabled_at, disabled_at, stdio_only_at, http_only_at;
  std::string_view stdio_only, http_only;  // the last key that only that transport has
  std::optional<std::string> type;
  Position type_at;
};

bool legal_characters(std::string_view name) {
  return name.size() <= 64 && name.find_first_not_of(
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_-") == std::string_view::npos;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

void stdio_only(const Field& field, ServerDraft& draft) {
  const Node& value = field.value;
  if (value.entries.empty() && value.items.empty() && value.scalar.empty()) return;
  draft.stdio_only = field.name;
  draft.stdio_only_at = field.at;
}

void read_command(Context& context, const Field& field, ServerDraft& draft) {
  draft.command_at = field.at;
  std::string& command = draft.server.command;
  if (!read_text(context, field, Secrecy::place, command)) return;
  if (command.empty()) {
    if (!context.forgive_references) out_of_range(context, field, "the name or path of a program");
    return;
  }
  if (command.front() == '~') {
    return out_of_range(context, field, "a path without '~', which is not expanded here");
  }
  if (command.find(' ') != std::string::npos && command.find('/') == std::string::npos) {
    context.warn(field.value.at,
                 "the command holds a space, and is taken for one program; its arguments belong "
                 "in 'args'");
  }
}

void read_args(Context& context, const Field& field, ServerDraft& draft) {
  stdio_only(field, draft);
  read_text_list(context, field, Secrecy::secret, draft.server.args);
  // "--token=x" and "--api-key x", written out: secrets that no reference marks.
  const auto& args = draft.server.args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].rfind('-', 0) != 0) continue;
    const std::size_t equals = args[i].find('=');
    if (!looks_secret(std::string_view(args[i]).substr(0, equals))) continue;
    if (equals != std::string::npos) {
      add_secret(context, std::string_view(args[i]).substr(equals + 1));
    } else if (i + 1 < args.size() && args[i + 1].rfind('-', 0) != 0) {
      add_secret(context, args[i + 1]);
    }
  }
}

// The pairs of `env` and `headers`, values expanded.
template <class Accept>
void read_pairs(Context& context, const Field& field, Secrecy secrecy, Pairs& out, Accept accept) {
  if (!require_mapping(context, field)) return;
  for (const Node::Entry& entry : field.value.entries) {
    const Field pair = {entry.key, field.example, entry.at, *entry.value};
    if (entry.value->kind != Node::Kind::scalar) {
      wrong_type(context, pair, "text");
      continue;
    }
    Expansion expansion = expand(context, entry.value->scalar, pair.value_at(), secrecy);
    if (!expansion.ok || !accept(pair, expansion.text)) continue;
    out.emplace_back(entry.key, std::move(expansion.text));
  }
}

void read_env(Context& context, const Field& field, ServerDraft& draft) {
  stdio_only(field, draft);
  const auto accept = [&context](const Field& pair, const std::string& value) {
    if (pair.name.empty() || pair.name.find('=') != std::string_view::npos) {
      context.problems.add(pair.at, fmt::format("'{}' is no name of a variable", pair.name),
                           "write NAME: value");
      return false;
    }
    if (looks_secret(pair.name)) add_secret(context, value);
    return true;
  };
  read_pairs(context, field, Secrecy::secret, draft.server.env, accept);
}

void read_inherit_env(Context& context, const Field& field, ServerDraft& draft) {
  stdio_only(field, draft);
  read_list(context, field, draft.server.inherit_env);
  for (const std::string& name : draft.server.inherit_env) {
    if (name.empty() || name.find('=') != std::string::npos) {
      out_of_range(context, field, "a list of names of variables");
      return;
    }
  }
}

void read_cwd(Context& context, const Field& field, ServerDraft& draft) {
  stdio_only(field, draft);
  std::string& cwd = draft.server.cwd;
  if (!read_text(context, field, Secrecy::place, cwd) || cwd.empty()) return;
  if (cwd.front() == '~') {
    return out_of_range(context, field, "a path without '~', which is not expanded here");
  }
  if (cwd.front() != '/' && !context.directory.empty()) cwd = context.directory + '/' + cwd;
}

void read_url(Context& context, const Field& field, ServerDraft& draft) {
  draft.url_at = field.at;
  std::string url;
  if (!read_text(context, field, Secrecy::secret, url)) return;
  if (context.forgive_references && url.find("://") == std::string::npos) return;
  const auto parts = split_url(url);
  // Never shown: it may hold a password.
  if (!parts) return wrong_type(context, field, "an address, http://host[:port]/path");
  for (const std::string& secret : parts->secrets)
    add_secret(context, secret);
  draft.server.url = std::move(url);
  if (parts->scheme == "https" && !context.forgive_references) {
    context.problems.add(field.value.at,
                         "https is not supported yet: mcpx dials http:// addresses only",
                         "put a local proxy that speaks TLS in front of the server, or set "
                         "'enabled: false'");
  }
}

bool is_token(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// Fields that the connection or the protocol sets, and a second value would break.
bool is_reserved_header(std::string_view name) {
  static constexpr std::array<std::string_view, 11> kReserved = {
      "host",         "content-length", "transfer-encoding",    "connection", "accept",  "upgrade",
      "content-type", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"};
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::find(kReserved.begin(), kReserved.end(), lower) != kReserved.end();
}

void read_headers(Context& context, const Field& field, ServerDraft& draft) {
  if (!field.value.entries.empty()) {
    draft.http_only = field.name;
    draft.http_only_at = field.at;
  }
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
  if (kTypes[index] == "sse") {
    context.problems.add(field.value.at, "the HTTP+SSE transport of 2024-11-05 is not supported",
                         "most servers offer Streamable HTTP too: use its url and 'type: http'");
    return;
  }
  draft.type = index == 0 ? "stdio" : "http";
  draft.type_at = field.at;
}

constexpr std::array<Key<Server>, 2> kTools = {{
    {"allow", list_key<&Server::tools_allow>, "allow: [\"read_*\"]"},
    {"deny", list_key<&Server::tools_deny>, "deny: [\"delete_*\"]"},
}};

void read_tools(Context& context, const Field& field, ServerDraft& draft) {
  read_mapping(context, field, std::span<const Key<Server>>(kTools), draft.server);
}

void read_protocol(Context& context, const Field& field, ServerDraft& draft) {
  static constexpr std::array<std::string_view, 3> kProtocols = {"auto", "modern", "legacy"};
  std::size_t index = 0;
  if (read_choice(context, field, kProtocols, index)) {
    draft.server.protocol = static_cast<Protocol>(index);
  }
}

void read_idle_stop(Context& context, const Field& field, ServerDraft& draft) {
  if (field.value.kind == Node::Kind::scalar && field.value.scalar == "off") {
    draft.server.idle_stop.reset();
    return;
  }
  Milliseconds time{0};
  read_duration(context, field, Milliseconds{1'000}, time);
  if (time.count() > 0) draft.server.idle_stop = time;
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

constexpr std::array<Key<ServerDraft>, 26> kServer = {{
    {"command", read_command, "command: npx"},
    {"args", read_args, "args: [\"-y\", \"some-mcp-server\"]"},
    {"env", read_env, "env: {API_TOKEN: \"${env:API_TOKEN}\"}"},
    {"inherit_env", read_inherit_env, "inherit_env: [SSH_AUTH_SOCK]"},
    {"cwd", read_cwd, "cwd: /srv/project"},
    {"url", read_url, "url: http://127.0.0.1:3000/mcp"},
    {"headers", read_headers, "headers: {Authorization: \"Bearer ${env:API_TOKEN}\"}"},
    {"enabled", read_enabled, "enabled: true"},
    {"prefix", read_prefix, "prefix: files"},
    {"tools", read_tools, "tools: {allow: [\"read_*\"]}"},
    {"protocol", read_protocol, "protocol: auto"},
    {"start_timeout", timeout<&Server::start_timeout>, "start_timeout: 30s"},
    {"probe_timeout", timeout<&Server::probe_timeout>, "probe_timeout: 3s"},
    {"call_timeout", timeout<&Server::call_timeout>, "call_timeout: 60s"},
    {"list_timeout", timeout<&Server::list_timeout>, "list_timeout: 15s"},
    {"stop_grace", read_stop_grace, "stop_grace: 2s"},
    {"idle_stop", read_idle_stop, "idle_stop: 10m"},
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
constexpr std::size_t kOwnServerKeys = 19;  // the rest is ignored

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
  if (draft.type && (*draft.type == "http") != http) {
    context.problems.add(
        draft.type_at,
        fmt::format("'type: {}' does not go with '{}'", *draft.type, http ? "url" : "command"),
        "remove 'type'; it follows from 'command' or 'url'");
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
  context.forgive_references = false;
  if (one.enabled_at && one.disabled_at) {
    context.problems.add(*one.disabled_at, "'enabled' and 'disabled' are both set",
                         "keep 'enabled'");
  }
  check_transport(context, one);
  if (fresh) check_prefix(context, one.server, entry.at, draft);
  draft.config.servers.push_back(std::move(one.server));
}

}  // namespace

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
  for (const Key<Server>& key : kTools)
    out.push_back("tools." + std::string(key.name));
  return out;
}

}  // namespace mcpx::config
