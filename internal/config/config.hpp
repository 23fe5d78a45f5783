// Config: what the operator wrote, typed and validated. Immutable once loaded; shared as a
// snapshot.
//
// One loader reads YAML and the `mcpServers` JSON that clients use. Every problem is reported with
// file:line:column and a suggestion; nothing is guessed. docs/configuration.md lists every key.
// Pure (reads the files it is told to). Thread: any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace mcpx::config {

enum class Protocol : std::uint8_t { automatic, modern, legacy };
enum class Scope : std::uint8_t { shared, session };  // who shares an instance of a server
// How a server with a `url` is spoken to.
enum class HttpTransport : std::uint8_t {
  probed,   // Streamable HTTP, modern or legacy, and HTTP+SSE when neither answers
  sse_only  // HTTP+SSE of 2024-11-05 (`type: sse`): no probe, GET first
};

// A directory offered to servers that ask for roots (2025-11-25 client/roots).
struct Root {
  std::string uri;   // file://...
  std::string name;  // may be empty

  bool operator==(const Root&) const = default;
};

// TLS towards one server; paths of PEM files, empty where not set.
struct Tls {
  std::string ca;         // instead of the system's authorities
  std::string cert, key;  // client certificate

  bool operator==(const Tls&) const = default;
};

struct Server {
  std::string name;  // [A-Za-z0-9_-]+, the key under `servers:`
  bool enabled = true;
  std::optional<std::string> prefix;  // default: the name; "" is allowed
  // stdio
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // references resolved
  std::vector<std::string> inherit_env;  // further variables passed on from the daemon
  std::string cwd;
  // HTTP
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;  // those of `auth` among them
  HttpTransport http_transport = HttpTransport::probed;
  Tls tls;
  std::string proxy;  // http://[user:password@]host:port, chosen at load; empty: none

