#include "config/keys.hpp"

#include <fmt/format.h>

#include <array>

#include "config/values.hpp"

namespace mcpx::config {
namespace {

constexpr std::uint64_t kKiB = 1u << 10, kMiB = 1u << 20, kGiB = 1u << 30;

void read_http(Context& context, const Field& field, ListenDraft& listen) {
  const Node& value = field.value;
  if (value.kind == Node::Kind::scalar && (value.scalar == "off" || value.scalar == "false")) {
    listen.http_enabled = false;
    return;
  }
  const auto address =
      value.kind == Node::Kind::scalar ? parse_address(value.scalar) : std::nullopt;
  if (!address) return wrong_type(context, field, "host:port, a port, or off");
  listen.http_host = address->host;
  listen.http_port = address->port;
  if (!is_loopback(address->host)) listen.open_at = value.at;
}

// sun_path holds 108 bytes with the terminator.
void read_unix(Context& context, const Field& field, ListenDraft& listen) {
  std::string path;
  if (!read_text(context, field, Secrecy::place, path) || path.empty()) return;
  if (path.front() != '/') return out_of_range(context, field, "an absolute path");
  if (path.size() > 107) return out_of_range(context, field, "at most 107 bytes long");
  listen.unix_path = std::move(path);
}

void read_hosts(Context& context, const Field& field, ListenDraft& listen) {
  read_list(context, field, listen.allowed_hosts);
  for (const std::string& host : listen.allowed_hosts) {
    if (host.empty() || host.find_first_of("/ @?#*") != std::string::npos) {
      out_of_range(context, field, "a list of host names, with or without a port");
      return;
    }
  }
}

void read_origins(Context& context, const Field& field, ListenDraft& listen) {
  read_list(context, field, listen.allowed_origins);
  for (const std::string& origin : listen.allowed_origins) {
    const std::size_t scheme = origin.find("://");
    const bool ok = scheme != std::string::npos && scheme > 0 && scheme + 3 < origin.size() &&
                    origin.find_first_of("/ ?#*", scheme + 3) == std::string::npos;
    if (!ok) return out_of_range(context, field, "a list of origins, scheme://host[:port]");
  }
}

void read_legacy_sse(Context& context, const Field& field, ListenDraft& listen) {
  read_bool(context, field, listen.legacy_sse);
}

constexpr std::array<Key<ListenDraft>, 8> kListen = {{
    {"http", read_http, "http: 127.0.0.1:7332"},
    {"unix", read_unix, "unix: ${env:XDG_RUNTIME_DIR}/mcpx/mcpx.sock"},
    {"allowed_hosts", read_hosts, "allowed_hosts: [mcpx.example]"},
    {"allowed_origins", read_origins, "allowed_origins: [\"https://app.example\"]"},
    {"legacy_sse", read_legacy_sse, "legacy_sse: true"},
    {"tokens", read_tokens, "tokens: {laptop: {sha256: \"...\"}}"},
    {"tls", read_listen_tls, "tls: {cert: server.pem, key: server.key}"},
    {"timeouts", read_listen_timeouts, "timeouts: {head: 10s}"},
}};

constexpr std::array<Key<Limits>, 17> kLimits = {{
    {"body", size_key<&Limits::body_bytes, kKiB, kGiB>, "body: 16MiB"},
    {"bodies", size_key<&Limits::bodies_bytes, kKiB, 64 * kGiB>, "bodies: 256MiB"},
    {"message", size_key<&Limits::message_bytes, kKiB, kGiB>, "message: 64MiB"},
    {"head", size_key<&Limits::head_bytes, kKiB, kMiB>, "head: 64KiB"},
    {"headers", integer_key<&Limits::header_fields, 16, 4096>, "headers: 256"},
    {"json_depth", integer_key<&Limits::json_depth, 16, 1024>, "json_depth: 256"},
    {"connections", integer_key<&Limits::connections, 1, 1'000'000>, "connections: 4096"},
    {"requests", integer_key<&Limits::requests, 1, 1'000'000>, "requests: 4096"},
    {"requests_per_second", integer_key<&Limits::requests_per_second, 0, 1'000'000>,
     "requests_per_second: 100"},
    {"request_burst", integer_key<&Limits::request_burst, 1, 1'000'000>, "request_burst: 100"},
    {"sessions", integer_key<&Limits::sessions, 1, 1'000'000>, "sessions: 4096"},
    {"subscriptions", integer_key<&Limits::subscriptions, 1, 1'000'000>, "subscriptions: 1000"},
    {"calls_per_server", integer_key<&Limits::calls_per_server, 1, 1'000'000>,
     "calls_per_server: 1024"},
    {"replay", size_key<&Limits::replay_bytes, 0, kGiB>, "replay: 4MiB"},
    {"replay_events", integer_key<&Limits::replay_events, 0, 1'000'000>, "replay_events: 1024"},
    {"replay_total", size_key<&Limits::replay_total, 0, 16 * kGiB>, "replay_total: 64MiB"},
    {"stderr", size_key<&Limits::stderr_bytes, kKiB, 16 * kMiB>, "stderr: 64KiB"},
}};

// The keys that open a requestState are kept for no longer than a week after their last use.
void read_state_ttl(Context& context, const Field& field, Ask& ask) {
  Milliseconds time{0};
  read_duration(context, field, Milliseconds{1'000}, time);
  if (time > std::chrono::hours(24 * 7)) return out_of_range(context, field, "168h at most");
  if (time.count() > 0) ask.state_ttl = time;
}

constexpr std::array<Key<Ask>, 5> kAsk = {{
    {"timeout", duration_key<&Ask::timeout, 1'000>, "timeout: 5m"},
    {"rounds", integer_key<&Ask::rounds, 1, 1000>, "rounds: 8"},
    {"state_ttl", read_state_ttl, "state_ttl: 10m"},
    {"per_server", integer_key<&Ask::per_server, 0, 1'000'000>, "per_server: 600"},
    {"per_session", integer_key<&Ask::per_session, 0, 1'000'000>, "per_session: 300"},
}};

constexpr std::array<Key<Tasks>, 4> kTasks = {{
    {"after", duration_key<&Tasks::after, 0>, "after: 20s"},
    {"ttl", duration_key<&Tasks::ttl, 1'000>, "ttl: 1h"},
    {"ttl_max", duration_key<&Tasks::ttl_max, 1'000>, "ttl_max: 24h"},
    {"limit", integer_key<&Tasks::limit, 1, 1'000'000>, "limit: 1000"},
}};

void read_level(Context& context, const Field& field, Config& config) {
  static constexpr std::array<std::string_view, 6> kLevels = {"trace",   "debug", "info",
                                                              "warning", "error", "off"};
  std::size_t index = 0;
  if (read_choice(context, field, kLevels, index)) config.log_level = std::string(kLevels[index]);
}

void read_format(Context& context, const Field& field, Config& config) {
  static constexpr std::array<std::string_view, 2> kFormats = {"human", "json"};
  std::size_t index = 0;
  if (!read_choice(context, field, kFormats, index)) return;
  config.log_format = index == 0 ? LogFormat::human : LogFormat::json;
}

constexpr std::array<Key<Config>, 3> kLog = {{
    {"level", read_level, "level: info"},
    {"format", read_format, "format: human"},
    {"file", place_key<&Config::log_file>, "file: /var/log/mcpx.log"},
}};

constexpr std::array<Key<Config>, 1> kSessions = {{
    {"idle_timeout", duration_key<&Config::session_idle, 0, Config>, "idle_timeout: 24h"},
}};

constexpr std::array<Key<Config>, 1> kNames = {{
    {"max", integer_key<&Config::names_max, kNamesLeast, kNamesMost>, "max: 64"},
}};

void read_list_page_size(Context& context, const Field& field, Config& config) {
  read_page_size(context, field, config.page_size);
}

constexpr std::array<Key<Config>, 1> kLists = {{
    {"page_size", read_list_page_size, "page_size: 100"},
}};

void read_path(Context& context, const Field& field, Config& config) {
  read_text_list(context, field, Secrecy::place, config.path_extra);
  for (const std::string& directory : config.path_extra) {
    if (directory.empty() || directory.front() != '/' || directory.find(':') != std::string::npos) {
      out_of_range(context, field, "a list of absolute directories");
      return;
    }
  }
}

void read_listen(Context& context, const Field& field, Draft& draft) {
  read_mapping(context, field, std::span<const Key<ListenDraft>>(kListen), draft.listen);
}
void read_limits(Context& context, const Field& field, Draft& draft) {
  Limits& limits = draft.config.limits;
  read_mapping(context, field, std::span<const Key<Limits>>(kLimits), limits);
  if (limits.bodies_bytes >= limits.body_bytes) return;
  const Node::Entry* told = field.value.find("bodies");
  if (told == nullptr) {
    limits.bodies_bytes = limits.body_bytes;
    return;
  }
  context.problems.add(told->value->at,
                       "'bodies' is below 'body': no request of that size comes in",
                       "raise it, or lower 'body'");
}
void read_ask(Context& context, const Field& field, Draft& draft) {
  read_mapping(context, field, std::span<const Key<Ask>>(kAsk), draft.config.ask);
}
void read_tasks(Context& context, const Field& field, Draft& draft) {
  Tasks& tasks = draft.config.tasks;
  read_mapping(context, field, std::span<const Key<Tasks>>(kTasks), tasks);
  if (tasks.ttl <= tasks.ttl_max) return;
  context.problems.add(field.at, "'tasks.ttl' is above 'tasks.ttl_max'", "raise the latter");
}
void read_log(Context& context, const Field& field, Draft& draft) {
  read_mapping(context, field, std::span<const Key<Config>>(kLog), draft.config);
}
void read_sessions(Context& context, const Field& field, Draft& draft) {
  read_mapping(context, field, std::span<const Key<Config>>(kSessions), draft.config);
}
void read_names(Context& context, const Field& field, Draft& draft) {
  read_mapping(context, field, std::span<const Key<Config>>(kNames), draft.config);
}
void read_lists(Context& context, const Field& field, Draft& draft) {
  read_mapping(context, field, std::span<const Key<Config>>(kLists), draft.config);
}

// Adapts a reader of Config to the draft that holds it.
template <void (*Read)(Context&, const Field&, Config&)>
void in_config(Context& context, const Field& field, Draft& draft) {
  Read(context, field, draft.config);
}

void read_default_roots(Context& context, const Field& field, Draft& draft) {
  read_roots(context, field, draft.file_defaults.roots);
}
void read_default_proxy(Context& context, const Field& field, Draft& draft) {
  read_proxy(context, field, draft.file_defaults.proxy);
}

void read_state_dir(Context& context, const Field& field, Draft& draft) {
  draft.state_dir_set = true;
  std::string path;
  if (!read_text(context, field, Secrecy::place, path)) return;
  if (path == "off") return;
  if (path.empty() || path.front() == '~') {
    return out_of_range(context, field, "a directory, without '~', or off");
  }
  if (path.front() != '/' && !context.directory.empty()) path = context.directory + '/' + path;
  draft.config.state_dir = std::move(path);
}

// STATE_DIRECTORY is systemd's, and may hold several, separated by colons.
std::string default_state_dir(const Environment& environment) {
  const auto variable = [&environment](const std::string& name) {
    return (environment ? environment(name) : std::nullopt).value_or(std::string());
  };
  const std::string own = variable("STATE_DIRECTORY");
  if (!own.empty()) return own.substr(0, own.find(':'));
  // The XDG specification has relative paths ignored.
  const std::string xdg = variable("XDG_STATE_HOME");
  if (!xdg.empty() && xdg.front() == '/') return xdg + "/mcpx";
  const std::string home = variable("HOME");
  return home.empty() ? std::string() : home + "/.local/state/mcpx";
}

constexpr std::array<Key<Draft>, 21> kRoot = {{
    {"listen", read_listen, "listen: {http: 127.0.0.1:7332}"},
    {"limits", read_limits, "limits: {body: 16MiB}"},
    {"ask", read_ask, "ask: {timeout: 5m}"},
    {"tasks", read_tasks, "tasks: {after: 20s}"},
    {"threads", in_config<integer_key<&Config::threads, 0, 256, Config>>, "threads: 2"},
    {"log", read_log, "log: {level: info}"},
    {"sessions", read_sessions, "sessions: {idle_timeout: 24h}"},
    {"names", read_names, "names: {max: 64}"},
    {"lists", read_lists, "lists: {page_size: 100}"},
    {"clients", read_clients, "clients: {some-client: {names: {max: 48}}}"},
    {"broker", read_broker, "broker: {declare: [form, url]}"},
    {"path", in_config<read_path>, "path: [/opt/node/bin]"},
    {"ready_wait", in_config<duration_key<&Config::ready_wait, 0, Config>>, "ready_wait: 5s"},
    {"shutdown_grace", in_config<duration_key<&Config::shutdown_grace, 0, Config>>,
     "shutdown_grace: 5s"},
    {"reload_grace", in_config<duration_key<&Config::reload_grace, 0, Config>>,
     "reload_grace: 60s"},
    {"roots", read_default_roots, "roots: [/srv/project]"},
    {"proxy", read_default_proxy, "proxy: environment"},
    {"state_dir", read_state_dir, "state_dir: /var/lib/mcpx"},
    {"starts_at_once", in_config<integer_key<&Config::starts_at_once, 1, 256, Config>>,
     "starts_at_once: 4"},
    {"servers", read_servers, "servers: {files: {command: mcp-server-files}}"},
    {"mcpServers", read_servers, "mcpServers: {files: {command: mcp-server-files}}"},
}};

}  // namespace

void read_root(Context& context, const Field& field, Draft& draft) {
  // Keys that start with "x-" are the file's own: a place for anchors.
  Node own = field.value;
  std::erase_if(own.entries, [](const Node::Entry& e) { return e.key.rfind("x-", 0) == 0; });
  const Field root = {field.name, field.example, field.at, own};
  read_mapping(context, root, std::span<const Key<Draft>>(kRoot), draft);
}

void apply_defaults(Context& context, Draft& draft) {
  check_listen(context, draft);
  if (!draft.state_dir_set) draft.config.state_dir = default_state_dir(context.environment);
  for (std::size_t i = 0; i < draft.config.servers.size(); ++i) {
    Server& server = draft.config.servers[i];
    const ServerDefaults &own = draft.defaults[i], &file = draft.file_defaults;
    const auto& proxy = own.proxy ? own.proxy : file.proxy;
    if (proxy) apply_proxy(context, *proxy, server);
    const auto& roots = own.roots ? own.roots : file.roots;
    if (roots) server.roots = *roots;
  }
}

std::vector<std::string> known_keys() {
  std::vector<std::string> out;
  add_keys(out, "", kRoot);
  add_keys(out, "listen.", kListen);
  add_listen_keys(out);
  add_keys(out, "limits.", kLimits);
  add_keys(out, "ask.", kAsk);
  add_keys(out, "tasks.", kTasks);
  add_keys(out, "log.", kLog);
  add_keys(out, "sessions.", kSessions);
  add_keys(out, "names.", kNames);
  add_keys(out, "lists.", kLists);
  add_broker_keys(out);
  for (const std::string& key : known_client_keys())
    out.push_back("clients.NAME." + key);
  for (const std::string& key : known_server_keys())
    out.push_back("servers.NAME." + key);
  return out;
}

}  // namespace mcpx::config