  std::vector<std::string> tools_allow, tools_deny;  // glob patterns over original names
  Protocol protocol = Protocol::automatic;
  Scope scope = Scope::shared;
  std::size_t instances_max = 8;  // children, or sessions with an HTTP server, at once
  std::vector<Root> roots;        // its own, else those of the file
  Milliseconds start_timeout{30'000};
  Milliseconds probe_timeout{3'000};  // wait for an answer to server/discover over stdio
  Milliseconds call_timeout{60'000};
  Milliseconds call_timeout_max{600'000};  // progress extends a call up to this
  // Per tool, over call_timeout: the first glob pattern over original names that matches.
  std::vector<std::pair<std::string, Milliseconds>> tool_timeouts;
  Milliseconds list_timeout{15'000};
  Milliseconds stop_grace{2'000};
  std::optional<Milliseconds> idle_stop;  // stop the children after this long without a call
  std::size_t breaker_failures = 5;       // in a row, until calls are refused; 0: never
  Milliseconds breaker_cooldown{15'000};  // from then to the next trial

  bool operator==(const Server&) const = default;  // what a reload goes by

  bool is_http() const { return !url.empty(); }
  bool tool_allowed(std::string_view original) const;
  Milliseconds call_timeout_for(std::string_view tool) const;  // original name; empty: no tool
};

// SHA-256 in hexadecimal over what decides what a server offers: how it is reached, with which
// credentials and in which era; no names, filters or timeouts. The key of what is stored of it.
std::string digest(const Server& server);

enum class LogFormat : std::uint8_t { human, json };

// Who may come in over TCP. Only a digest is kept: whoever reads the file cannot use it.
struct Token {
  std::string name;                    // [A-Za-z0-9_-]+, what sessions and log lines know it by
  std::string sha256;                  // 64 lower-case digits
  std::vector<std::string> endpoints;  // "/mcp", "/mcp/NAME"; empty: all of them
  bool admin = false;                  // may use /v1
};

// What a client may take its time for.
struct ListenTimeouts {
  Milliseconds handshake{10'000};  // TLS
  Milliseconds head{10'000};       // from the first byte of a request to the end of its header
  Milliseconds body{30'000};       // from there to the end of its body
  Milliseconds idle{120'000};      // between requests
  Milliseconds write{30'000};      // until it has taken what is written to it
};

// TLS of our own address; paths of PEM files, empty: plain HTTP.
struct ListenTls {
  std::string cert, key;
  bool only_tls13 = false;

  bool enabled() const { return !cert.empty(); }
};

struct Listen {
  std::string http_host = "127.0.0.1";
  std::uint16_t http_port = 7332;
  bool http_enabled = true;
  std::string unix_path;  // empty: none
  std::vector<std::string> allowed_hosts, allowed_origins;
  std::vector<Token> tokens;  // empty: none is asked for
  ListenTls tls;
  ListenTimeouts timeouts;
  bool legacy_sse = false;  // HTTP+SSE of 2024-11-05 at /sse
};

struct Limits {
  std::size_t body_bytes = 16u << 20;     // of a request from a client
  std::size_t message_bytes = 64u << 20;  // of one message (line, body, event) from a server
  std::size_t bodies_bytes = 256u << 20;  // of all requests being received or served
  std::size_t head_bytes = 64u << 10;
  std::size_t header_fields = 256;
  std::size_t json_depth = 256;
  std::size_t connections = 4096;
  std::size_t requests = 4096;          // of one token, or all without tokens, in progress at once
  std::size_t requests_per_second = 0;  // of the same; 0: as many as they like
  std::size_t request_burst = 100;      // at once above that rate
  std::size_t sessions = 4096;          // legacy sessions held at once
  std::size_t subscriptions = 1000;     // to resources, of one session or subscriptions/listen
  std::size_t calls_per_server = 1024;  // in flight at once
  // What is kept of event streams for clients that come back: of a session, and in all.
  std::size_t replay_events = 1024;
  std::size_t replay_bytes = 4u << 20;
  std::size_t replay_total = 64u << 20;
  std::size_t stderr_bytes = 64u << 10;
};

// What servers ask of clients.
struct Ask {
  Milliseconds timeout{300'000};    // until a question that nobody answers is answered without
  std::size_t rounds = 8;           // of questions in one call
  Milliseconds state_ttl{600'000};  // of a requestState
  std::size_t per_server = 600;     // questions a minute of one server; 0: as many as it likes
  std::size_t per_session = 300;    // the same to one legacy session
};

// Calls that become tasks, and how long what came of them is kept.
struct Tasks {
  Milliseconds after{0};             // a call that takes longer becomes one; 0: none does
  Milliseconds ttl{3'600'000};       // of one whose server does not say
  Milliseconds ttl_max{86'400'000};  // whatever its server says
  std::size_t limit = 1000;          // of one principal, or legacy session, at once
};

// Characters of an exposed name: [A-Za-z0-9_-], or [A-Za-z][A-Za-z0-9_]*.
enum class NameCharset : std::uint8_t { dashes, word };
inline constexpr std::size_t kNamesLeast = 16, kNamesMost = 256;

// What clients whose clientInfo.name fits the pattern are shown differently; unset: as others are.
struct Client {
  std::string pattern;  // glob
  std::optional<std::size_t> names_max;
  std::optional<NameCharset> names_charset;
  std::optional<std::size_t> page_size;  // 0: one page
};

// What becomes of a question that no connected client can answer.
enum class BrokerPolicy : std::uint8_t { ask, decline, error };
enum class QuestionMode : std::uint8_t { form, url, sampling, roots };
enum class RuleAnswer : std::uint8_t { ask, accept, decline, cancel, error };

// The first that matches decides; what is not set matches everything, but not all of them.
struct BrokerRule {
  std::string server, tool, field;  // glob patterns; the field is one of the form's
  std::optional<QuestionMode> mode;
  RuleAnswer answer = RuleAnswer::ask;
  std::string content;  // of an accepted form: raw JSON object
};

// What may be asked in the place of a client that cannot be: bits of Broker::declare.
inline constexpr std::uint8_t kDeclareForm = 1, kDeclareUrl = 2, kDeclareSampling = 4,
                              kDeclareSamplingTools = 8;

struct Broker {
  std::uint8_t declare =
      0;  // to servers, for clients of /mcp that do not; 0: it stands in for none
  bool pass_through = false;  // for those of /mcp/{server} too
  BrokerPolicy policy = BrokerPolicy::ask;
  std::vector<BrokerRule> rules;
  bool passwords = false;           // forms may ask for what looks like one
  Milliseconds timeout{3'600'000};  // of a question; then the server is answered `cancel`
  std::size_t questions = 256;      // waiting at once
  std::size_t per_server = 64;      // of them, of one server
  std::size_t question_bytes = 256u << 10;
  std::size_t history = 1000;  // settled ones that are kept
};

struct Config {
  std::string file;  // where it came from
  Listen listen;
  Limits limits;
  Ask ask;
  Tasks tasks;
  std::size_t threads = 0;         // 0: min(4, cores)
  std::string state_dir;           // empty: nothing is kept
  std::size_t starts_at_once = 4;  // children that may be starting at the same time
  std::string log_level = "info";
  LogFormat log_format = LogFormat::human;
  std::string log_file;
  std::size_t names_max = 64;
  std::size_t page_size = 0;  // entries of a list sent at once; 0: all
  Broker broker;
  std::vector<Client> clients;            // in the order of the file; the first that fits counts
  Milliseconds session_idle{86'400'000};  // a legacy session unused for that long ends; 0: never
  Milliseconds ready_wait{5'000};         // a list waits this long at most for the first server
  Milliseconds shutdown_grace{5'000};
  Milliseconds reload_grace{60'000};    // for calls under way at a server that a reload takes out
  std::vector<std::string> path_extra;  // `path:` directories appended to every child's PATH
  std::vector<Server> servers;          // in the order of the file
  std::vector<std::string> secrets;     // every value that came from a reference, env or header
  std::vector<std::string> warnings;    // accepted, but worth a line at start
};

// One problem, as shown: "mcpx.yaml:12:5: unknown key 'comand'; did you mean 'command'?"
struct Problem {
  std::string file;
  int line = 0, column = 0;  // 1-based; 0 when the whole file is meant
  std::string message, suggestion;
  std::string text() const;
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;
using LoadResult = boost::system::result<Config, std::vector<Problem>>;

LoadResult load_file(const std::string& path, const Environment& environment);
LoadResult load_text(const std::string& text, const std::string& file,
                     const Environment& environment);

// $MCPX_CONFIG, then $XDG_CONFIG_HOME/mcpx/mcpx.yaml, then ~/.config/mcpx/mcpx.yaml, then
// /etc/mcpx/mcpx.yaml: the first that exists, or the user's one.
std::string default_path(const Environment& environment);

}  // namespace mcpx::config
